"""JSON whose numbers keep the form in which they are written: `1.10` is a price and a version, and
`1.1` another one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import msgspec


class VerbatimNumber(float):
    """A number that Python would write in another way than its text does."""

    literal: str

    def __new__(cls, literal: str) -> VerbatimNumber:
        made = float.__new__(cls, literal)
        made.literal = literal
        return made

    def __str__(self) -> str:
        return self.literal

    __repr__ = __str__


def fraction(literal: str) -> float:
    """A number with a fraction or an exponent, as a hook of JSON decoders."""
    value = float(literal)
    return value if repr(value) == literal and "e" not in literal else VerbatimNumber(literal)


_NEGATIVE_ZERO = re.compile(r"[\[:,\s]-0\s*[,\]}]")
"""A whole number whose sign decoders lose."""
_decoder = msgspec.json.Decoder(float_hook=fraction)


def decoded(text: str) -> object:
    """The value of a JSON text, in which numbers may be `VerbatimNumber`. For a text that is not
    JSON, raises `msgspec.DecodeError`, `RecursionError` or `UnicodeError`."""
    value: object = _decoder.decode(text)
    if "-0" in text and _NEGATIVE_ZERO.search(text) is not None:
        return json.loads(text, parse_int=_whole, parse_float=fraction)
    return value


def _whole(literal: str) -> int | float:
    return VerbatimNumber(literal) if literal == "-0" else int(literal)


def encoded(value: object) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value, enc_hook=_literal).decode()


def _literal(number: object) -> msgspec.Raw:
    """Raises `NotImplementedError` for anything but a `VerbatimNumber`."""
    if isinstance(number, VerbatimNumber):
        return msgspec.Raw(number.literal.encode())
    raise NotImplementedError


def kinds_of(values: Iterable[object]) -> set[type]:
    """The types of values; that of a `VerbatimNumber` is float."""
    kinds = set(map(type, values))
    return kinds if VerbatimNumber not in kinds else {*kinds - {VerbatimNumber}, float}
