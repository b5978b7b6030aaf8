"""The watchdog against a real server that loses things between two of its questions."""

import pytest

from weft.log.api import call
from weft.log.connection import Connection
from weft.runtime import watchdog
from weft.runtime.application import Process
from weft.runtime.settings import Settings
from weft.runtime.watchdog import StreamLost, Watchdog
from weft_schemas.subjects import STREAM


@pytest.fixture
def process(server, log: Connection) -> Process:
    process = Process("firewall", Settings(nats_url=server.url))
    process.connection = log
    return process


@pytest.mark.parametrize("question", ["CONSUMER.INFO", "CONSUMER.CREATE"])
async def test_a_stream_lost_between_two_questions_is_told_at_the_next_look(
    log: Connection, process: Process, monkeypatch, question: str
):
    if question == "CONSUMER.CREATE":
        await call(log, f"CONSUMER.DELETE.{STREAM}.firewall")

    async def losing(connection, verb, body=None):
        if verb.startswith(question):
            monkeypatch.setattr(watchdog, "call", call)
            await call(log, f"STREAM.DELETE.{STREAM}")
        return await call(connection, verb, body)

    monkeypatch.setattr(watchdog, "call", losing)
    watching = Watchdog(process, "firewall")
    await watching.look()
    assert process.complaint() is not None
    with pytest.raises(StreamLost, match="provision"):
        await watching.look()
