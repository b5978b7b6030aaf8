"""Every pure function of weft that takes text, found by walking its modules, with small values for
whatever else it takes."""

from __future__ import annotations

import ast
import enum
import inspect
import types
import typing
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.growing import Search, modules
from tests.imports import imports_of
from weft.firewall.summarise.budget import Budget
from weft.gateway.masking import Masking
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.compile import CompileRequest
from weft_schemas.events import Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules, Phase

_TOUCHING = """
asyncio nats faststream socket ssl subprocess shutil signal threading multiprocessing sqlite3
tempfile pathlib os sys fcntl resource aiosqlite httpx uvicorn opentelemetry
"""
TOUCHING = frozenset(_TOUCHING.split())
"""What a module imports that touches the world; its functions are not called with made-up text."""
ITEM = ContextItem("a", ItemKind.USER_TURN, "a")
MADE: dict[Any, Any] = {
    int: 100,
    float: 1.0,
    bool: False,
    str: "a",
    bytes: b"a",
    object: "a",
    Any: {"a": "b"},
    Budget: Budget(300, DEFAULT_ENCODING),
    ContextItem: ITEM,
    Origin: Origin(1),
    CompileRequest: CompileRequest(Phase.ANSWER),
    Masking: Masking(FirewallRules(), b"k", "t", DEFAULT_ENCODING),
}
"""Values of the other parameters, by their type; of other types `_made` makes an empty one."""
NAMED = {"encoding": DEFAULT_ENCODING}
"""Values of texts that are the names of something."""
LISTS = (list, tuple, Sequence, Collection, Iterable)


class Unmade(Exception):
    """There is no value for a parameter."""


def text_functions(skip: tuple[str, ...] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
    """By name, without what caches its answers, those of modules that touch nothing."""
    for name, module in modules(skip):
        if touches(module):
            continue
        for attribute, value in sorted(vars(module).items()):
            function = inspect.unwrap(value) if callable(value) else value
            if not inspect.isfunction(function) or function.__module__ != name:
                continue
            if not inspect.iscoroutinefunction(function) and texts_of(function):
                yield f"{name}.{attribute}", function


@cache
def touches(module: types.ModuleType) -> bool:
    """Whether it imports what touches the world."""
    for node in imports_of(Path(module.__file__ or "")):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = [one.name for one in node.names]
        if any(one.partition(".")[0] in TOUCHING for one in names):
            return True
    return False


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:  # a name that is imported for the type checker alone
        return {name: str for name, one in function.__annotations__.items() if one == "str"}


def texts_of(function: Callable[..., Any]) -> list[str]:
    """Its parameters that take a text, or texts."""
    hints = _hints(function)
    names = inspect.signature(function).parameters
    return [name for name in names if _text(hints.get(name)) and name not in NAMED]


def _text(kind: Any) -> bool:
    kinds = typing.get_args(kind) if _is_union(kind) else (kind,)
    return any(one in (str, bytes) or _is_list_of_texts(one) for one in kinds)


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _is_list_of_texts(kind: Any) -> bool:
    return typing.get_origin(kind) in LISTS and typing.get_args(kind)[:1] in ((str,), (bytes,))


def work_of(function: Callable[..., Any], name: str) -> Search:
    """What it does with a text in parameter `name`, to its end. Raises `Unmade` where another
    parameter has no value."""
    hints, parameters = _hints(function), inspect.signature(function).parameters
    others = {
        one.name: NAMED.get(one.name) or _made(hints.get(one.name, Any))
        for one in parameters.values()
        if one.name != name and one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    shape = _shape(hints[name])

    def work(text: str) -> None:
        given = {**others, name: shape(text)}
        rest = [given.pop(one.name) for one in parameters.values() if one.kind is one.VAR_POSITIONAL
                and one.name in given]  # fmt: skip
        found = function(*_positional(parameters, given), *(rest[0] if rest else ()), **given)
        if isinstance(found, Iterator):
            deque(found, maxlen=0)

    return work


def _positional(parameters: Mapping[str, inspect.Parameter], given: dict[str, Any]) -> list[Any]:
    first = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in parameters.values() if one.kind in first]
    return [given.pop(one) for one in names if one in given] if len(names) == len(
        [one for one in names if one in given]
    ) else []  # fmt: skip


def _shape(kind: Any) -> Callable[[str], Any]:
    kinds = typing.get_args(kind) if _is_union(kind) else (kind,)
    if str in kinds:
        return str
    if bytes in kinds:
        return lambda text: text.encode("utf-8", "surrogatepass")
    one = next(one for one in kinds if _is_list_of_texts(one))
    of_bytes = typing.get_args(one)[0] is bytes
    made = tuple if typing.get_origin(one) is tuple else list

    def many(text: str) -> Any:
        parts = [f"{text[at : at + 4]}{at}{text[-6:]}" for at in range(0, len(text), 4)]
        return made(part.encode() for part in parts) if of_bytes else made(parts)

    return many


def _made(kind: Any) -> Any:
    """A small value of a type; raises `Unmade` where it needs more than weft's own defaults."""
    if kind in MADE:
        return MADE[kind]
    if kind is type(None):
        return None
    if _is_union(kind):
        kinds = typing.get_args(kind)
        return None if type(None) in kinds else _made(kinds[0])
    origin = typing.get_origin(kind) or kind
    if origin is typing.Literal:
        return typing.get_args(kind)[0]
    if origin is Callable:
        return len if typing.get_args(kind)[-1:] == (int,) else str
    if isinstance(origin, type) and issubclass(origin, enum.Enum):
        return next(iter(origin))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {}
    if origin in (*LISTS, set, frozenset, Iterator):
        return () if origin in (tuple, Iterable, Iterator) else (origin if origin in (
            list, set, frozenset) else list)()  # fmt: skip
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _of_struct(origin)
    if isinstance(origin, type) and issubclass(origin, tuple) and hasattr(origin, "_fields"):
        return origin(*map(_made, typing.get_type_hints(origin).values()))
    raise Unmade(f"no value of {kind}")


def _of_struct(kind: type[msgspec.Struct]) -> Any:
    needed = [one for one in msgspec.structs.fields(kind) if one.required]
    hints = typing.get_type_hints(kind)
    return kind(**{one.name: _made(hints[one.name]) for one in needed})
