"""Compiles of running services, as a measure asks for them: with a transcript's items published."""

from __future__ import annotations

import asyncio
import secrets

from weft.client import Client
from weft.client.pack import Pack
from weft.evaluation.transcripts import Transcript
from weft_schemas.compile import CompileRequest

WAIT_SECONDS = 30.0
"""That a compile may wait for what was just published."""


class LiveCompiles:
    """Compiles with the first n items of a transcript published, in a session of its own.

    Called from another thread than the client's loop; positions of a transcript must not go back.
    """

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop
        self._run = secrets.token_hex(4)
        self._sequences: dict[str, tuple[int, int]] = {}

    def __call__(self, transcript: Transcript, position: int, request: CompileRequest) -> Pack:
        work = self._compile(transcript, position, request)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _compile(
        self, transcript: Transcript, position: int, request: CompileRequest
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
