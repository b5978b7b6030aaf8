"""What LiteLLM's real proxy meets beyond its example: requests that name no session, and streams
that a program does not read to their end."""

from __future__ import annotations

import pytest

import weft
from tests.frameworks.environment import logged, run
from weft_schemas.items import ItemKind

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
import litellm_proxy, scenario
from openai import OpenAI

SAID = [
    {"role": "system", "content": scenario.SYSTEM},
    {"role": "user", "content": scenario.QUESTION},
]

def program(address):
    return OpenAI(base_url=address, api_key=litellm_proxy.KEY, max_retries=0).chat.completions
"""

WITHOUT_A_SESSION = """
config = litellm_proxy.CONFIG + "general_settings:\\n  missing_session_id: generate\\n"
with litellm_proxy.ScriptedProvider() as provider:
    with litellm_proxy.proxy(provider, config=config) as address:
        program(address).create(model="plain", messages=SAID)
        program(address).create(model="streamed", messages=SAID)
"""

BROKEN_OFF = """
with litellm_proxy.ScriptedProvider() as provider, litellm_proxy.proxy(provider) as address:
    named = {"x-litellm-session-id": "broken-off"}
    with program(address).create(
        model="streamed", messages=SAID, stream=True, extra_headers=named
    ) as stream:
        next(iter(stream))
    assert litellm_proxy.program(address, "broken-off", False) == scenario.ANSWER
"""


async def test_a_request_that_names_no_session_passes_as_it_is(url, tmp_path) -> None:
    """Also where the proxy makes an id up for it, another one each time."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + WITHOUT_A_SESSION)
    await run(script, tmp_path, url)
    async with weft.connect(url) as client:
        assert (await client.sessions()).sessions == ()


async def test_a_stream_that_is_broken_off_leaves_the_session_as_it_was(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + BROKEN_OFF)
    await run(script, tmp_path, url)
    kinds = [item.kind for item in await logged(url, "broken-off")]
    assert kinds.count(ItemKind.USER_TURN) == 1
    assert kinds.count(ItemKind.TOOL_RESULT) == 4
    assert kinds[-1] is ItemKind.AGENT_MSG
