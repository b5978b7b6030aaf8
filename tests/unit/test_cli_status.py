"""What `weft status` tells where it may not see everything."""

import pytest

import weft
from weft.cli.status import StreamStatus, _behind, _read_model
from weft_schemas.errors import Forbidden, InvalidInput, Overloaded, Unavailable, WeftError
from weft_schemas.status import StatusReply
from weft_schemas.subjects import AUDIT_STREAM, STREAM

FOLDED = StatusReply("acme", None, 40, "o200k_base")


def stream(name: str, last: int) -> StreamStatus:
    return StreamStatus(name, last, 0, 1, last)


def test_a_read_model_is_behind_the_stream_of_events_and_no_other() -> None:
    events, audit = stream(STREAM, 42), stream(AUDIT_STREAM, 1_000)
    assert _behind([audit, events], FOLDED) == 2
    assert _behind([stream(STREAM, 30)], FOLDED) == 0
    assert _behind([audit], FOLDED) is None
    assert _behind([events], None) is None


@pytest.mark.parametrize(
    "error", [Forbidden("not allowed"), Overloaded("full"), Unavailable("away")]
)
async def test_a_read_model_that_cannot_be_asked_is_a_note_beside_the_rest(
    error: WeftError,
) -> None:
    async with weft.testing.in_memory() as client:
        client.status = failing(error)  # type: ignore[method-assign]
        notes: list[str] = []
        assert await _read_model(client, None, notes) is None
    assert notes == [f"the read model cannot be asked: {error}"]


async def test_a_session_that_cannot_be_is_an_error() -> None:
    async with weft.testing.in_memory() as client:
        client.status = failing(InvalidInput("no session"))  # type: ignore[method-assign]
        with pytest.raises(InvalidInput):
            await _read_model(client, "s", [])


def failing(error: WeftError):  # type: ignore[no-untyped-def]
    async def fail(*_: object, **__: object) -> StatusReply:
        raise error

    return fail
