"""The Claude Agent SDK: hooks, a session store, and the drill-down as an MCP tool.

    claude = WeftClaude(client)
    options = ClaudeAgentOptions(
        hooks=claude.hooks(),
        mcp_servers={"weft": claude.mcp_server()},
        session_store=claude.store(),
        session_store_flush="eager",
    )

Claude Code keeps its own history, and no hook replaces it. But a tool's result passes the firewall
before the model reads it, and what Claude Code no longer holds (another session of the same work,
or what a compaction removed) comes back beside the next prompt.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    HookMatcher,
    InMemorySessionStore,
    SessionKey,
    SessionStore,
    SessionStoreEntry,
    create_sdk_mcp_server,
    tool,
)

import weft
from weft.client.offline import OnUnavailable
from weft.integrations.claude_tool_outputs import as_json, replaced, text_at, text_places
from weft.integrations.conversations import warn_of_own_history
from weft.integrations.drill_down import DrillDown
from weft.integrations.open_sessions import OpenSessions
from weft_schemas.compile import PackEntry
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.ids import digest
from weft_schemas.items import ContextItem, ItemKind

REMEMBERED = 10_000
"""How many items are remembered; the log recognises an item that comes again."""
MAX_HOOK_CHARACTERS = 10_000
"""Of what a hook tells the model. Claude Code puts a longer text into a file, and shows the model
the first 2 KB of it (seen with its release of November 2026)."""
FITTING_TRIES = 3
"""Compiles with fewer tokens until the text is short enough: characters per token vary little."""
BEFORE = "What happened in this work before, as weft compiled it:\n\n"


class WeftClaude:
    """Publishes prompts, calls, results and answers; gives the model firewalled results and the
    compiled context.

    Ids come from Claude Code (of a call, of a message), so that hooks and store use the same name
    for the same thing, and neither a retry nor a resumed session publishes it twice.
    """

    def __init__(
        self,
        client: weft.Client,
        *,
        session: str | None = None,
        budget: int = 8_000,
        timeout: float = 10.0,
        on_unavailable: OnUnavailable = "spool",
        wait_timeout: float = 60.0,
        spool: Path | str = "weft-spool",
        scope: str | None = None,
    ) -> None:
        """`session` replaces Claude Code's session id: then the work continues over several of
        its sessions. `scope` is whose memory they teach and show. `budget`, in tokens, applies to
        a result and to the context of a prompt. While weft is away, publications go to a file or
        are waited for, a result reaches the model unchanged, and there is no context, but an
        `OwnHistoryWarning`; `raise` makes the hook fail."""
        self._client = client
        self._session = session
        self._raises = on_unavailable == "raise"
        self._options: dict[str, Any] = {
            "budget": budget,
            "timeout": timeout,
            "drilldown": False,
            "on_unavailable": on_unavailable,
            "wait_timeout": wait_timeout,
            "spool": spool,
            "scope": scope,
        }
        self._open = OpenSessions(self._opened, lambda one: one.is_needed)
        self._lost: set[str] = set()
        """Claude Code's sessions whose history lacks something that the log contains."""
        self._seen: set[str] = set()
        self._published: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Session and item, so that the transcript does not publish again what a hook published."""
        self._mirrored = False

    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """For `ClaudeAgentOptions(hooks=…)`; append yours to the lists."""
        return {
            "UserPromptSubmit": [HookMatcher(hooks=[self.prompted])],
            "PostToolUse": [HookMatcher(hooks=[self.used])],
            "PostToolUseFailure": [HookMatcher(hooks=[self.failed])],
            "PreCompact": [HookMatcher(hooks=[self.compacted])],
            "Stop": [HookMatcher(hooks=[self.stopped])],
        }

    def store(self, inner: SessionStore | None = None) -> WeftSessionStore:
        """For `ClaudeAgentOptions(session_store=…)`: `inner` keeps the transcript (in memory if
        it is not given), and weft its content. Prompts and answers are then taken from the
        transcript."""
        self._mirrored = True
        return WeftSessionStore(self, inner or InMemorySessionStore())

    def mcp_server(self) -> Any:
        """The drill-down, for `ClaudeAgentOptions(mcp_servers={"weft": …})`."""
        drill = DrillDown(self._client)

        @tool(drill.name, drill.description, drill.parameters)
        async def run(arguments: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": await drill(arguments)}]}

        return create_sdk_mcp_server("weft", tools=[run])

    async def prompted(self, event: Any, _: str | None, __: Any) -> Any:
        """`UserPromptSubmit`: the context that Claude Code lacks, as `additionalContext`."""
        name = self._name(event["session_id"])
        context = ""
        if event["session_id"] in self._lost or self._begins(event["session_id"]):
            context = await self._context(name, event["prompt"])
            self._lost.discard(event["session_id"])
        if not self._mirrored:
            mark = digest(event["session_id"], event.get("prompt_id") or "", event["prompt"])[:16]
            await self._publish(
                name, [ContextItem(f"u-{mark}", ItemKind.USER_TURN, event["prompt"])]
            )
        return _hook_output("UserPromptSubmit", additionalContext=context) if context else {}

    async def used(self, event: Any, _: str | None, __: Any) -> Any:
        """`PostToolUse`: the firewalled result, as `updatedToolOutput`, if it differs from the
        tool's."""
        output = event["tool_response"]
        places = text_places(event["tool_name"], output)
        said = "\n".join(text_at(output, place) for place in places)
        await self._call(event, said or (output if isinstance(output, str) else as_json(output)))
        if not said or event["tool_name"].endswith("weft_drilldown"):  # it was scanned already
            return {}
        shown = await self._shown(self._name(event["session_id"]), _result_id(event))
        if shown is None or _is_unchanged(shown, said):
            return {}
        return _hook_output("PostToolUse", updatedToolOutput=replaced(output, places, shown.text))

    async def failed(self, event: Any, _: str | None, __: Any) -> Any:
        """`PostToolUseFailure`: a failed result, for the log."""
        await self._call(event, event["error"], is_error=True)
        return {}

    async def compacted(self, event: Any, _: str | None, __: Any) -> Any:
        """`PreCompact`: the next prompt brings back what the compaction removes."""
        self._lost.add(event["session_id"])
        return {}

    async def stopped(self, event: Any, _: str | None, __: Any) -> Any:
        """`Stop`: the answer, for the log, if no transcript provides it."""
        said = event.get("last_assistant_message")
        if said and not self._mirrored:
            mark = digest(event["session_id"], event.get("prompt_id") or "", said)[:16]
            item = ContextItem(f"a-{mark}", ItemKind.AGENT_MSG, said)
            await self._publish(self._name(event["session_id"]), [item])
        return {}

    async def mirrored(self, key: SessionKey, entries: Sequence[SessionStoreEntry]) -> None:
        """Publish the content of a transcript's entries."""
        if not key.get("subpath"):  # a subagent's own messages are not turns of this session
            items = [item for entry in entries for item in items_of(entry)]
            await self._publish(self._name(key["session_id"]), items)

    async def _call(self, event: Any, text: str, is_error: bool = False) -> None:
        called = {"tool_name": event["tool_name"], "call_id": event["tool_use_id"]}
        call = ContextItem(
            f"c-{event['tool_use_id']}",
            ItemKind.TOOL_CALL,
            f"{event['tool_name']}({as_json(event['tool_input'])})",
            metadata=called | {"arguments": event["tool_input"]},
        )
        result = ContextItem(
            _result_id(event),
            ItemKind.TOOL_RESULT,
            text,
            call.id,
            metadata=called | ({"is_error": True} if is_error else {}),
        )
        await self._publish(self._name(event["session_id"]), [call, result])

    async def _publish(self, name: str, items: Sequence[ContextItem]) -> None:
        async with self._turn(name):
            session = self._of(name)
            session.add(*(item for item in items if (name, item.id) not in self._published))
            try:
                await session.flush()
            except Unavailable:  # it stays added, and is sent with the next one
                if self._raises:
                    raise
            self._published.update(dict.fromkeys((name, item.id) for item in items))
            while len(self._published) > REMEMBERED:
                self._published.popitem(last=False)

    async def _shown(self, name: str, item_id: str) -> PackEntry | None:
        """A result as the firewall would show it in a prompt; None while weft is away."""
        async with self._turn(name):
            try:
                pack = await self._of(name).compile(pin=[item_id])
            except (Unavailable, NotFound) as error:
                self._without("a result reaches the model as the tool gave it", error)
                return None
        return next((one for one in pack.entries if one.item_id == item_id), None)

    async def _context(self, name: str, prompt: str) -> str:
        async with self._turn(name):
            try:
                return BEFORE + await self._fitting(name, prompt)
            except NotFound:  # this is where the work begins
                return ""
            except Unavailable as error:
                self._without("no context comes with the prompt", error)
                return ""

    async def _fitting(self, name: str, query: str) -> str:
        """A prompt that Claude Code passes on whole: within the budget, and short enough."""
        most = MAX_HOOK_CHARACTERS - len(BEFORE)
        pack = await self._of(name).compile(query=query)
        for _ in range(FITTING_TRIES):
            if len(pack.prompt) <= most:
                break
            fewer = pack.stats.prompt_tokens * most // len(pack.prompt)
            pack = await self._of(name).compile(query=query, budget=fewer)
        return pack.prompt

    def _without(self, what: str, error: Exception) -> None:
        if self._raises:
            raise error
        warn_of_own_history(f"weft is away, so that {what}: {error}", stacklevel=3)

    def _begins(self, claudes: str) -> bool:
        """Whether this work may have begun in another session of Claude Code."""
        is_first = claudes not in self._seen
        self._seen.add(claudes)
        return is_first and self._session is not None

    def _name(self, claudes: str) -> str:
        return self._session or claudes

    def _of(self, name: str) -> weft.Session:
        return self._open.of(name).session

    def _turn(self, name: str) -> asyncio.Lock:
        return self._open.of(name).turn

    def _opened(self, name: str) -> _Open:
        return _Open(self._client.session(name, **self._options))


class _Open:
    """One session, which the hooks use one at a time."""

    def __init__(self, session: weft.Session) -> None:
        self.session = session
        self.turn = asyncio.Lock()

    @property
    def is_needed(self) -> bool:
        return self.turn.locked() or self.session.unsent > 0


class WeftSessionStore:
    """A `SessionStore` around another one: the SDK sees no difference, and weft's log gets the
    transcript."""

    def __init__(self, claude: WeftClaude, inner: SessionStore) -> None:
        self._claude = claude
        self.inner = inner

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store the entries, and publish their content."""
        await self.inner.append(key, entries)
        await self._claude.mirrored(key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The transcript as it was appended."""
        entries: list[SessionStoreEntry] | None = await self.inner.load(key)
        return entries

    def __getattr__(self, name: str) -> Any:
        """The inner store's other methods; the SDK checks whether it has them."""
        if getattr(type(self.inner), name, None) is getattr(SessionStore, name, self):
            raise AttributeError(name)
        return getattr(self.inner, name)


def items_of(entry: SessionStoreEntry) -> Iterator[ContextItem]:
    """The content of a transcript's entry: prompts, answers, calls and results."""
    held: dict[str, Any] = dict(entry)
    message, uuid = held.get("message"), held.get("uuid")
    if held.get("type") not in ("user", "assistant") or not isinstance(message, dict) or not uuid:
        return
    # A summary after a compaction stands there as a user's prompt, and Claude Code wrote it.
    if held.get("isMeta") or held.get("isSidechain") or held.get("isCompactSummary"):
        return
    for at, item in enumerate(weft.messages.read([message], "anthropic").items):
        call_id = item.reserved.call_id
        own = {ItemKind.TOOL_CALL: f"c-{call_id}", ItemKind.TOOL_RESULT: f"r-{call_id}"}
        parent = f"c-{call_id}" if item.kind is ItemKind.TOOL_RESULT else None
        metadata = {key: value for key, value in item.metadata.items() if key != "turn_id"}
        if item.kind in _OF_USERS and "turn_id" in item.metadata:
            metadata["turn_id"] = uuid
        yield ContextItem(
            own.get(item.kind, f"{uuid}.{at}"), item.kind, item.text, parent, metadata=metadata
        )


_OF_USERS = frozenset({ItemKind.USER_TURN, ItemKind.DOC_SNIPPET})
"""Items of a message that brought documents along."""


def _result_id(event: Any) -> str:
    return f"r-{event['tool_use_id']}"


def _is_unchanged(shown: PackEntry, said: str) -> bool:
    """Whether the model may read the tool's own output, with its line numbers: nothing in it was
    masked or shortened, and no guard found anything."""
    return shown.view == "whole" and not shown.signals and said in shown.text


def _hook_output(event: str, **output: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **output}}
