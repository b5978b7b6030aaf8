"""Splits JSON for the tests of its parts."""

from weft.passages.json_splitting import split_json
from weft.passages.literals import Decoded, decoded
from weft.passages.part import Part
from weft.passages.prose import split_prose


def lines(held: Decoded) -> tuple[Part, ...]:
    return split_prose(held.text).children


def split(text: str) -> Part:
    made = split_json(decoded(text), lines)
    assert made is not None
    return made


def all_parts(part: Part) -> list[Part]:
    return [part, *(one for child in part.children for one in all_parts(child))]
