"""Proper names after a statement's beginning: of people, places, companies and other things.

A name is written with capitals, and none of its words tells a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.memory.extent import (
    MARKS,
    MAX_WORDS,
    VALUE_IS_OVER,
    WORDS_AFTER_NAME,
    text_value,
    without_hedge,
)
from weft.memory.words import (
    FUNCTION_WORDS,
    NATIONALITIES,
    TIMES,
    VERBS,
    is_other_than_name,
    is_state,
    word_set,
)

_MAX_NAME = 6
"""Words of a name."""
_PARTICLES = word_set("""
of the de la le les du des del della di da do dos das der den dem van von zu zum zur am an bei im
y e i et sur sous ter ten op upon bin ibn al el as os st & -
""")
"""Words in small letters within a name: `Frankfurt am Main`."""
_WAYS = word_set("""
street str road rd avenue ave lane drive square apt apartment flat floor unit suite house block
rue calle via viale piazza rua avenida straße strasse weg platz allee gasse ulica
""")


def is_capital(word: str) -> bool:
    """Whether a word is written like a name or a number, in scripts that have capitals."""
    bare = word.strip("\"'`*()“”‘’.")  # noqa: RUF001
    return bool(bare) and (
        not bare[0].islower() or any(letter.isupper() or letter.isdigit() for letter in bare)
    )


def _name(rest: str, is_no_name: Callable[[str], bool], particles: frozenset[str]) -> str:
    """The words of a name at the start of a text, if nothing but the end of the statement or a
    circumstance follows them."""
    words = text_value(rest).split()
    if words and words[0].casefold() == "the":
        article, words = words[:1], words[1:]
    else:
        article = []
    end = size = 0
    for word in words[:_MAX_NAME]:
        bare = word.strip(MARKS).casefold()
        is_acronym = size > 0 and bare.upper() == word.strip(MARKS)
        if is_capital(word) and (is_acronym or not is_no_name(bare)):
            size = end = end + 1
        elif word in particles and size:
            end += 1
        else:
            break
    if not size or (size < len(words) and words[size].casefold() not in WORDS_AFTER_NAME):
        return ""
    name = " ".join([*article, *words[:size]]).strip(MARKS)
    return name if any(map(str.isalnum, name)) else ""


def _is_no_place(word: str) -> bool:
    return word in FUNCTION_WORDS or word in TIMES or word in _CONDITIONS_OF_LIFE


_CONDITIONS_OF_LIFE = word_set("""
fear denial chaos hell heaven panic peace pain poverty luxury debt misery despair limbo silence
darkness isolation exile hope sin theory comfort harmony style free home school least work
""")
"""Nouns after `I live in` and `I work for` that are neither places nor companies."""


def place(rest: str) -> list[str]:
    """A place or a company after a verb that needs one: `I live in Nice`."""
    name = _name(rest, _is_no_place, _PARTICLES)
    return [name] if name else []


def place_moved_to(rest: str) -> list[str]:
    """A place without a number: people move to new versions, too."""
    return [one for one in place(rest) if not any(map(str.isdigit, one)) and one[-2:-1] != " "]


def proper_name(rest: str) -> list[str]:
    """A proper name after `is`, where a condition may stand as well: `my state is Ohio`."""
    name = _name(rest, is_other_than_name, _PARTICLES)
    if len(name.split()) == 1 and is_state(name.casefold()):  # `Building 7` is a name
        return []
    is_letter = any(map(str.isalpha, name))
    return [name] if is_letter and not name.casefold().endswith(("'s", "’s")) else []  # noqa: RUF001


_CALLED = re.compile(r"(?:called|named)\s+", re.I)
_OWNER = re.compile(r"\w['’]s\s", re.I)  # noqa: RUF001


def name_of_a_being(rest: str) -> list[str]:
    """A person or an animal: `my son is Tom`."""
    said = without_hedge(rest)
    called = _CALLED.match(said)
    names = proper_name(said[called.end() :] if called else said)
    return [
        one
        for one in names
        if len(one.split()) <= 3
        and not _OWNER.search(text_value(said) + " ")
        and not any(map(str.isdigit, one))
        and not any(word.casefold() in NATIONALITIES for word in one.split())
    ]


def own_name(rest: str) -> list[str]:
    """What follows `my name is`: a name, also in small letters if it is one word."""
    name = _name(rest, is_other_than_name, _PARTICLES)
    if name:
        return [name] if len(name.split()) <= 4 else []
    word = text_value(rest)
    is_name = word.isalpha() and not is_state(word) and word.casefold() not in VERBS
    return [word] if is_name and VALUE_IS_OVER.match(without_hedge(rest), len(word)) else []


def introduced_name(rest: str) -> list[str]:
    """What follows `hello, I'm`: a name in capitals, and neither a condition nor a nationality."""
    names = name_of_a_being(rest)
    return names if text_value(rest) in names else []


_SPEAKING = re.compile(r"(?P<name>.+?)\s(?:speaking|here|calling)\b", re.I)


def speaking_name(rest: str) -> list[str]:
    """What follows `this is`, if it goes on with `speaking`."""
    found = _SPEAKING.match(without_hedge(rest))
    return introduced_name(found["name"]) if found else []


def called_name(rest: str) -> list[str]:
    """What follows `call me`."""
    names = introduced_name(rest)
    return [one for one in names if not is_other_than_name(one)]


def address(rest: str) -> list[str]:
    """Of a place, with its commas: `Main Street 5, 10115 Berlin`."""
    parts: list[str] = []
    has_number = any(map(str.isdigit, rest))
    is_no_name = _is_no_place if has_number else is_state
    for part in re.split(r",\s+", re.split(r"[;!?]|\.\s", without_hedge(rest), maxsplit=1)[0]):
        name = _name(part, is_no_name, _PARTICLES | _WAYS)
        if name:
            parts.append(name)
        if not name or name != part.strip(MARKS):
            break
    found = ", ".join(parts)
    return [found] if found and len(found.split()) <= 2 * MAX_WORDS else []
