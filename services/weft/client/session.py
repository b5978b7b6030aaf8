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

import logging
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from weft.client.added import Added, added_of
from weft.client.arguments import checked_choice, checked_list
from weft.client.base_client import BaseClient
from weft.client.drilldown import TOOL_NAME, asked_slice, drilldown_tool, slice_item
from weft.client.histories import OnEdit, PublishedMessages
from weft.client.offline import (
    OnUnavailable,
    OwnHistory,
    Sent,
    Spooling,
    UnavailableWarning,
    retried,
)
from weft.client.pack import Pack
from weft.client.parking import Parked
from weft.client.refusals import ItemRefused, accepted
from weft.client.scoped_items import check_scope, scoped
from weft.client.spool import Spool
from weft.client.tool_functions import (
    UNNAMED,
    Function,
    called,
    function_named,
    result_of,
    unknown_tool,
)
from weft.messages.definitions import merged
from weft.messages.reading import Format, Messages, ToolCall, draft, tool_call
from weft.messages.writing import Provider
from weft.secrets.marked_arguments import marked_arguments, refusal
from weft_schemas.errors import (
    InvalidInput,
    NotFound,
    Overloaded,
    TooCostly,
    Unavailable,
    WeftError,
)
from weft_schemas.ids import encode_token
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, Phase

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Session:
    """Made by `Client.session`; for one task at a time.

    Whatever is added is published before the next compile, in order, and the compile waits up to
    `timeout` seconds until it has been processed: an agent reads its own writes.
    """

    def __init__(
        self,
        client: BaseClient,
        name: str,
        *,
        phase: Phase,
        budget: int | None,
        reserve: int,
        timeout: float,
        drilldown: bool,
        stable: bool,
        on_unavailable: OnUnavailable = "raise",
        wait_timeout: float = 0.0,
        spool: Path = Path("weft-spool"),
        scope: str | None = None,
    ) -> None:
        encode_token(name, "session")
        check_scope(scope)
        checked_choice("on_unavailable", on_unavailable, OnUnavailable)
        self.client = client
        self.name = name
        self.pack: Pack | None = None
        """The latest compile: what was kept and why, and what was still pending."""
        self._after = 0
        self._phase, self._budget, self._reserve = phase, budget, reserve
        self._timeout = timeout
        self._drilldown = drilldown
        self._stable = stable
        self._scope = scope
        self._added: list[Added] = []
        self._refused: list[ItemRefused] = []
        """Refusals to report once everything else is published."""
        self._wait_timeout = wait_timeout if on_unavailable == "wait" else 0.0
        self._spooling: Spooling | None = None
        if on_unavailable == "spool":
            self._spooling = Spooling(client, name, Spool(spool, client.tenant, name))
        self._own = OwnHistory()

    @property
    def after(self) -> int:
        """The place in the log up to which this session has published."""
        return max(self._after, self._spooling.sequence if self._spooling is not None else 0)

    @property
    def unsent(self) -> int:
        """How many of the messages and items that were added are not published yet, or spooled."""
        return len(self._added)

    @property
    def parked(self) -> tuple[Parked, ...]:
        """What was spooled while the server was away and then refused by it; later items were sent
        without it. A `ParkedWarning` reported each."""
        return self._spooling.parked if self._spooling is not None else ()

    async def send_parked(self) -> tuple[Parked, ...]:
        """Publish what is parked, once the fault is corrected; returns what is still refused. These
        items come after everything that was published since. Raises `Unavailable`."""
        return await self._spooling.send_parked() if self._spooling is not None else ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Publish what was added and not yet published."""
        if kind is None:
            await self.flush()

    def add(self, *messages: Any, format: Format = "auto", scope: str | None = None) -> None:
        """Add what happened next: messages of any provider, as dicts or objects of its library,
        whole answers of it, or items. They are published with the next request.

        Adding the same thing twice publishes it twice; for a whole history use `publish`. Items of
        one response (`*reply.output`) are one turn: add them in one call. `scope` is the scope of
        what names none of its own; without it, the session's is. Raises `InvalidInput` before
        anything is added.
        """
        check_scope(scope)
        for one in added_of(messages, format):
            self._note(one, scope)

    def _note(self, added: Added, scope: str | None = None) -> None:
        """It is to be published, and the agent's own history goes on with it even if it cannot be
        published or spooled."""
        items = scoped(added.items, self._scope if scope is None else scope)
        added = msgspec.structs.replace(added, items=items)
        self._added.append(added)
        if self._spooling is not None:
            self._own.add([added.items], added.is_message)

    async def publish(
        self, messages: Messages, *, format: Format = "auto", on_edit: OnEdit = "report"
    ) -> PublishedMessages:
        """Publish the new part of a whole history, see `Client.publish_messages`. It recognises
        what was added to the session before."""
        checked_choice("on_edit", on_edit, OnEdit)
        read = draft(messages, format)
        read = msgspec.structs.replace(read, items=scoped(read.items, self._scope))
        await self.flush()
        if self._spooling is not None:
            self._own.replace(read.items)
            published = await self._spooling.hand_over(read, on_edit)
        else:
            published = await self._patiently(
                lambda: self.client.histories.hand_over(self.name, read, on_edit)
            )
        self._after = max(self._after, published.sequence)
        return published

    async def flush(self) -> None:
        """Publish what was added. If that fails, it stays added and is sent the next time.

        No server takes some items, for example one longer than a message. Everything else is
        published all the same; then `InvalidInput` is raised, which names the item. If it came
        from a message, a note replaces its text, so that results keep their call. If it has an id
        of its own, it is left out, and the id stays free. After any other error, whatever is not
        published stays added.
        """
        if self._added:
            self.client._check_loop()
        while self._added:
            is_message, run = next(groupby(self._added, key=lambda one: one.is_message))
            sent = list(run)
            alike = [one.items for one in sent]
            sequence, refused = await self._send(alike, is_message)
            self._after = max(self._after, sequence)
            # Another flush may have removed the first ones already.
            left = len(list(takewhile(set(sent).__contains__, self._added)))
            del self._added[:left]
            if left:
                self._refused.extend(refused)
        if self._refused:
            told, self._refused = self._refused, []
            raise _left_out(told, "published" if self._spooling is None else "published or spooled")

    async def _send(self, groups: Sequence[tuple[ContextItem, ...]], is_message: bool) -> Sent:
        items = [item for group in groups for item in group]
        send = partial(self._append, groups) if is_message else partial(self._publish, items)
        if self._spooling is None:
            return await self._patiently(send)
        if is_message:
            return await self._spooling.append(groups, send)
        return await self._spooling.publish(items, send)

    async def _append(self, groups: Sequence[tuple[ContextItem, ...]]) -> Sent:
        done = await self.client.histories.append(self.name, groups)
        return done.sequence, done.refused

    async def _publish(self, items: Sequence[ContextItem]) -> Sent:
        done = await accepted(items, partial(self.client.publish, self.name))
        return done.sequence, done.refused

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        return await retried(work, self._wait_timeout)

    async def compile(
        self,
        phase: Phase | str | None = None,
        *,
        budget: int | None = None,
        query: str = "",
        tool: str | None = None,
        catalog: str | None = None,
        pin: Sequence[str] = (),
        policy: ContextPolicy | None = None,
    ) -> Pack:
        """The context as it is now, with everything that was added. The arguments are those of
        `Client.compile`; phase and budget replace the session's own. Raises `Unavailable` even if
        the session spools: only `request` goes on without weft."""
        await self.flush()
        stable_from = self.pack.id if self._stable and self.pack is not None else None

        async def compiled() -> Pack:
            return await self.client.compile(
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

        if self._spooling is None:
            self.pack = await self._patiently(compiled)
        else:
            self.pack = await self._spooling.reached(compiled)
            if self.pack is None:
                raise self._spooling.why()
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
        fallback: Messages | None = None,
    ) -> dict[str, Any]:
        """Keyword arguments for the provider's call: the compiled context, and as `tools` your own
        in the provider's form, followed by weft's drill-down (Gemini: in `config`).

        Add a model and your own system prompt yourself. The other arguments are those of `compile`.
        `pack.left_out` counts the images and files that the request only has placeholders for.
        If weft cannot be reached and the session spools, the request is `fallback` unchanged
        (messages of this provider, or a whole request), or else everything that this session was
        given, whole: neither scanned nor within a budget. `pack` is then None, and the drill-down
        is not offered.
        """
        tools = checked_list("tools", tools)
        checked_choice("provider", provider, Provider)
        try:
            pack = await self.compile(phase=phase, budget=budget, query=query, pin=pin)
        except Unavailable as error:
            if self._spooling is None:
                raise
            warning = _without(self.name, error, self.unsent)
            warnings.warn(warning, UnavailableWarning, stacklevel=2)
            request, offered = self._own.request(provider, fallback), [*tools]
        else:
            request, offered = pack.request(provider), [*tools, *self.tools(provider)]
        if offered:
            place = request.setdefault("config", {}) if provider == "gemini" else request
            place["tools"] = merged(provider, offered)
        return request

    def tools(self, provider: Provider) -> list[dict[str, Any]]:
        """weft's own tools for the model in the provider's form: the drill-down."""
        return [drilldown_tool(provider)] if self._drilldown else []

    async def run(self, call: Any, functions: Mapping[str, Function] | None = None) -> bool:
        """Run one call of a model and add its result: weft's drill-down, or one of `functions`,
        found by the name of the tool.

        `call` is the provider's own (an entry of `tool_calls`, a `tool_use` block, a
        `function_call`), as a dict or an object, or a `weft.messages.ToolCall`. A function that
        raises, arguments that do not fit, or a name that is none of `functions`, become a failed
        result that says so to the model. So does a call with the mark of a masked secret in its
        arguments (`[secret:…]`): no function gets it, and it is logged. The result of a generator
        or another iterator is what it yields, in one text or as a list; if it raises after that,
        the failed result has both. Without `functions` only the drill-down is run; of any other
        call it returns False: add its result yourself.
        """
        made = tool_call(call)
        if self._is_own(made):
            self._note(Added((await self._drilled(made),)))
            return True
        if functions is None:
            return False
        function = function_named(functions, made.name)
        if function is None:
            names = [*functions, *([TOOL_NAME] if self._drilldown else [])]
            result = result_of(made, unknown_tool(made.name, names), failed=True)
        elif marked := marked_arguments(made.arguments or {}):
            told = refusal(made.name, marked)
            _log.warning("session %r: %s", self.name, told)
            result = result_of(made, told, failed=True)
        else:
            result = result_of(made, *await called(function, made))
        self._note(Added((result,)))
        return True

    def _is_own(self, call: ToolCall) -> bool:
        return call.name == TOOL_NAME and self._drilldown

    async def _drilled(self, call: ToolCall) -> ContextItem:
        try:
            asked = asked_slice(call.arguments)
            drill = partial(
                self.client.drilldown,
                asked.handle,
                asked.view,
                max_tokens=asked.max_tokens,
                timeout=None,
                **asked.args,
            )
            reply = await self._patiently(drill)
        except (InvalidInput, NotFound, TooCostly) as error:
            return result_of(call, str(error), failed=True)
        except (Unavailable, Overloaded) as error:
            if self._spooling is None:
                raise
            return result_of(call, str(error), failed=True)  # an agent that spools goes on
        item = slice_item(reply, "", "")
        metadata = item.metadata | ({"call_id": call.id} if call.id else {})
        return msgspec.structs.replace(item, id=UNNAMED, parent_id=None, metadata=metadata)


def _left_out(refused: Sequence[ItemRefused], rest: str) -> ItemRefused:
    first = refused[0]
    others = f" (the first of {len(refused)} such)" if len(refused) > 1 else ""
    became = (
        "it is in the session without what is too long, with a note in that place"
        if first.is_shortened
        else "it is left out of the session, to be added again once it is mended"
    )
    return ItemRefused(f"{first}{others}; {became}; everything else that was added is {rest}")


def _without(session: str, error: WeftError, unsent: int) -> str:
    kept = "what it publishes is spooled"
    if unsent:
        kept = f"{unsent} of its messages and items are only in memory, not spooled either"
    return (
        f"session {session!r}: this request is made of the agent's own history, neither scanned "
        f"nor within a budget, and {kept}: {error}"
    )
