"""From text to the terms that are indexed and searched: one pure function for both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import Stemmer

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese characters and kana, which are written without blanks between words."""
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+", re.UNICODE)
_stemmer = Stemmer.Stemmer("english", 0)
"""Without its own cache, which would take five times as long as stemming."""

_IRREGULAR = """
be am is are was were been; go goes went gone; buy bought; run ran; see saw seen;
take took taken; get got gotten; give gave given; make made; come came; do did done; have has had;
say said; tell told; find found; think thought; know knew known; leave left; feel felt; meet met;
bring brought; begin began begun; keep kept; hold held; write wrote written; stand stood;
hear heard; mean meant; pay paid; sit sat; speak spoke spoken; lead led; grow grew grown;
lose lost; fall fell fallen; send sent; build built; understand understood; draw drew drawn;
break broke broken; spend spent; rise rose risen; drive drove driven; wear wore worn;
choose chose chosen; teach taught; catch caught; win won; forget forgot forgotten;
eat ate eaten; swim swam swum; sing sang sung; sell sold; ride rode ridden; fly flew flown;
throw threw thrown; fight fought; drink drank drunk; sleep slept; hide hid hidden;
steal stole stolen; shake shook shaken; become became; wake woke woken; bite bit bitten;
blow blew blown; freeze froze frozen; shoot shot; dig dug; hang hung; lend lent; seek sought;
stick stuck; strike struck; tear tore torn; child children; man men; woman women; foot feet;
person people; wife wives; life lives; mouse mice; tooth teeth; mother mom mum; father dad
"""
"""Words that a suffix stemmer does not reduce to one stem: common irregular verbs and plurals."""

_ROOTS = {
    form: forms[0]
    for forms in (_stemmer.stemWords(group.split()) for group in _IRREGULAR.split(";"))
    for form in forms[1:]
    if form != forms[0]
}


class _TermCache(dict[str, str]):
    """Terms of earlier words: most words are repeated."""

    def __missing__(self, word: str) -> str:
        if word.isdecimal() and len(word) > _SHORT_NUMBER:
            return word
        stem = _stemmer.stemWord(word)
        term: str = _ROOTS.get(stem, stem)
        if len(word) <= _REMEMBERED:
            if len(self) >= _WORDS:
                self.clear()
            self[word] = term
        return term


_SHORT_NUMBER = 4
"""Digits of the longest number that is cached like a word; most longer ones never occur again, and
stemming does not change them."""
_WORDS = 50_000
_REMEMBERED = 24
"""How many words are cached, and the longest of them: about 5 MB."""
_known = _TermCache()
_FOLDED = "".join(char.lower() if char.isalnum() else " " for char in map(chr, range(128)))
"""The translation of ASCII text before it is split: it gives the same words in a tenth of the
time."""


def words(text: str) -> list[str]:
    """The term of each word, in order: case-folded, stemmed, irregular forms under their root."""
    return list(map(_known.__getitem__, _split(text)))


def _split(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_FOLDED).split()
    found: list[str] = _WORD.findall(text.casefold())
    return [term for word in found for term in _pairs(word)] if _IS_UNSPACED(text) else found


_IS_UNSPACED = re.compile(f"[{_UNSPACED}]").search


def _pairs(word: str) -> Iterable[str]:
    """The pairs of neighbouring characters in a stretch without blanks: most words have two."""
    if len(word) < 3 or not _IS_UNSPACED(word[0]):
        return (word,)
    return map("".join, pairwise(word))


def analyse(text: str) -> Counter[str]:
    """Terms with their counts."""
    return Counter(words(text))


class SomeTerms:
    """Counts only certain terms, for texts that are read once: a word that begins differently from
    all of them is not stemmed."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._term = _WantedTerms(terms)

    def counts(self, text: str) -> Counter[str]:
        """The count of each of the terms; under the empty term, the number of all other words."""
        words = _split(text)
        found = Counter(filter(None, map(self._term.__getitem__, words)))
        others = len(words) - found.total()
        if others:
            found[""] = others
        return found


class _WantedTerms(dict[str, str]):
    """Word → its term if that is one of the wanted ones, otherwise the empty term."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._wanted = frozenset(terms)
        irregular = (stem for stem, root in _ROOTS.items() if root in self._wanted)
        self._beginnings = frozenset(map(_beginning, (*self._wanted, *irregular)))

    def __missing__(self, word: str) -> str:
        term = _known[word] if _beginning(word) in self._beginnings else ""
        self[word] = found = term if term in self._wanted else ""
        return found


def _beginning(word: str) -> str:
    """What a word and its stem have in common: `dying` is stemmed to `die`."""
    return word[:2].replace("y", "i")
