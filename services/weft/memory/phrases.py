"""Noun phrases after a statement's beginning: what people do, like, and are allergic to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.facts.keys import MAX_VALUE
from weft.memory.extent import (
    MARKS,
    VALUE_IS_OVER,
    WORDS_AFTER_NAME,
    text_value,
    without_hedge,
)
from weft.memory.names import is_capital
from weft.memory.words import ARTICLES, FUNCTION_WORDS, VERBS, is_state, word_set


def _phrase_end(words: Sequence[str], start: int = 0) -> int:
    """How many of the words belong to a noun phrase that begins with the one at `start`."""
    after = WORDS_AFTER_NAME - {"of"}
    ends = (at for at in range(start + 1, len(words)) if words[at].casefold() in after)
    return next(ends, len(words))


def _content(rest: str, longest: int = 5) -> list[str]:
    """The words of a noun phrase without its article; none if it has words of another kind."""
    words = text_value(rest).split()
    if words and words[0].casefold() in ("a", "an"):
        words = words[1:]
    words = words[: _phrase_end(words)]
    bare = [word.strip(MARKS).casefold() for word in words]
    is_phrase = 0 < len(words) <= longest and not any(
        word in FUNCTION_WORDS - {"of", "well", "hard", "early"} or word in VERBS - {"help", "play"}
        for word in bare
    )
    return words if is_phrase else []


_OCCUPATION = re.compile(
    r".+(?:er|or|ist|ian|ant|ent|eer|man|woman|person|ive|yst|ect|ary|ess|rd|ologist|smith|wright"
    r"|keeper|maker)s?|nurse|chef|cook|coach|judge|pilot|clerk|vet|midwife|surgeon|dean|captain|lead"
    r"|head|chief|intern|trainee|apprentice|athlete|model|monk|priest|spy|poet|guide|tutor|mechanic"
    r"|paramedic|medic|c[etfiom]o|qa|dba|sre|freelance|temp|trader|scientist|nanny|admin|vp|host|boss",
    re.I,
)
_RANKS = frozenset(
    ("senior", "junior", "chief", "general", "public", "private", "head", "lead", "of")
)


def occupation(rest: str) -> list[str]:
    """A word for what somebody does, or a title in capitals."""
    words = _content(rest)
    if not words:
        return []
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    bare = head.strip(MARKS).casefold()
    is_title = all(is_capital(word) for word in words if word != "of") and not is_state(bare)
    is_known = _OCCUPATION.fullmatch(bare) is not None and not is_state(bare)
    before = [word.casefold() for word in words[:-1]]
    mixed = [word for word in before if is_state(word) and word not in _RANKS]
    is_plain = not mixed or all(word.endswith(("ing", "ed")) for word in mixed)
    return [" ".join(words).strip(MARKS)] if (is_title or is_known) and is_plain else []


def occupation_worked_as(rest: str) -> list[str]:
    """After `I work as`: with an article any noun phrase."""
    if not re.match(r"an?\s", rest.strip(), re.I):
        return occupation(rest)
    words = _content(rest)
    return [" ".join(words).strip(MARKS)] if words else []


def phrase(rest: str) -> list[str]:
    """Whatever can be somebody's favourite: no sentence, and no condition in which a thing is."""
    words = _content(rest)
    if not words or is_condition(words[-1]):
        return []
    return [text_value(rest)] if len(words) == len(text_value(rest).split()) else [" ".join(words)]


_COLOURS = word_set("""
red blue green grey gray pink dark light bright pale
""")


def is_condition(word: str) -> bool:
    """Whether it tells how a thing is. Colours are favourites."""
    return is_state(word) and word.casefold() not in _COLOURS


def preference(rest: str) -> list[str]:
    """What somebody prefers in general: not one thing of its kind, and no action."""
    value = text_value(rest)
    words = value.casefold().split()
    first = words[0] if words else ""
    if (
        not words
        or first in _NO_PREFERENCE
        or first in FUNCTION_WORDS - {"early", "late", "less", "more", "no"}
    ):
        return []
    return [value]


_NO_PREFERENCE = ARTICLES | frozenset(("to", "that", "it", "when", "if", "not", "being", "getting"))
_AND = re.compile(r",? (?:and|or|nor|&|as well as) |, ", re.I)
_SENTENCE_END = re.compile(
    r"[;!?？؟。]|\.(?=\s|\Z)|\s[-—–(]\s?|,?\s(?:but|so|because|since|which|who|if|when)\s"  # noqa: RUF001
    r"|\s(?:too|as well|actually|anymore|any more)\b(?=\W*\Z)"
    r"|,\s(?:and|or)?\s*(?=i\b|i'|my\b|we\b)",
    re.I,
)


def things(rest: str) -> list[str]:
    """Each thing of a list: `nuts, shellfish and penicillin`."""
    said = " ".join(without_hedge(rest).split())
    end = _SENTENCE_END.search(said)
    found: list[str] = []
    for part in _AND.split(said[: end.start() if end else MAX_VALUE]):
        thing = _thing(part)
        if not thing or (found and thing[0].isupper() and found[0][0].islower()):
            break
        found.append(thing)
        if thing != part.strip(MARKS):
            break
    return found


def allergies(rest: str) -> list[str]:
    """What follows `my allergies are`: none if it tells how they are."""
    found = things(rest)
    return [] if any(is_state(one.split()[-1]) for one in found) else found


_BEFORE_ALLERGY = re.compile(rf"(?P<things>.+?)\sallerg(?:y|ies)(?=(?i:{VALUE_IS_OVER.pattern}))")


def things_before_allergy(rest: str) -> list[str]:
    """What somebody who does not have `a peanut allergy` is not allergic to, also in the plural."""
    found = _BEFORE_ALLERGY.match(rest)
    listed = [] if found is None else things(found["things"])
    return [form for one in listed for form in (one, *_plurals(one))]


def _plurals(thing: str) -> list[str]:
    """The regular plural of a noun, of one in `-o` both; none of what may be one itself."""
    if thing.endswith("s"):
        return []
    if re.search(r"[^aeiou]y$", thing):
        return [f"{thing[:-1]}ies"]
    if thing.endswith("o"):
        return [f"{thing}s", f"{thing}es"]
    return [f"{thing}es" if thing.endswith(("x", "z", "ch", "sh")) else f"{thing}s"]


def _thing(part: str) -> str:
    """A noun phrase with its article: `the sun`, `tree nuts`."""
    words = part.strip(MARKS).split()
    start = 1 if words and words[0].casefold() in ("a", "an", "the", "all", "any", "most") else 0
    cut = _phrase_end(words, start)
    content = [word.casefold() for word in words[start:cut]]
    is_thing = 0 < len(content) <= 4 and not any(
        word in FUNCTION_WORDS - {"of"} or word in VERBS or word.endswith("ly") for word in content
    )
    is_alone = len(content) == 1 and content[0].endswith("ing") and len(content[0]) > 5
    return " ".join(words[:cut]).strip(MARKS) if is_thing and not is_alone else ""


def allergy_name(thing: str) -> str:
    """What a key calls it: without the article."""
    words = thing.split()
    return " ".join(words[1:] if words[0].casefold() in ("a", "an", "the", "all") else words)
