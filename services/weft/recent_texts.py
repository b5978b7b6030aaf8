"""A cache of a function of a text, of which few long ones are kept: it stays small whatever
comes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Generic, ParamSpec, Protocol, TypeVar, cast

LONG = 512 * 1024
"""Characters of a long text: above what most results have."""
LONG_KEPT = 8
"""How many long ones are kept. A text of 4 MiB takes 4 MB or more, its outline 3 MB."""

P = ParamSpec("P")
T = TypeVar("T", covariant=True)


class Cached(Protocol, Generic[P, T]):
    """A function that remembers its latest results."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result, remembered or made anew."""

    def cache_clear(self) -> None:
        """Forget all results."""


def cached(kept: int, long: int = LONG) -> Callable[[Callable[P, T]], Cached[P, T]]:
    """Decorates a function whose first argument is a text or bytes: the latest `kept` results are
    cached, of those longer than `long` the latest `LONG_KEPT`."""

    def decorate(function: Callable[P, T]) -> Cached[P, T]:
        of_short, of_long = lru_cache(kept)(function), lru_cache(LONG_KEPT)(function)

        def look(text: str | bytes, *others: Hashable, **named: Hashable) -> T:
            return (of_long if len(text) > long else of_short)(text, *others, **named)

        def cache_clear() -> None:
            of_short.cache_clear()
            of_long.cache_clear()

        look.cache_clear = cache_clear  # type: ignore[attr-defined]
        look.__doc__, look.__name__ = function.__doc__, function.__name__
        return cast(Cached[P, T], look)

    return decorate
