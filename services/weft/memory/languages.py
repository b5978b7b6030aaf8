"""What people say about themselves in languages other than English.

The phrases are data: somebody who knows a language can add it or replace it without writing code. A
phrase counts only at the beginning of a clause, and only if nothing but a greeting or another such
phrase comes before it in its sentence. Elsewhere it may be a report, a supposition or a question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from weft.facts.keys import key_from
from weft.memory.values import timezone
from weft_schemas.errors import ConfigurationError

PLACE = "…"
"""Stands for the value in a phrase."""
_MAX_WORDS = 8
"""Longest value, in words: anything longer is a sentence."""
_MAX_CHARACTERS = 80
_MAX_LISTED = 8
"""Most clauses between whose commas a list is looked for."""
_MAX_LISTED_WORDS = 3
"""Longest thing of a list, in words."""
_BETWEEN_CLAUSES = re.compile(r"[,;，、]+|(?<![.。!！])[.。!！]+(?=\s|$|[^\x00-\x7f])")  # noqa: RUF001
_SENTENCE = re.compile(r"[^。！？?!]+[。！？?!]*")  # noqa: RUF001
_ASKED = re.compile(r"[?？؟¿]")  # noqa: RUF001
_QUOTED = re.compile(r"[“”„«»‹›「」『』《》\"‚]|(?<!\w)[‘'’]|[:：]")  # noqa: RUF001
_LISTED = re.compile(r"[\w '’-]+")  # noqa: RUF001
_COMMA = re.compile(r"[,，]")  # noqa: RUF001
_MAX_LIST = 300
"""Longest clause, in characters, in which a list is looked for."""
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_WORD = re.compile(r"\w+")
_PROPER = frozenset({"name", "location", "employer", "timezone"})
"""Keys whose values begin with a capital letter, in scripts that have capitals."""


class SelfStatement(NamedTuple):
    """What somebody states about himself."""

    key: str
    value: str
    """Empty if it only says what is not so."""
    negated: tuple[str, ...] = ()
    """Values that it says are not, or no longer, true."""


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One language. Case does not matter in any match."""

    says: Mapping[str, tuple[str, ...]]
    """Key → phrases, with `…` for the value: `me llamo …`."""
    denies: Mapping[str, tuple[str, ...]] = {}
    """The same for what is not, or no longer, so: `ya no me llamo …`."""
    before: tuple[str, ...] = ()
    """What may come before a phrase in its clause, or form a clause of its own: greetings."""
    joins: tuple[str, ...] = ()
    """Words that end a clause, as a comma does."""
    corrects: tuple[str, ...] = ()
    """Words that begin a clause which corrects what was just denied: `sino`."""
    instead_of: tuple[str, ...] = ()
    """The same where they stand between the two values of one phrase, the denied one first."""
    ands: tuple[str, ...] = ()
    """Words between the last things of a list: `y`."""
    leads: tuple[str, ...] = ()
    """Articles and prepositions before a thing of a list that are no part of its name: `los`."""
    imagines: tuple[str, ...] = ()
    """Words that turn their sentence into a supposition or a question."""
    is_spaced: bool = True
    """Whether there are spaces between words."""

    @cached_property
    def _phrases(self) -> list[tuple[str, bool, re.Pattern[str]]]:
        """Key, whether it is denied, and pattern. Denials come before affirmative phrases, and long
        ones before short ones, since a value has room for words of another phrase."""
        return [
            (key, is_denied, re.compile(_open(self.is_spaced, phrase), re.IGNORECASE))
            for is_denied, listed in ((True, self.denies), (False, self.says))
            for key, phrases in listed.items()
            for phrase in sorted(phrases, key=len, reverse=True)
        ]

    def phrases(self) -> Iterator[str]:
        """All of them, affirmative and denied."""
        for listed in (self.says, self.denies):
            yield from chain.from_iterable(listed.values())

    @cached_property
    def _supposed(self) -> re.Pattern[str]:
        return _any_of(self.imagines, self.is_spaced)

    @cached_property
    def _joined(self) -> re.Pattern[str]:
        return _any_of((*self.joins, *self.corrects), self.is_spaced)

    @cached_property
    def _corrected(self) -> re.Pattern[str]:
        return _any_of(self.corrects, self.is_spaced)

    @cached_property
    def _replaced(self) -> re.Pattern[str]:
        return _any_of(self.instead_of, self.is_spaced)

    @cached_property
    def _ends(self) -> list[tuple[str, re.Pattern[str]]]:
        """Key and pattern of what remains of an affirmative phrase in a clause that corrects one,
        the longest first: `in …` of `ich wohne in …`. Nothing need remain of a phrase whose value
        is recognised by its form."""
        ends = {(key, end) for key, phrases in self.says.items() for end in self._ends_of(phrases)}
        ends |= {(key, PLACE) for key in _PROPER}
        ordered = sorted(ends, key=lambda one: (-len(one[1]), one))
        return [
            (key, re.compile(_open(self.is_spaced, end), re.IGNORECASE)) for key, end in ordered
        ]

    def _ends_of(self, phrases: Iterable[str]) -> Iterator[str]:
        for phrase in phrases:
            before, _, after = phrase.partition(PLACE)
            words = before.split() if self.is_spaced else list(before)
            for start in range(1, len(words)):
                yield (" " if self.is_spaced else "").join(words[start:]) + f" {PLACE}{after}"

    @cached_property
    def _opened(self) -> re.Pattern[str]:
        return _any_of(self.before, self.is_spaced)

    @cached_property
    def _known(self) -> frozenset[str]:
        """The longest word of each phrase, folded: a text with a phrase contains at least one of
        them."""
        phrases = self.phrases()
        known = (max(phrase.replace(PLACE, " ").split(), key=len) for phrase in phrases)
        if not self.is_spaced:
            return frozenset(map(_folded, known))
        return frozenset(max(_WORD.findall(_folded(word)), key=len, default="") for word in known)

    @cached_property
    def _has_ascii(self) -> bool:
        return any(map(str.isascii, self._known))

    def may_be_in(self, text: str, words: frozenset[str]) -> bool:
        """Whether a text with these folded words may contain one of the phrases."""
        if self.is_spaced:
            return "" in self._known or not self._known.isdisjoint(words)
        if text.isascii() and not self._has_ascii:
            return False
        folded = _folded(text)
        return any(word in folded for word in self._known)

    def said(self, sentence: str) -> Iterator[SelfStatement]:
        """What a sentence states about its speaker."""
        if self._supposed.search(sentence):
            return
        denied = None
        clauses, number = list(self._clauses(sentence)), 0
        while number < len(clauses):
            start, end, is_correction = clauses[number]
            listed, after = self._listed(sentence, clauses, number)
            if listed:
                yield from listed
                denied, number = None, after
                continue
            clause = self._without_opening(sentence[start:end])
            found = self._statement(clause)
            if found is None and is_correction and denied is not None:
                found = self._instead(denied.key.partition("_")[0], clause)
            if found is not None:
                yield self._keyed(found)
                denied = found if found.negated else None
            elif clause:
                return
            number += 1

    def _clauses(self, sentence: str) -> Iterator[tuple[int, int, bool]]:
        """The place of each clause, and whether it corrects the one before."""
        start = 0
        ends = [found.span() for found in _BETWEEN_CLAUSES.finditer(sentence)]
        for end, next_start in [*ends, (len(sentence), len(sentence))]:
            is_correction = False
            for found in self._joined.finditer(sentence, start, end):
                yield start, found.start(), is_correction
                start = found.end()
                is_correction = self._corrected.fullmatch(found.group()) is not None
            yield start, end, is_correction
            start = next_start

    def _listed(
        self, sentence: str, clauses: list[tuple[int, int, bool]], first: int
    ) -> tuple[list[SelfStatement], int]:
        """A list of things to which somebody is, or is not, allergic, from this clause on, and the
        number of the clause after it. Commas and conjunctions stand between the things, too."""
        start = clauses[first][0]
        for last in reversed(range(first, min(first + _MAX_LISTED, len(clauses)))):
            clause = self._without_opening(sentence[start : clauses[last][1]])
            if any(corrects for _, _, corrects in clauses[first + 1 : last + 1]):
                continue
            for key, is_denied, phrase in self._phrases if len(clause) <= _MAX_LIST else ():
                found = phrase.fullmatch(clause) if key == "allergy" else None
                things = [] if found is None else self._things(found[1])
                if things:
                    made = (
                        SelfStatement(key, "", (one,)) if is_denied else SelfStatement(key, one)
                        for one in things
                    )
                    return [self._keyed(one) for one in made], last + 1
        return [], first

    def _things(self, text: str) -> list[str]:
        """The things of a list with a conjunction; none if one of them may be another clause: it is
        longer than a name, or begins otherwise than the first."""
        ends = [found.end() for found in self._between.finditer(text)]
        if not ends or _COMMA.search(text, ends[-1]) or self._replaced.search(text):
            return []
        parts = [part.strip() for part in self._between_things.split(text)]
        things = [self._lead.sub("", part) for part in parts]
        first = things[0][:1]
        for part, thing in zip(parts, things, strict=True):
            most = _MAX_LISTED_WORDS if part != thing or thing == things[0] else 1
            is_like_first = thing[:1].isalnum() and thing[:1].islower() == first.islower()
            if not is_like_first or len(thing.split()) > most or not _LISTED.fullmatch(thing):
                return []
        return things

    def _keyed(self, said: SelfStatement) -> SelfStatement:
        """An allergy under a key of its own, since people may have several."""
        if said.key != "allergy":
            return said
        value = self._lead.sub("", said.value)
        negated = tuple(self._lead.sub("", one) for one in said.negated)
        named = key_from(value or negated[0])
        return SelfStatement(f"allergy_{named}" if named else said.key, value, negated)

    @cached_property
    def _between(self) -> re.Pattern[str]:
        """The conjunction of a list."""
        if self.is_spaced:
            return _any_of(self.ands, is_spaced=True)
        either = "|".join(map(re.escape, self.ands)) or "(?!)"
        return re.compile(rf"、|(?<=\S)(?:{either})(?=[\u30a0-\u30ff\u4e00-\u9fff])")

    @cached_property
    def _between_things(self) -> re.Pattern[str]:
        ands = self._between.pattern
        return re.compile(rf"[,，、]\s*(?:{ands})?|{ands}", re.IGNORECASE)  # noqa: RUF001

    @cached_property
    def _lead(self) -> re.Pattern[str]:
        """Articles and prepositions at the beginning of a thing."""
        ordered = sorted(self.leads, key=len, reverse=True)
        words = (re.escape(one) + ("" if one[-1] in "'’" else r"\s+") for one in ordered)  # noqa: RUF001
        return re.compile(rf"\A(?:(?:{'|'.join(words)}))+" if ordered else "(?!)", re.IGNORECASE)

    def _without_opening(self, clause: str) -> str:
        clause = clause.strip()
        while (found := self._opened.match(clause)) is not None and found.group():
            clause = clause[found.end() :].strip()
        return clause

    def _statement(self, clause: str) -> SelfStatement | None:
        for key, is_denied, phrase in self._phrases:
            found = phrase.fullmatch(clause)
            if found is None:
                continue
            text = found[1] if is_denied else self._replaced.split(found[1])[-1]
            if value := _value(key, text):
                return SelfStatement(key, "", (value,)) if is_denied else SelfStatement(key, value)
        return None

    def _instead(self, denied: str, clause: str) -> SelfStatement | None:
        """The value that replaces a denied value of this key."""
        for key, end in self._ends:
            found = end.fullmatch(clause) if key == denied else None
            if found is not None and (value := _value(key, found[1])):
                # Another clause would go on in small letters: `aber in Hamburg ist es schön`.
                is_whole = key not in _PROPER or not value.split()[-1][0].islower()
                return SelfStatement(key, value) if is_whole else None
        return None


Languages = Mapping[str, Language]
"""By name."""


def words_of(text: str) -> frozenset[str]:
    """Its words, folded as a pattern that ignores case sees them."""
    if text.isascii():
        return frozenset(text.translate(_ASCII_WORDS).split())
    return frozenset(_WORD.findall(_folded(text)))


_ASCII_WORDS = "".join(char.lower() if _WORD.match(char) else " " for char in map(chr, range(128)))
"""The translation of ASCII text before it is split: it gives the same words in half the time."""


def spoken_in(text: str, words: frozenset[str], languages: Languages) -> list[Language]:
    """The languages that may have a phrase in a text with these words."""
    return [one for one in languages.values() if one.may_be_in(text, words)]


def said_in(sentence: str, languages: Iterable[Language]) -> Iterator[SelfStatement]:
    """What a sentence states about its speaker in any of these languages, in order.
    A quotation, something that a colon introduces, and a question state nothing."""
    if _QUOTED.search(sentence):
        return
    for found in _SENTENCE.finditer(sentence):
        if not _ASKED.search(found.group()):
            for language in languages:
                yield from language.said(found.group())


def _folded(text: str) -> str:
    """Equal for texts that differ in case alone, as `re.IGNORECASE` sees it."""
    return text.casefold() if text.isascii() else text.translate(_ONE_I).casefold()


_ONE_I = str.maketrans("İı", "ii")


def fingerprint(languages: Languages) -> str:
    """The same for the same phrases, whatever file they come from."""
    read = msgspec.json.encode(languages, order="deterministic")
    return hashlib.sha256(read).hexdigest()[:12]


@cache
def own_languages() -> Languages:
    """The languages that come with weft."""
    return _read((files("weft.memory") / "languages.json").read_bytes())


def languages_with(path: Path | None) -> Languages:
    """The languages that come with weft and those of a file in the same form.

    A language in the file replaces weft's own of that name. An empty object removes it. Raises
    `ConfigurationError`.
    """
    if path is None:
        return own_languages()
    try:
        return {**own_languages(), **_read(path.read_bytes())}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"WEFT_MEMORY_LANGUAGES: {path} cannot be used: {error}; give a JSON object like "
            "services/weft/memory/languages.json"
        ) from None


def _read(data: bytes) -> dict[str, Language]:
    read = msgspec.json.decode(data, type=dict[str, Language])
    for name, language in read.items():
        for phrase in language.phrases():
            if phrase.count(PLACE) != 1 or phrase.strip() == PLACE:
                raise msgspec.ValidationError(
                    f"phrase {phrase!r} of language {name!r} needs words and one {PLACE!r}"
                )
    return read


def _open(is_spaced: bool, phrase: str) -> str:
    """A phrase as a pattern, with any white space between its words."""
    before, _, after = phrase.partition(PLACE)
    words = [r"\s+".join(map(re.escape, part.split())) for part in (before, after)]
    gap = r"\s+" if is_spaced else r"\s*"
    return f"{words[0]}{gap * bool(words[0])}(\\S.{{0,{_MAX_CHARACTERS}}}?)" + (
        f"{gap}{words[1]}" if words[1] else ""
    )


def _any_of(words: tuple[str, ...], is_spaced: bool) -> re.Pattern[str]:
    """Matches any of the words, or nothing if there are none."""
    if not words:
        return re.compile(r"(?!)")
    either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    edges = (r"(?<![\w'’-])", r"(?![\w'’-])") if is_spaced else ("", "")  # noqa: RUF001
    return re.compile(f"{edges[0]}(?:{either}){edges[1]}", re.IGNORECASE)


def _value(key: str, text: str) -> str:
    """The value in place of a phrase's `…`; empty if the text cannot be a value."""
    value = text.strip(" .!。！*`()")  # noqa: RUF001
    if key == "email":
        found = _EMAIL.fullmatch(value)
        return found.group() if found else ""
    if not value or len(value.split()) > _MAX_WORDS or not value[0].isalnum():
        return ""
    if key == "timezone" and timezone(value) != [value]:
        return ""
    if key == "birth_date" and not any(map(str.isnumeric, value)):
        return ""
    if key in _PROPER and value[0].islower():
        return ""
    return value
