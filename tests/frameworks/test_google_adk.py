"""ADK's memory keeps what it can, whatever one event holds."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import logged, run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
import asyncio
import logging
import sys

from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

import weft
from weft.integrations.google_adk import WeftMemoryService

logging.basicConfig(stream=sys.stdout)


def said(name: str, text: str) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(id=name, author="user", content=content)


async def main() -> None:
    async with weft.connect() as client:
        memory = WeftMemoryService(client)
        session = Session(id="s", app_name="shop", user_id="ann")
        for name, text in [("e1", "The lamp."), ("e2", "half \\ud83d"), ("e3", "The chair.")]:
            session.events.append(said(name, text))
            await memory.add_session_to_memory(session)
        found = await memory.search_memory(app_name="shop", user_id="ann", query="chair")
        print("found", [one.content.parts[0].text for one in found.memories])


asyncio.run(main())
"""


async def test_an_event_that_cannot_be_stored_holds_up_none_after_it(url: str, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    out = await run(script, tmp_path, url)
    assert out.count("memory of 'ann': item 'e2': $.text has a lone surrogate") == 1
    assert "The chair." in out.partition("found")[2]
    items = await logged(url, "adk-memory:shop:ann")
    assert [item.id for item in items] == ["e1", "e3"]
