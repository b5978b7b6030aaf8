"""The loop of one agent: add what happens, ask for the next request, and again.

    async with client.session("s1", phase="call", budget=32_000) as s:
        s.add({"role": "user", "content": "Which order was the largest?"})
        while True:
            request = await s.request("openai", tools=TOOLS)
            reply = await openai.chat.completions.create(model=MODEL, **request)
            answer = reply.choices[0].message
            s.add(answer)
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                await s.run(call, FUNCTIONS)

`docs/agents.md` has the same for every provider.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import msgspec

from weft.adapters.drafting import compact
from weft.client.drilldown import TOOL_NAME, drilldown_tool, slice_item
from weft.client.histories import OnEdit, PublishedMessages
from weft.client.pack import Pack
from weft.messages.definitions import name_in
from weft.messages.plain import plain
from weft.messages.reading import Format, Messages, ToolCall, draft, tool_call
from weft.messages.writing import PROVIDERS, Provider
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, Phase

if TYPE_CHECKING:
    from weft.client.client import Client

Function = Callable[..., Any] | Callable[..., Awaitable[Any]]
"""A tool of the agent's own: called with the call's arguments by name."""


class Session:
    """Made by `Client.session`; for one task at a time.

    What is added is published before the next compile, in order, and the compile waits up to
    `timeout` seconds until it is worked on: an agent reads what it wrote.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        phase: Phase,
        budget: int | None,
        reserve: int,
        timeout: float,
        drilldown: bool,
        stable: bool,
    ) -> None:
        self.client = client
        self.name = name
        self.pack: Pack | None = None
        """The latest compile: what was kept and why, and what was still pending."""
        self.after = 0
        """The place in the log up to which this session has published."""
        self._phase, self._budget, self._reserve = phase, budget, reserve
        self._timeout = timeout
        self._drilldown = drilldown
        self._stable = stable
        self._added: list[_Added] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Publish what was added and not yet published."""
        if kind is None:
            await self.flush()

    def add(self, *messages: Any, format: Format = "auto") -> None:
        """Add what happened next: messages of any provider, as dicts or objects of its library, or
        items. They are published with the next request. What is added twice stands there twice; a
        whole history goes to `publish`. Raises `InvalidInput`.
        """
        for message in messages:
            if isinstance(message, ContextItem):
                self._added.append(_Added((message,), False))
            else:
                self._added.append(_Added(draft([message], format).items))

    async def publish(
        self, messages: Messages, *, format: Format = "auto", on_edit: OnEdit = "report"
    ) -> PublishedMessages:
        """Publish what is new of a whole history, see `Client.publish_messages`. What was added to
        the session before is known."""
        await self.flush()
        published = await self.client.publish_messages(
            self.name, messages, format=format, on_edit=on_edit
        )
        self.after = max(self.after, published.sequence)
        return published

    async def flush(self) -> None:
        """Publish what was added. Where that fails it stays added, and is sent with the next."""
        while self._added:
            is_message, run = next(groupby(self._added, key=lambda one: one.is_message))
            alike = list(run)
            if is_message:
                await self.client.histories.append(self.name, [one.items for one in alike])
                sequence = await self.client.histories.sequence(self.name)
            else:
                items = [item for one in alike for item in one.items]
                sequence = (await self.client.publish(self.name, items)).sequence
            self.after = max(self.after, sequence)
            del self._added[: len(alike)]

    async def compile(
        self,
        *,
        phase: Phase | str | None = None,
        budget: int | None = None,
        query: str = "",
        tool: str | None = None,
        catalog: str | None = None,
        pin: Sequence[str] = (),
        policy: ContextPolicy | None = None,
    ) -> Pack:
        """The context as it is now, with all of what was added; arguments as for `Client.compile`,
        phase and budget instead of the session's own."""
        await self.flush()
        stable_from = self.pack.id if self._stable and self.pack is not None else None
        self.pack = await self.client.compile(
            self.name,
            phase or self._phase,
            query=query,
            budget=self._budget if budget is None else budget,
            reserve=self._reserve,
            tool=tool,
            catalog=catalog,
            after=self.after,
            stable_from=stable_from,
            pin=pin,
            policy=policy,
            timeout=self._timeout,
        )
        return self.pack

    async def request(
        self,
        provider: Provider,
        *,
        tools: Sequence[Any] = (),
        phase: Phase | str | None = None,
        budget: int | None = None,
        query: str = "",
        pin: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Keyword arguments for the provider's call: the compiled context, and as `tools` your own,
        as the provider wants them, with weft's drill-down behind them (Gemini: in `config`).

        A model and your own system prompt are yours to add. The other arguments are those of
        `compile`.
        """
        pack = await self.compile(phase=phase, budget=budget, query=query, pin=pin)
        request = pack.request(provider)
        offered = [*tools, *self.tools(provider)]
        if offered:
            (request["config"] if provider == "gemini" else request)["tools"] = offered
        return request

    def tools(self, provider: Provider) -> list[dict[str, Any]]:
        """weft's own tools for the model, as the provider wants them: the drill-down."""
        return [drilldown_tool(provider)] if self._drilldown else []

    async def run(self, call: Any, functions: Mapping[str, Function] | None = None) -> bool:
        """Run one call of a model and add its result: weft's drill-down, or one of `functions`,
        given by the name of the tool. False where it is neither: add its result yourself.

        `call` is the provider's own (an entry of `tool_calls`, a `tool_use` block, a
        `function_call`), as a dict or an object, or a `weft.messages.ToolCall`. A function that
        raises, or arguments that do not fit, become a failed result that tells the model so.
        """
        made = tool_call(call)
        if made.name == TOOL_NAME and self._drilldown:
            self._added.append(_Added((await self._drilled(made),)))
            return True
        function = _named(functions or {}, made.name)
        if function is None:
            return False
        self._added.append(_Added((_result(made, *await _called(function, made)),)))
        return True

    async def _drilled(self, call: ToolCall) -> ContextItem:
        asked = call.arguments or {}
        try:
            args = asked.get("args") or {}
            reply = await self.client.drilldown(
                str(asked.get("handle", "")),
                str(asked.get("view") or "head"),
                max_tokens=int(asked.get("max_tokens") or 1_000),
                **args,
            )
        except (InvalidInput, NotFound, TypeError, ValueError) as error:
            return _result(call, str(error), failed=True)
        item = slice_item(reply, "", "")
        metadata = item.metadata | ({"call_id": call.id} if call.id else {})
        return msgspec.structs.replace(item, id=_UNNAMED, parent_id=None, metadata=metadata)


_UNNAMED = "m0"
"""As the readers of messages name the first item of a message: it gets its id when it is published,
and its call as its parent."""


class _Added(msgspec.Struct, frozen=True):
    items: tuple[ContextItem, ...]
    is_message: bool = True
    """Their ids are still to be made."""


def _named(functions: Mapping[str, Function], name: str) -> Function | None:
    """The function of a tool, under whichever form of its name the provider has."""
    if name in functions:
        return functions[name]
    return next(
        (
            one
            for known, one in functions.items()
            if name in {name_in(provider, known) for provider in PROVIDERS}
        ),
        None,
    )


async def _called(function: Function, call: ToolCall) -> tuple[str, str | None, bool]:
    """What a function gives as text, its content type, and whether it failed."""
    if call.arguments is None:
        return f"the arguments are no JSON object: {call.text}; call again with one", None, True
    try:
        given = function(**call.arguments)
        if inspect.isawaitable(given):
            given = await given
        if given is None or isinstance(given, str):
            return given or "", None, False
        return compact(plain(given)), "application/json", False
    except Exception as error:  # whatever a tool raises is for the model to read
        return f"{type(error).__name__}: {error}", None, True


def _result(
    call: ToolCall, text: str, content_type: str | None = None, failed: bool = False
) -> ContextItem:
    said = {
        "tool_name": call.name,
        "call_id": call.id or None,
        "content_type": content_type,
        "is_error": failed or None,
    }
    metadata = {key: value for key, value in said.items() if value is not None}
    return ContextItem(_UNNAMED, ItemKind.TOOL_RESULT, text, metadata=metadata)
