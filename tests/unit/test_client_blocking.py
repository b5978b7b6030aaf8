"""The synchronous client has what the asynchronous one has, under the same names."""

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import weft

OF_THE_LOOP = {
    "connection",
    "is_up",
    "is_cut_off",
    "histories",
    "operator",
    "client",
}
"""What only makes sense within the event loop that the client lives in."""


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - OF_THE_LOOP


@pytest.mark.parametrize(
    ("asynchronous", "synchronous"),
    [(weft.Client, weft.SyncClient), (weft.Session, weft.SyncSession)],
)
def test_every_method_is_there_with_the_same_arguments(
    asynchronous: type, synchronous: type
) -> None:
    assert public(asynchronous) <= public(synchronous)
    for name in public(asynchronous):
        if callable(vars(asynchronous)[name]):
            assert arguments(vars(synchronous)[name]) == arguments(vars(asynchronous)[name]), name


def test_connecting_takes_the_same_arguments() -> None:
    assert arguments(weft.connect_sync) == arguments(weft.connect)
    assert weft.connect_sync(principal="clerk").settings.principal == "clerk"


def test_closing_again_does_nothing() -> None:
    with weft.testing.in_memory_sync() as client:
        client.close()
        client.close()
    with pytest.raises(weft.Unavailable, match="closed"):
        client.status("s1")


def test_a_client_in_memory_publishes_to_no_server() -> None:
    item = weft.ContextItem("u1", weft.ItemKind.USER_TURN, "hi")
    with weft.testing.in_memory_sync() as client:
        client.publish("s1", [item])
        assert client.compile("s1", weft.Phase.ANSWER).prompt == "user: hi"


def test_threads_that_close_at_once_all_return() -> None:
    client = weft.testing.in_memory_sync().__enter__()
    with ThreadPoolExecutor(8) as pool:
        closed = [pool.submit(client.close) for _ in range(8)]
    assert [one.result() for one in closed] == [None] * 8


def arguments(method: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())
