"""The leaves of a JSON value, each with its path. However deep it is, there is no recursion."""

from __future__ import annotations

from collections.abc import Iterator

Scalar = str | int | float
LeafPath = tuple[str | int, ...]
"""Keys of objects and positions in arrays, from the outside in."""


def leaves(value: object) -> Iterator[tuple[LeafPath, Scalar]]:
    """Strings and numbers in order of appearance; booleans and nulls carry no value."""
    stack: list[tuple[LeafPath, object]] = [((), value)]
    while stack:
        path, held = stack.pop()
        if isinstance(held, dict):
            stack += [((*path, key), inner) for key, inner in reversed(held.items())]
        elif isinstance(held, list | tuple):
            stack += [((*path, at), inner) for at, inner in reversed(list(enumerate(held)))]
        elif isinstance(held, str | int | float) and not isinstance(held, bool):
            yield path, held


def field_of(path: LeafPath) -> str:
    """The innermost key of the path, empty if there is none."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def path_name(path: LeafPath) -> str:
    """A path in the form in which parameters are named: `customer.name`, `items[].price`."""
    steps = ("[]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
