"""Tools that yield their results piece by piece."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.session_items import items_of

import weft
from weft_schemas.items import ContextItem


def chunks(failing: bool = False) -> Any:
    yield "one, "
    if failing:
        raise ValueError("no more")
    yield "two"


async def later_chunks() -> Any:
    yield {"page": 1}
    yield {"page": 2}


async def awaited_chunks() -> Any:
    return chunks()


class Pages:
    """An asynchronous iterator that is no generator."""

    def __init__(self) -> None:
        self.left = iter(["one, ", "two"])

    def __aiter__(self) -> Pages:
        return self

    async def __anext__(self) -> str:
        for page in self.left:
            return page
        raise StopAsyncIteration


async def failing_pages() -> Any:
    yield {"charged": "100 EUR"}
    raise ValueError("no more")


def failing_at_once() -> Any:
    raise ValueError("no more")
    yield


YIELDED = "ValueError: no more\nBefore that, the tool yielded:\n"


@pytest.mark.parametrize(
    ("function", "told", "failed"),
    [
        (chunks, "one, two", False),
        (lambda: chunks(failing=True), YIELDED + "one, ", True),
        (failing_pages, YIELDED + '[{"charged":"100 EUR"}]', True),
        (failing_at_once, "ValueError: no more", True),
        (lambda: map(str, [1, 2]), "12", False),
        (lambda: zip("ab", [1, 2], strict=True), '[["a",1],["b",2]]', False),
        (
            lambda: map(int, ["1", "x"]),
            "ValueError: invalid literal for int() with base 10: 'x'\n"
            "Before that, the tool yielded:\n[1]",
            True,
        ),
        (Pages, "one, two", False),
        (later_chunks, '[{"page":1},{"page":2}]', False),
        (awaited_chunks, "one, two", False),
    ],
)
async def test_the_result_of_a_generator_is_what_it_yields(
    function: Any, told: str, failed: bool
) -> None:
    call = {"id": "c", "function": {"name": "look", "arguments": "{}"}}
    async with weft.testing.in_memory() as client:
        async with client.session("s") as s:
            s.add({"role": "assistant", "tool_calls": [call]})
            await s.run(call, {"look": function})
        [_, result] = await items_of(client, "s")
    assert result.text == told
    assert bool(result.reserved.is_error) is failed


def test_a_generator_runs_in_the_thread_that_calls() -> None:
    threads: list[str] = []

    def look() -> Any:
        threads.append(threading.current_thread().name)
        yield "seen"

    def fail() -> Any:
        yield "charged"
        raise ValueError("no more")

    call = {"id": "c", "function": {"name": "look", "arguments": "{}"}}
    with weft.testing.in_memory_sync() as client, client.session("s", scope="user:1") as s:
        s.add({"role": "assistant", "tool_calls": [call]})
        s.run(call, {"look": look})
        s.run(call, {"look": fail})
        s.flush()
        events = [record.event() for record in client.events("s")]
    assert threads == [threading.current_thread().name]
    texts = [(one.text, one.metadata["scope"]) for one in events if isinstance(one, ContextItem)]
    assert ("seen", "user:1") in texts
    assert (YIELDED + "charged", "user:1") in texts
