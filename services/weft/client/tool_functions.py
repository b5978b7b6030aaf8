"""The agent's own tools: functions that are called with a model's arguments, and their outcomes as
results for the log."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.adapters.drafting import compact
from weft.client.arguments import check_type
from weft.messages.definitions import name_in
from weft.messages.plain_json import as_plain_json
from weft.messages.reading import ToolCall
from weft.messages.writing import PROVIDERS
from weft.secrets.marked_arguments import marked_arguments
from weft.whole_characters import whole_characters
from weft_schemas.items import ContextItem, ItemKind

Function = Callable[..., Any] | Callable[..., Awaitable[Any]]
"""A tool of the agent's own: called with the call's arguments by name."""
UNNAMED = "m0"
"""The name that readers of messages give to the first item of a message: it gets its id when it is
published, and its call becomes its parent."""


def called_now(
    call: ToolCall, functions: Mapping[str, Function] | None
) -> Mapping[str, Function] | None:
    """The functions for `Session.run`. The one that the call names was already called, in this
    thread, unless `run` refuses the call; `run` then takes its result."""
    function = function_named(functions or {}, call.name)
    if function is None or call.arguments is None or marked_arguments(call.arguments):
        return functions
    return {call.name: _Called(function, call.arguments)}


class _Called:
    """A function that was already called: calling it again gives the same outcome."""

    def __init__(self, function: Function, arguments: Mapping[str, Any]) -> None:
        self._returned: Any = None
        self._error: Exception | None = None
        try:
            self._returned = _drained(function(**arguments))
        except Exception as error:
            self._error = error

    def __call__(self, /, **_: Any) -> Any:
        if self._error is not None:
            raise self._error
        return self._returned


def function_named(functions: Mapping[str, Function], name: str) -> Function | None:
    """The function of a tool, whose name may be in the form that any provider uses."""
    check_type("functions", functions, Mapping)
    if name in functions:
        return functions[name]
    return next(
        (
            one
            for known, one in functions.items()
            if name in {name_in(provider, known) for provider in PROVIDERS}
        ),
        None,
    )


def unknown_tool(name: str, names: Sequence[str]) -> str:
    known = f"call one of these: {', '.join(names)}" if names else "answer without one"
    return f"there is no tool {name!r}; {known}"


async def called(function: Function, call: ToolCall) -> tuple[str, str | None, bool]:
    """The result of a function as text, its content type, and whether it failed: only a function
    that raises has failed. What an iterator yields, such as a generator, is its result: one text,
    if all are texts, otherwise a list. If it raises after that, the error comes first."""
    if call.arguments is None:
        return f"the arguments are no JSON object: {call.text}; call again with one", None, True
    try:
        returned = function(**call.arguments)
        if inspect.isawaitable(returned):
            returned = await returned
        returned = _drained(await _drained_async(returned))
    except _Stopped as stopped:
        yielded, _ = _result_text(stopped.yielded)
        return f"{_told(stopped.error)}\nBefore that, the tool yielded:\n{yielded}", None, True
    except Exception as error:  # the model reads whatever a tool raises
        return _told(error), None, True
    return *_result_text(returned), False


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class _Stopped(Exception):
    """An iterator raised after it had yielded something: a tool may have had its effect by then."""

    def __init__(self, error: Exception, yielded: Any) -> None:
        super().__init__(error)
        self.error, self.yielded = error, yielded


def _drained(returned: Any) -> Any:
    """What an iterator yields, or else what was returned."""
    if not isinstance(returned, Iterator) or inspect.isawaitable(returned):
        return returned
    yielded: list[Any] = []
    try:
        for one in returned:
            yielded.append(one)  # a list made at once would lose them
    except Exception as error:
        raise _stopped(error, yielded) from error
    return _joined(yielded)


async def _drained_async(returned: Any) -> Any:
    """The same of an asynchronous iterator."""
    if not isinstance(returned, AsyncIterator):
        return returned
    yielded: list[Any] = []
    try:
        async for one in returned:
            yielded.append(one)  # a comprehension would lose them
    except Exception as error:
        raise _stopped(error, yielded) from error
    return _joined(yielded)


def _stopped(error: Exception, yielded: list[Any]) -> Exception:
    return _Stopped(error, _joined(yielded)) if yielded else error


def _joined(yielded: list[Any]) -> Any:
    return "".join(yielded) if all(isinstance(one, str) for one in yielded) else yielded


def _result_text(returned: Any) -> tuple[str, str | None]:
    """What a function returned, as text, and its content type. It never fails: the call succeeded,
    and a model that is told otherwise makes it again."""
    if returned is None:
        return "", None
    try:
        value = as_plain_json(returned, otherwise=str)
        return (value, None) if isinstance(value, str) else (compact(value), "application/json")
    except Exception:  # whatever the objects in it raise about themselves
        return _text_of(returned), None


def _text_of(returned: Any) -> str:
    try:
        return str(returned)
    except Exception as error:
        kind = type(returned).__name__
        return f"(the call succeeded; the {kind} that it returned has no text: {error})"


def result_of(
    call: ToolCall, text: str, content_type: str | None = None, failed: bool = False
) -> ContextItem:
    said = {
        "tool_name": call.name,
        "call_id": call.id or None,
        "content_type": content_type,
        "is_error": failed or None,
    }
    metadata = {key: value for key, value in said.items() if value is not None}
    return ContextItem(UNNAMED, ItemKind.TOOL_RESULT, whole_characters(text), metadata=metadata)
