"""Compiles by running services, in the form that a measure needs: for a transcript whose items are
published first, or for a session that is in the log."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

import msgspec

from weft.client import Client
from weft.client.pack import Pack
from weft.log.bodies import Bodies
from weft.log.publishing import Publisher
from weft_eval.transcripts import LabelledTranscript, labelled
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.items import ContextItem

WAIT_SECONDS = 30.0
"""How long a compile may wait for items that were just published."""
MAX_BODY_BYTES = 1 << 20
"""How many bytes of a stored body represent the whole."""


class LiveCompiles:
    """Compiles with the first n items of a transcript published, in a session of its own.

    Called from another thread than the client's loop; the positions within a transcript must not go
    back.
    """

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop
        self._run = secrets.token_hex(4)
        self._sequences: dict[str, tuple[int, int]] = {}

    def __call__(
        self, transcript: LabelledTranscript, position: int, request: CompileRequest
    ) -> Pack:
        work = self._compile(transcript, position, request)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _compile(
        self, transcript: LabelledTranscript, position: int, request: CompileRequest
    ) -> Pack:
        session = f"eval-{self._run}-{transcript.name}"
        done, sequence = self._sequences.get(session, (0, 0))
        if position > done:
            ack = await self._client.publish(session, transcript.items[done:position])
            sequence = ack.sequence
            self._sequences[session] = (position, sequence)
        return await self._client.compile(
            session,
            request.phase,
            query=request.query,
            budget=request.budget,
            after=sequence,
            stable_from=request.stable_from,
            timeout=WAIT_SECONDS,
        )


class LoggedCompiles:
    """Compiles of sessions that are in the log, as they were right before a step."""

    def __init__(
        self,
        client: Client,
        loop: asyncio.AbstractEventLoop,
        sessions: Sequence[tuple[LabelledTranscript, list[int]]],
    ) -> None:
        self._client = client
        self._loop = loop
        self._sequences = {transcript.name: sequences for transcript, sequences in sessions}

    def __call__(
        self, transcript: LabelledTranscript, position: int, request: CompileRequest
    ) -> Pack:
        before = self._sequences[transcript.name][position] - 1
        work = self._client.compile(
            transcript.name,
            request.phase,
            query=request.query,
            budget=request.budget,
            as_of=before,
            timeout=WAIT_SECONDS,
        )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def logged_sessions(
    client: Client, sessions: Sequence[str]
) -> list[tuple[LabelledTranscript, list[int]]]:
    """Sessions of the log, each with the sequences of its items. Raises `NotFound`."""
    async with Publisher(client.connection) as publisher:
        bodies = Bodies(client.connection, publisher, client.tenant)
        return [await _logged(client, bodies, session) for session in dict.fromkeys(sessions)]


async def _logged(
    client: Client, bodies: Bodies, session: str
) -> tuple[LabelledTranscript, list[int]]:
    sequences: dict[str, int] = {}
    items: list[ContextItem] = []
    async for record in client.events(session):
        try:
            event = record.event()
        except InvalidInput:
            continue
        if isinstance(event, ContextItem) and event.id not in sequences:
            sequences[event.id] = record.sequence
            items.append(await _whole(bodies, event))
    if not items:
        raise NotFound(f"session {session!r} has no items in the log; look at `weft status`")
    transcript = labelled(session, items)
    return transcript, [sequences[item.id] for item in transcript.items]


async def _whole(bodies: Bodies, item: ContextItem) -> ContextItem:
    """With the beginning of its body instead of an empty text, if the body is stored separately."""
    if item.body is None:
        return item
    content = await bodies.get(item.body, MAX_BODY_BYTES)
    return msgspec.structs.replace(item, text=content.decode("utf-8", "replace"), body=None)
