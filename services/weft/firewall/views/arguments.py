"""Reads the arguments of a drill-down; the errors say what a view accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from weft_schemas.errors import InvalidInput

Value = str | int | float | bool | None

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_MAX_NUMBER = 1 << 60
"""Higher than any place in a body, and the sum of two is a number that every step takes."""


def number(args: Mapping[str, Value], name: str, default: int, least: int = 0) -> int:
    """A whole number that is at least `least`."""
    value = args.get(name)
    if value is None:
        return default
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MAX_NUMBER:
        raise InvalidInput(f"drill-down: {name} is {value!r}; give a whole number from {least}")
    return value


def words(args: Mapping[str, Value], name: str) -> str:
    """A text, empty if it is not given. A number is taken as it is written: an order's number is
    one in JSON."""
    value = args.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def known(args: Mapping[str, Value], view: str, names: tuple[str, ...]) -> None:
    """Refuse arguments that a view does not accept, rather than ignore them."""
    for name in args:
        if name not in names:
            takes = ", ".join(names) or "none"
            raise InvalidInput(
                f"drill-down: view {view!r} takes no {name!r}; its arguments: {takes}"
            )
