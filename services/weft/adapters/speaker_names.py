"""Names that people and tools give themselves, in a form that may precede what they say: none can
look like the label of somebody else's turn, however it is written."""

from __future__ import annotations

import re
import unicodedata

_LABELS = """
user human agent assistant system developer tool tools function call called result returned failed
doc document fact facts plan policy memory earlier remembered notation record instruction
instructions flagged
"""
RESERVED = frozenset(_LABELS.split())
"""Words that begin weft's own lines in a prompt or message: roles and sections."""
MAX_NAME = 64
"""The limit that OpenAI and Anthropic share for a function's name: only `[A-Za-z0-9_-]`."""
_UNSAFE = re.compile(r"[^\w .@-]+")
_WORDS = re.compile(r"[a-z]+")
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏмтнквгпοαερτυνικχγոսօɡıⅼ", "aeopcyxijsdhlmthkbrnoaeptuvikxynuogil"
)
"""Letters of other scripts that look like Latin ones."""


def safe(name: str, longest: int = 40) -> str:
    """A name that cannot break out of its label."""
    return _UNSAFE.sub(" ", name)[:longest].strip()


def is_reserved(name: str) -> bool:
    """Whether a name begins like a label: by its first word, or by its letters as a reader sees
    them."""
    plain = unicodedata.normalize("NFKD", name).casefold().translate(_LOOKALIKES)
    words = _WORDS.findall(plain)
    return bool(words) and (words[0] in RESERVED or "".join(words) in RESERVED)
