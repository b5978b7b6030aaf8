"""Each framework's example runs in an environment that holds the real frameworks and weft's base
install alone, against the services of this one.

`make integrations` makes that environment (3 minutes, 1.3 GB), which is why `make test` leaves
these out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.data import ROOT
from tests.frameworks.environment import EXAMPLES, PYTHON, logged, run
from weft_schemas.items import ContextItem, ItemKind

pytestmark = pytest.mark.slow
in_module_loop = pytest.mark.asyncio(loop_scope="module")

AWAY = "nats://127.0.0.1:9"
"""The port of `discard`, where nobody answers."""

EXPECTED = "user_turn agent_msg tool_call tool_call tool_call tool_result tool_result tool_result"
EXPECTED += " tool_call tool_result agent_msg"
DRILLED = EXPECTED.replace(
    "tool_call tool_result agent", "tool_call tool_call tool_result tool_result agent"
)


class Example(NamedTuple):
    """A script, and the sessions that it leaves for a name."""

    script: str
    sessions: tuple[str, ...] = ("-sync", "-async")
    tells_failures: bool = True
    """Whether the framework's own form says of a result that its call failed."""
    drills: bool = True
    """Whether its model looks behind the handle of the large result."""


LITELLM = Example("litellm_proxy", ("-plain", "-streamed"), tells_failures=False, drills=False)
CLAUDE = Example("claude_agent", ("-one",), drills=False)
AGENTS = Example("openai_agents_agent", tells_failures=False)
MANY = (
    Example("langchain_agent"),
    AGENTS,
    Example("pydantic_ai_agent"),
    LITELLM,
    Example("google_adk_agent"),
    CLAUDE,
)
each = pytest.mark.parametrize("example", MANY, ids=[one.script for one in MANY])


def check(items: list[ContextItem], example: Example, drilled: bool = False) -> None:
    """Everything that happened stands there once, in order, results under their calls."""
    kinds = [str(item.kind) for item in items]
    if example is CLAUDE:  # whose tools each say for themselves when they began and ended
        assert sorted(kinds) == sorted(EXPECTED.split())
    else:
        assert kinds == (DRILLED if drilled else EXPECTED).split()
    assert len({item.id for item in items}) == len(items)
    calls = {item.id: item.reserved.tool_name for item in items if item.kind is ItemKind.TOOL_CALL}
    results = [item for item in items if item.kind is ItemKind.TOOL_RESULT]
    assert [item.parent_id for item in results if item.parent_id not in calls] == []
    assert len({item.parent_id for item in results}) == 4 + drilled
    (large,) = [item for item in results if item.body is not None]
    assert large.body is not None
    assert large.body.size > 300_000
    failed = [item for item in results if "refused the notes" in item.text]
    assert [bool(item.reserved.is_error) for item in failed] == [example.tells_failures]


@each
@in_module_loop
async def test_an_example_leaves_everything_in_the_log_once(url, tmp_path, example) -> None:
    script = EXAMPLES / f"{example.script}.py"
    name = example.script
    await run(script, tmp_path, url, SESSION=name)
    first = {end: await logged(url, name + end) for end in example.sessions}
    for items in first.values():
        check(items, example, example.drills)
    if example is CLAUDE:  # a session of Claude Code is another one each time
        return
    await run(script, tmp_path, url, SESSION=name)
    again = {end: await logged(url, name + end) for end in example.sessions}
    assert again == first, "the same history handed over by another process"


@each
@in_module_loop
async def test_an_agent_goes_on_without_a_server_and_its_log_follows(
    url, tmp_path, example
) -> None:
    """The history that it had then reaches the log as soon as the session goes on."""
    script = EXAMPLES / f"{example.script}.py"
    name = f"{example.script}-away"
    told = await run(script, tmp_path, AWAY, SESSION=name, WITHOUT_WEFT="1", WITHOUT_DRILL="1")
    assert ("OwnHistoryWarning" in told) is (example is not LITELLM), "its proxy shows no warnings"
    assert ("the framework's own history" in told) is (example is not CLAUDE)
    spooled = list((tmp_path / "weft-spool").iterdir())
    assert any("carrier's server refused" in path.read_text() for path in spooled)
    if example is CLAUDE:
        return
    await run(script, tmp_path, url, SESSION=name, WITHOUT_DRILL="1")
    for end in example.sessions:
        check(await logged(url, name + end), example)


PAGE = (ROOT / "docs" / "frameworks.md").read_text()
SECTIONS = re.findall(
    r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```(?:\n\n```yaml\n(.*?)^```)?",
    PAGE,
    re.S | re.M,
)
"""Title, code, and what a configuration file beside it holds."""
GIVEN = {
    "LangChain and LangGraph": "from langchain_agent import Scripted; model = Scripted()",
    "OpenAI Agents SDK": "from openai_agents_agent import Scripted, tool; model = Scripted()",
    "PydanticAI": "from pydantic_ai_agent import scripted; model = scripted()",
    "LiteLLM": "import litellm_proxy",
    "Google ADK": "from google_adk_agent import Scripted; model = Scripted()",
    "Claude Agent SDK": "import os; from claude_agent import ScriptedModel, asking, shop\n"
    "model = ScriptedModel().__enter__(); os.environ |= asking(model, '.claude')",
}
"""What the page says is yours."""


def test_the_page_has_a_section_for_each_framework() -> None:
    assert [title for title, *_ in SECTIONS] == list(GIVEN)


@pytest.mark.parametrize(("title", "code", "config"), SECTIONS, ids=list(GIVEN))
@in_module_loop
async def test_the_code_of_the_page_runs(url, tmp_path, title, code, config) -> None:
    script = tmp_path / "page.py"
    if config:  # the page's files stand beside a proxy, which reads them
        code = f"litellm_proxy.main(hooks={code!r}, config={config!r})"
    given = f"import scenario\n{GIVEN[title]}\ntools = list(scenario.TOOLS)\n"
    script.write_text(f"{given}{code}")
    printed = await run(script, tmp_path, url)
    assert "Order 1804 was the largest" in printed


def test_the_environment_holds_no_worker() -> None:
    """Only then does it show that an agent needs the base install alone."""
    site = Path(PYTHON).parent.parent / "lib"
    assert list(site.rglob("site-packages/msgspec")), f"no {PYTHON}: run `make integrations`"
    assert list(site.rglob("site-packages/faststream")) == []
    assert sys.executable != PYTHON
