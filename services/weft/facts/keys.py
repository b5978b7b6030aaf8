"""Keys of facts: one spelling for each thing, so that a newer value finds the one that it
replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_VALUE = 200
"""In characters: a longer value is not a fact but a text, which the log contains anyway."""

_MAX_KEY = 80
_APART = re.compile(r"[^\w.]+")
_SECRET = re.compile(
    r"pass(word|phrase|code|wd)|secret|token|credential|private_?key|api_?key|cvv|cvc|(^|_)pin(_|$)"
    r"|(^|_)ssn(_|$)|social_security|card_number|credit_card|iban"
)
_FILLER = re.compile(
    r"an?|the|to|of|in|on|at|for|and|or|that|this|is|are|was|be|i|my|me|we|our|you|your|it"
)
_LEGAL_FORM = re.compile(
    r"inc|incorporated|corp|corporation|co|company|ltd|limited|plc|llc|llp|lp|pty|pte|pvt|gmbh|mbh"
    r"|ag|ug|kg|kgaa|ohg|ev|se|sa|sas|sasu|sarl|srl|spa|snc|sl|slu|bv|nv|vof|ab|as|asa|aps|oy|oyj"
    r"|doo|sro|kft|zrt|kk|gk|&"
)
"""Of a company, without its dots, or what joins two of them (`GmbH & Co. KG`): of ISO 20275, those
that often follow a name."""


def key_from(words: str) -> str:
    """`Time Zone` → `time_zone`; empty if no letter or digit is left."""
    return _APART.sub("_", words.casefold()).strip("_.")[:_MAX_KEY]


def is_among(value: str, others: Iterable[str]) -> bool:
    """Whether a fact's value is one of these values, whatever its case."""
    return bool(value) and value.casefold() in {other.casefold() for other in others}


def is_negated(value: str, negated: Iterable[str]) -> bool:
    """Whether a fact's value is one of these values, whatever its case and its blanks, or one of
    them with a legal form or with what specifies it behind a comma: who does not work at Acme does
    not work at Acme Inc, but may work at Acme Health; and who does not live in Berlin does not live
    in `Berlin, Germany`."""
    known, general = _folded_words(value), _folded_words(value.partition(",")[0])
    return any(
        one == general
        or (known[: len(one)] == one and all(map(_LEGAL_FORM.fullmatch, known[len(one) :])))
        for one in map(_folded_words, negated)
        if one
    )


def _folded_words(value: str) -> list[str]:
    """Without the dots and commas behind them; those of legal forms without any dot."""
    words = [word.rstrip(".,") for word in value.casefold().split()]
    plain = (word.replace(".", "") for word in words)
    return [
        form if _LEGAL_FORM.fullmatch(form) else word
        for form, word in zip(plain, words, strict=True)
    ]


def note_key(text: str) -> str:
    """A key for a remark without one: its first four content words."""
    words = [
        word for word in key_from(text[:400]).split("_") if word and not _FILLER.fullmatch(word)
    ]
    return "note_" + "_".join(words[:4]) if words else ""


def is_secret(key: str) -> bool:
    """Whether a key asks to be forgotten: memory would appear in every later prompt."""
    return _SECRET.search(key) is not None
