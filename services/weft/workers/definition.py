"""Checks a worker where it is defined: one that could never work, or that would take another's
events, is refused."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from weft.log.topology import WORKERS
from weft_schemas.errors import ConfigurationError

Function = Callable[..., Any]

_NAME = re.compile(r"[\w-]+")
_NAME_BYTES = 255
"""Of a consumer: the server refuses longer ones."""


def check_name(name: str) -> None:
    """Raises `ConfigurationError` for the name of one of weft's own workers."""
    if name in WORKERS:
        raise ConfigurationError(
            f"worker {name!r}: weft's own {name} has a durable consumer of this name, and the two "
            "would take each other's events; rename the function, or give another name=. A new "
            "name means a new durable consumer, which starts at the beginning of the log; one of "
            "an old name remains, and can be deleted"
        )


def name_of(function: Function) -> str:
    """As its author named it."""
    inner = function.func if isinstance(function, partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__))


def is_async(function: Function) -> bool:
    """Whether what it returns is awaited."""
    return any(inspect.iscoroutinefunction(one) for one in _codes(function))


def _codes(function: Function) -> tuple[Any, Any]:
    """The functions that may hold its code: a callable object has it in its class."""
    inner = function.func if isinstance(function, partial) else function
    return inner, type(inner).__call__


def check_result(function: Function) -> None:
    """Raises `ConfigurationError` for a function that yields: what it yields would be lost."""
    for one in _codes(function):
        if inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one):
            raise ConfigurationError(
                f"{name_of(function)}() is a generator function; return a list of events instead "
                "of yielding them"
            )


def check_label(name: str, version: str) -> None:
    """Raises `ConfigurationError` for a name that no consumer can have, and for a version that is
    no text."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"worker {name!r}: a name consists of letters, digits, _ and -; give one as name="
        )
    if (size := len(name.encode())) > _NAME_BYTES:
        raise ConfigurationError(
            f"worker {name[:40]!r}…: its name has {size} bytes; give at most {_NAME_BYTES}"
        )
    if not isinstance(version, str) or not version:
        raise ConfigurationError(
            f"worker {name!r}: version={version!r} is no version; give a text, such as "
            f'version="{version or 1}"'
        )


def check_concurrency(name: str, concurrency: int) -> None:
    """Raises `ConfigurationError` for anything but a whole number of at least 1."""
    if not isinstance(concurrency, int) or concurrency < 1:
        raise ConfigurationError(
            f"worker {name!r}: concurrency={concurrency!r} is no number of calls; give 1 or more"
        )


def check_parameters(function: Function, wants_context: bool, has_others: bool) -> None:
    """Raises `ConfigurationError` for a function that cannot be called with a source. `has_others`
    says that dependencies are injected, too."""
    signature = inspect.signature(function)
    bind = signature.bind_partial if has_others else signature.bind
    try:
        bind(None, **({"context": None} if wants_context else {}))
    except TypeError as error:
        name = name_of(function)
        raise ConfigurationError(
            f"{name}{signature} cannot be called with a source alone: {error}; define it as "
            f"`def {name}(source: Source)` (only an async function is given a `context`)"
        ) from None
