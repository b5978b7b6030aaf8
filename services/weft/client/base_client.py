"""What an agent can ask weft's services for, a method for each thing; the client adds sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from weft.client.arguments import check_type, checked_list, phase_named, wait_seconds
from weft.client.log_client import LogClient
from weft.client.pack import Pack
from weft.client.routed_tools import routed_tools
from weft.client.scoped_items import check_scope
from weft.messages.offered_tools import OfferedTools
from weft.runtime.request_client import ANSWER_SECONDS
from weft.runtime.roll_call import call_roll
from weft_schemas.compile import (
    CompileRequest,
    DrilldownReply,
    DrilldownRequest,
    ExplainReply,
    ExplainRequest,
)
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.routing import (
    ChoiceReply,
    ChoiceRequest,
    HydrateRequest,
    HydrationResult,
    RouteReply,
    RouteRequest,
)
from weft_schemas.status import (
    LISTED,
    KnownFact,
    ProcessState,
    SessionsReply,
    SessionsRequest,
    StatusReply,
    StatusRequest,
)

MARGIN_SECONDS = 1.0
"""By which a client waits longer for heavy work than the service: it is then told why that was
ended."""


class BaseClient(LogClient):
    """Everything of a `Client` but its sessions, which are made of it."""

    async def compile(
        self,
        session: str,
        phase: Phase | str,
        *,
        query: str = "",
        budget: int | None = None,
        reserve: int = 0,
        tools: Sequence[dict[str, Any]] = (),
        tool: str | None = None,
        catalog: str | None = None,
        after: int = 0,
        as_of: int | None = None,
        stable_from: str | None = None,
        pin: Sequence[str] = (),
        scopes: Sequence[str] | None = None,
        policy: ContextPolicy | None = None,
        timeout: float = 2.0,
    ) -> Pack:
        """The context for one step of the agent's loop, within `budget` tokens minus `reserve`.

        With `after` (an ack's sequence) it waits up to `timeout` seconds until everything up to
        there is folded and settled; `pack.pending` names what is not. `query` only ranks. `pin`
        names the ids of items that the prompt must contain; `pack.stats.notes` says which it does
        not, and why. `scopes` restricts memory to these scopes, of those that the session names.
        `tool` is the chosen tool's id in `catalog`, or its name if no other tool has the same.
        Raises `NotFound` for a session that the log does not contain, `InvalidInput` and
        `Unavailable`.
        """
        request = CompileRequest(
            phase=phase_named(phase),
            query=query,
            budget=budget,
            reserve=reserve,
            policy=policy,
            as_of=as_of,
            after=after,
            stable_from=stable_from,
            pin=checked_list("pin", pin) or msgspec.UNSET,
            scopes=msgspec.UNSET if scopes is None else checked_list("scopes", scopes),
            tools=checked_list("tools", tools),
            tool=tool,
            catalog=catalog,
            timeout=timeout,
        )
        return await self._ask(session, "compile", request, Pack, timeout)

    async def explain(self, session: str, item_id: str, request: CompileRequest) -> ExplainReply:
        """Why an item is in the compile of `request`, or why not. Raises `NotFound` for an item
        that the session does not contain (at `request.as_of`)."""
        check_type("request", request, CompileRequest)
        asked = ExplainRequest(item_id, request)
        return await self._ask(session, "explain", asked, ExplainReply, request.timeout)

    async def drilldown(
        self,
        /,
        handle: str,
        view: str = "head",
        *,
        max_tokens: int = 1_000,
        timeout: float | None = None,
        **args: str | int | float | bool | None,
    ) -> DrilldownReply:
        """A slice of the raw body behind a handle (`art:…`); `args` are those of the view.

        `reply.views` names the views, `reply.next` the arguments of the next slice. `timeout` is
        how many seconds to wait for the answer; without one, longer than a service takes that
        allows itself as much as this client's settings say (`WEFT_HEAVY_SECONDS`).
        """
        asked = DrilldownRequest(handle, view, args, max_tokens)
        if timeout is None:
            answer = ANSWER_SECONDS + self.settings.heavy_seconds + MARGIN_SECONDS
        else:
            answer = wait_seconds("timeout", timeout)
        return await self._ask(TENANT_SESSION, "drilldown", asked, DrilldownReply, answer=answer)

    async def status(self, session: str | None = None, *, ids: Sequence[str] = ()) -> StatusReply:
        """What a replica has folded of a session, or of the whole tenant; and for up to 1,000 `ids`
        of a session's items, their `places`."""
        asked = StatusRequest(ids=checked_list("ids", ids))
        return await self._ask(session or TENANT_SESSION, "status", asked, StatusReply)

    async def facts(
        self, scope: str, *, session: str | None = None, after: int = 0, timeout: float = 2.0
    ) -> tuple[KnownFact, ...]:
        """The facts in force of a memory scope, such as `user:42`, by key, with the items that said
        them. What only a session remembers is asked for with it: `session:s1` and `s1`.

        As in a compile, facts at or above the sensitivity floor (of the session's policy, or of the
        tenant's) are left out, and the scope must be granted: raises `Forbidden`. `after` waits up
        to `timeout` seconds for what is folded. Raises `UnknownVersion` if the replica is of a
        release that cannot list facts.
        """
        check_type("scope", scope, str)
        check_scope(scope)
        asked = StatusRequest(facts=scope, after=after, timeout=timeout)
        place = session or TENANT_SESSION
        return (await self._ask(place, "status", asked, StatusReply, timeout)).facts or ()

    async def _known_session(self, session: str) -> StatusReply:
        """The status of a session that exists. Raises `NotFound` for another, after everything that
        the log contains is folded."""
        found = await self.status(session)
        if not found.sessions:
            asked = StatusRequest(newest=True)
            found = await self._ask(session, "status", asked, StatusReply)
        if not found.sessions:
            raise NotFound(
                f"tenant {self.tenant!r} has no session {session!r}, or it was erased; check its "
                "name, or publish to it first"
            )
        return found

    async def sessions(self, *, beyond: str = "", limit: int = LISTED) -> SessionsReply:
        """The tenant's sessions by name, one page at a time; pass `reply.next` as `beyond` to get
        the next page."""
        asked = SessionsRequest(beyond, limit)
        return await self._ask(TENANT_SESSION, "sessions", asked, SessionsReply)

    async def processes(self) -> tuple[ProcessState, ...]:
        """The state of every process of weft, as it reports it; a process that does not answer is
        not in the list. A compiler asks them all; if no compiler answers, this client does, which
        needs a credential that may."""
        asked = StatusRequest(processes=True)
        try:
            reply = await self._ask(TENANT_SESSION, "status", asked, StatusReply)
        except Unavailable:
            return await call_roll(self.connection, self.tenant)
        return reply.processes or ()

    async def route(
        self,
        query: str,
        catalog: str,
        *,
        top_k: int = 5,
        namespaces: Sequence[str] = (),
        tags: Sequence[str] = (),
        exclude: Sequence[str] = (),
        failed: Sequence[str] = (),
        used: Sequence[str] = (),
        session: str | None = None,
        after: int = 0,
        timeout: float = 2.0,
    ) -> RouteReply:
        """The cards of the tools that best fit a routing query, best first. If no tool has a word
        of it, some tools, unranked: `reply.is_unranked`, and `reply.reason` says what to do.

        With a `session`, its used tools and its failures count in addition to the ids in `used` and
        `failed`. `after` waits for a version of the catalogue. Raises `NotFound` for an unknown
        catalogue.
        """
        check_type("query", query, str)
        asked = RouteRequest(
            query=query,
            catalog=catalog,
            top_k=top_k,
            namespaces=checked_list("namespaces", namespaces),
            tags=checked_list("tags", tags),
            exclude=checked_list("exclude", exclude),
            failed=checked_list("failed", failed),
            used=checked_list("used", used),
            after=after,
            timeout=timeout,
        )
        return await self._ask(session or TENANT_SESSION, "route", asked, RouteReply, timeout)

    async def tools(self, decision: RouteReply, session: str | None = None) -> OfferedTools:
        """The complete definitions of the routed tools: `tools.definitions("openai")` for the
        request, `tools.selected(call)` for the model's answer. They are those of the catalogue's
        version that was routed, whatever was published since. Raises `NotFound` if the log does not
        have that version any more: route again. A router of an earlier release knows only the
        newest version: `UnknownVersion` if that is another one."""
        check_type("decision", decision, RouteReply)
        return await routed_tools(self._ask, session or TENANT_SESSION, decision)

    async def choose(
        self, decision: RouteReply | str, item_id: str, session: str | None = None
    ) -> ChoiceReply:
        """Record which card of a decision (or of its id) the model chose; empty if it chose
        none."""
        check_type("decision", decision, RouteReply, str)
        named = decision if isinstance(decision, str) else decision.id
        asked = ChoiceRequest(named, item_id)
        return await self._ask(session or TENANT_SESSION, "choose", asked, ChoiceReply)

    async def hydrate(
        self,
        tool: str,
        session: str,
        *,
        catalog: str,
        query: str = "",
        after: int = 0,
        timeout: float = 2.0,
    ) -> HydrationResult:
        """A tool's whole schema, and the session's values that fit its parameters.

        `tool` is its id, or its name. Raises `NotFound`, and, if several tools have that name,
        `InvalidInput` with their ids.
        """
        asked = HydrateRequest(tool, catalog, query, after, timeout)
        return await self._ask(session, "hydrate", asked, HydrationResult, timeout)
