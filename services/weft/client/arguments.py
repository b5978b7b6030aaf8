"""Refuses arguments that Python would take for something else: a text for a list of its letters, a
misspelt choice for the default."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, TypeVar, get_args

from weft_schemas.errors import InvalidInput
from weft_schemas.policy import Phase

T = TypeVar("T")


def checked_list(name: str, given: Iterable[T]) -> tuple[T, ...]:
    """The elements of an argument that is a list. Raises `InvalidInput` for a text and for a value
    without elements."""
    if isinstance(given, str | bytes):
        raise InvalidInput(
            f"{name}={given!r:.60} is one text; give a list, such as [{given!r:.60}]"
        )
    if not isinstance(given, Iterable):
        raise InvalidInput(f"{name}={given!r:.60} is no list; give a list")
    return tuple(given)


def checked_choice(name: str, given: T, choices: Any) -> T:
    """An argument that is one of the values of a `Literal`. Raises `InvalidInput`."""
    if given not in get_args(choices):
        known = ", ".join(get_args(choices))
        raise InvalidInput(f"{name}={given!r:.60} is unknown; use one of {known}")
    return given


def check_type(name: str, value: object, *kinds: type) -> None:
    """Raises `InvalidInput` if the value is of none of these types."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if wanted[0] in "aeiou" else "a"
        raise InvalidInput(f"{name} is of type {type(value).__name__}; give {article} {wanted}")


def wait_seconds(name: str, given: float) -> float:
    """A time to wait that is one. Raises `InvalidInput`."""
    if not isinstance(given, int | float) or not 0 < given < inf:
        raise InvalidInput(f"{name}={given!r:.60} is no time to wait; give seconds, such as 20")
    return given


def phase_named(phase: Phase | str) -> Phase:
    """The phase, by its name or itself. Raises `InvalidInput`."""
    try:
        return Phase(phase)
    except ValueError:
        raise InvalidInput(f"phase {phase!r} is unknown; use {', '.join(Phase)}") from None
