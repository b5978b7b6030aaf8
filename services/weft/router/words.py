"""Converts names and sentences into the words that routing compares: split and stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

import Stemmer

MAX_TEXT = 4_000
"""How many characters of one field or query are read: the rest of a megabyte of description helps
no selection, and costs as much as the rest of the catalogue."""

_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]"
"""Scripts without spaces between words: Thai, Lao, Burmese, Japanese, Chinese."""
_LONG = re.compile(f"{_UNSPACED}{{3,}}")
_SCRIPTS = re.compile(rf"(?<={_UNSPACED})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?={_UNSPACED})")
"""Between such a script and a name in it: 在GitHub上."""
_ACCENTED = re.compile(r"([A-Za-z])[\u0300-\u036f]+")
"""A Latin letter and its marks, decomposed."""

_STOP = """
a an the and or of to in on at for from by with as is are was were be been being am i me my we us
our you your he she it its they them their this that these those there here do does did have has had
can could will would shall should may might must not no nor so if then than too very just about into
over under again more most some any each all both few other such only own same what which who whom
whose when where why how s t don now want need like looking please help tell give let know
"""
"""Words that are in every query."""

_stemmer = Stemmer.Stemmer("english")
_stop = frozenset(_stemmer.stemWords(_STOP.split()))


def words_of(text: str) -> list[str]:
    """Stemmed words in order: `getUserDetails`, `get_user_details` and `get user details` give the
    same; without words that say nothing about the purpose."""
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = _SCRIPTS.sub(" ", unicodedata.normalize("NFKC", text))
    parts = _WORD.findall(_CAMEL.sub(" ", text).casefold())
    if not text.isascii():
        parts = [piece for part in parts for piece in _pieces(part)]
    return [word for word in _stemmer.stemWords(parts) if word not in _stop]


def query_words(query: str, known: Mapping[str, int]) -> list[str]:
    """The words of a query, where `known` are those of the catalogue with how many items have each.
    One that is not known is read without its accents, if it is known so: `hôtel` as `hotel`."""
    return [
        word if word.isascii() or word in known else _without_accents(word, known)
        for word in words_of(query)
    ]


def _without_accents(word: str, known: Mapping[str, int]) -> str:
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFKD", word))
    stem = _stemmer.stemWord(plain)
    return stem if stem in known else word


def _pieces(word: str) -> list[str]:
    """Pairs of neighbouring letters if the script has no spaces, otherwise the word itself."""
    if not _LONG.fullmatch(word):
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]
