"""FastStream's dependency injection for derive functions: parameters marked by `Depends` are made
when the function is called, in any process.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import fast_depends
from fast_depends.dependencies import Dependant

Function = Callable[..., Any]


def injected(function: Function) -> Function:
    """The function with its dependencies injected, or itself without any."""
    return _Injected(function) if _has_dependencies(function) else function


class _Injected:
    """Injects again in the process that it is sent to."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._called = fast_depends.inject(_as_function(function), cast=False, serializer_cls=None)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._called(*given, **named)

    def __reduce__(self) -> Any:
        return injected, (self.function,)


def _as_function(function: Function) -> Function:
    """As fast_depends looks at it: a function, not an object that can be called."""
    if inspect.isfunction(function) or inspect.ismethod(function):
        return function
    inner = getattr(function, "_function", function)

    @functools.wraps(inner)
    def plain(*given: Any, **named: Any) -> Any:
        return inner(*given, **named)

    return plain


def _has_dependencies(function: Function) -> bool:
    inner = getattr(function, "_function", function)
    if isinstance(inner, functools.partial):
        return False
    try:
        hints = get_type_hints(inner, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    marked = (one for hint in hints.values() for one in getattr(hint, "__metadata__", ()))
    defaults = (one.default for one in inspect.signature(inner).parameters.values())
    return any(isinstance(one, Dependant) for one in (*marked, *defaults))
