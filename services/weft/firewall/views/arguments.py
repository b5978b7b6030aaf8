"""Reads the arguments of a drill-down; the errors say what a view accepts."""

from __future__ import annotations

from collections.abc import Mapping

from weft_schemas.errors import InvalidInput

Value = str | int | float | bool | None


def number(args: Mapping[str, Value], name: str, default: int, least: int = 0) -> int:
    """A whole number that is at least `least`."""
    value = args.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"drill-down: {name} is {value!r}; give a whole number from {least}")
    return value


def words(args: Mapping[str, Value], name: str) -> str:
    """A text, empty if it is not given."""
    value = args.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput(f"drill-down: {name} is {value!r}; give a text")
    return value


def known(args: Mapping[str, Value], view: str, names: tuple[str, ...]) -> None:
    """Refuse arguments that a view does not accept, rather than ignore them."""
    for name in args:
        if name not in names:
            takes = ", ".join(names) or "none"
            raise InvalidInput(
                f"drill-down: view {view!r} takes no {name!r}; its arguments: {takes}"
            )
