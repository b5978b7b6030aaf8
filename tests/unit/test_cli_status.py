"""What `weft status` tells where it may not see everything."""

import pytest

import weft
from weft.cli.status import Status, StreamStatus, _behind, _print, _read_model
from weft_schemas.errors import Forbidden, InvalidInput, Overloaded, Unavailable, WeftError
from weft_schemas.status import ProcessState, StatusReply
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


def test_a_long_error_makes_no_line_that_no_terminal_holds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = "2026-01-31T08:00:00Z event 9: " + "the model says no; " * 30
    sound = ProcessState("firewall", "host-1", 11, ready=True, port=1)
    failed = ProcessState("memory", "host-1", 12, False, port=2, last_error=error, complaint=error)
    _print(Status("acme", False, [], [], [sound, failed], None, None, []))
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) < 240
    [row] = [line for line in lines if line.startswith("memory")]
    assert row.endswith(f"{error[:80]}…")
    assert [line for line in lines if line != line.rstrip()] == []
