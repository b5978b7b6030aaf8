"""What an agent can do with a connection, a method for each thing; the client adds sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from weft.client.arguments import (
    check_type,
    checked_choice,
    checked_list,
    phase_named,
    wait_seconds,
)
from weft.client.catalogues import newest_catalogue
from weft.client.confirmation import Confirmation, distinct
from weft.client.confirmation_requests import confirm_acknowledged, confirm_ids
from weft.client.erasure_check import ErasureCheck
from weft.client.event_check import checked
from weft.client.histories import Histories, OnEdit, PublishedMessages
from weft.client.lazy_connection import LazyConnection
from weft.client.message_ids import logged_message_ids, message_ids
from weft.client.operator import Operator
from weft.client.outgoing import Items, PublishAck, Sent
from weft.client.pack import Pack
from weft.client.policy_check import check_policy
from weft.client.routed_tools import routed_tools
from weft.client.scoped_items import check_scope, scoped
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.message import Ack, Message
from weft.log.reading import read_session
from weft.log.record import LogRecord
from weft.log.trace_context import current_trace
from weft.messages.offered_tools import OfferedTools
from weft.messages.reading import Format, Messages, draft
from weft.runtime.crashpoints import crash_point
from weft.runtime.policies import grants_in_force, policy_in_force
from weft.runtime.request_client import ANSWER_SECONDS, Reply, ask
from weft.runtime.roll_call import call_roll
from weft.runtime.settings import Settings
from weft_schemas.compile import (
    CompileRequest,
    DrilldownReply,
    DrilldownRequest,
    ExplainReply,
    ExplainRequest,
)
from weft_schemas.errors import Forbidden, NotFound, Unavailable, WeftError
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import TENANT_SESSION, encode_token
from weft_schemas.items import BodyRef
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.routing import (
    Catalog,
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
from weft_schemas.subjects import stored_filter

if TYPE_CHECKING:
    from weft.audit.reproduce import Reproduction

MARGIN_SECONDS = 1.0
"""By which a client waits longer for heavy work than the service: it is then told why that was
ended."""


class BaseClient:
    """Everything of a `Client` but its sessions, which are made of it."""

    def __init__(self, settings: Settings, lazily: bool = False) -> None:
        self.settings = settings
        self.tenant = settings.tenant
        self._lazily = lazily
        self._link = LazyConnection(settings)
        self.histories = Histories(self.publish, self._message_ids)
        """The message histories that this client's sessions remember."""
        self._erased = ErasureCheck(self.tenant, self.check_not_erased)
        self._after_publish = crash_point("publisher.after_publish")

    async def __aenter__(self) -> Self:
        try:
            await self._link.opened()
        except (Unavailable, Forbidden):
            if not self._lazily:
                raise
        return self

    @property
    def connection(self) -> Connection:
        """The connection to the log. Raises `Unavailable` if there is none (yet)."""
        return self._link.connection

    @property
    def is_up(self) -> bool:
        """Whether a server is connected now."""
        return self._link.is_up

    @property
    def is_cut_off(self) -> bool:
        """Whether there was a server that is gone now."""
        return self._link.is_cut_off

    def _check_loop(self) -> None:
        """Raises `InvalidInput` in another event loop or process than this client's own."""
        self._link.check_home()

    async def __aexit__(self, *_: object) -> None:
        await self._link.close()

    async def publish(
        self,
        session: str,
        items: Items,
        *,
        traceparent: str = "",
    ) -> PublishAck:
        """Publish one item or many, in order, and return when all are stored.

        Events derived from them continue the trace `traceparent`, or else that of the current span.
        A list or tuple is checked as a whole before anything is sent; an iterator is sent item by
        item, in bounded memory. Publishing the same items again changes nothing. Raises
        `InvalidInput` naming the item, `Forbidden`, `Overloaded` (the log is full), and
        `Unavailable` if it is unknown what was stored: publish again, or ask `confirm(session,
        error.ids)`. Raises `Conflict` if the session was erased: then nothing is stored.
        """
        encode_token(session, "session")
        await self._erased.check(await self._link.opened(), session)
        sent = Sent()
        trace = traceparent or current_trace()
        messages = self._link.outgoing.messages(session, items, trace, sent)
        try:
            done = await self._link.sending.publish(messages)
        except WeftError as error:
            error.ids = tuple(sent.ids)
            raise
        self._after_publish()
        self.histories.published(session, sent.ids)
        return PublishAck(
            session,
            done.sequence,
            done.first,
            done.count,
            done.duplicates,
            tuple(sent.ids),
            tuple(sent.digests),
        )

    async def publish_messages(
        self,
        session: str,
        messages: Messages,
        *,
        format: Format = "auto",
        on_edit: OnEdit = "report",
        scope: str | None = None,
    ) -> PublishedMessages:
        """Publish the new part of a history. You may pass the whole history at every step.

        `messages` are those of any provider, see `weft.messages`: dicts, objects of the provider's
        library, or a whole request with its system prompt. Nothing is published twice: not if the
        history is passed again, by another process or after a restart, and not if its beginning or
        its middle was cut out. Equal messages stay separate. If a message of the past was changed,
        the change is not published: it is listed in `conflicts`, or, with `on_edit="raise"`, raises
        `Conflict` before anything is published. The user's last message, if it is the last of all,
        is never past. A history that shares nothing with what is known counts as another
        conversation in the session. `scope`, such as `user:42`, is whose memory they teach and
        show.

        The first call for a session asks a service what the session contains, or reads it from the
        log. Raises the same errors as `publish`, and `Conflict` if the session was erased.
        """
        encode_token(session, "session")
        checked_choice("on_edit", on_edit, OnEdit)
        check_scope(scope)
        read = draft(messages, format)
        read = msgspec.structs.replace(read, items=scoped(read.items, scope))
        return await self.histories.hand_over(session, read, on_edit)

    async def _message_ids(self, session: str) -> tuple[int, Sequence[str]]:
        return await message_ids(self._ask, partial(self._logged_ids, session), session)

    async def _logged_ids(self, session: str) -> tuple[int, Sequence[str]]:
        return await logged_message_ids(
            await self._link.opened(), self.tenant, session, self.events(session)
        )

    async def close_session(self, session: str, reason: str = "closed") -> Ack:
        """Say that the session has ended: it is then summarised, and its memory is kept. Raises
        `Conflict` if it was erased."""
        encode_token(session, "session")
        await self._erased.check(await self._link.opened(), session)
        return await self._send(self._link.outgoing.closing(session, reason))

    async def publish_policy(self, policy: ContextPolicy, *, hook_elsewhere: bool = False) -> Ack:
        """Put a policy in force, for the tenant or for the session that it names, from the ack's
        sequence on. Needs a credential that may publish the tenant's own events.

        In a session with a policy of its own, the stricter value of the two holds wherever
        something is concealed (docs/concepts.md). Raises `InvalidInput` for what no compile could
        use: values out of range, patterns that cannot be run, a phase that shows no kind, and a
        redaction hook that is not installed here. `hook_elsewhere` says that it is installed where
        compiles run.
        """
        check_type("policy", policy, ContextPolicy)
        checked(policy)
        check_policy(policy, hook_elsewhere=hook_elsewhere)
        await self._link.opened()
        return await self._send(self._link.outgoing.tenants(policy))

    async def policy(
        self, session: str | None = None, *, as_of: int | None = None
    ) -> tuple[int, ContextPolicy]:
        """The policy in force and its sequence (0: the default; none was published), for a session,
        or for those without a policy of their own; `as_of` asks for a sequence in the past.

        Needs a credential that may read the log.
        """
        return await policy_in_force(await self._link.opened(), self.tenant, session, as_of)

    async def publish_grants(self, grants: ScopeGrants) -> Ack:
        """Say whose memory each principal of the tenant may read and write, from the ack's sequence
        on. These grants replace all earlier ones. Needs an operator's credential."""
        check_type("grants", grants, ScopeGrants)
        await self._link.opened()
        return await self._send(self._link.outgoing.tenants(grants))

    async def grants(self) -> tuple[int, ScopeGrants | None]:
        """The grants in force and their sequence; None and 0 if there are none yet. Needs a
        credential that may read the log."""
        return await grants_in_force(await self._link.opened(), self.tenant)

    async def publish_catalog(self, catalog: Catalog) -> Ack:
        """Publish a new version of a catalogue; its version is the ack's sequence. Raises
        `InvalidInput` with every fault of its tools."""
        check_type("catalog", catalog, Catalog)
        await self._link.opened()
        return await self._send(await self._link.outgoing.catalogue(catalog))

    async def catalog(self, name: str) -> tuple[int, Catalog]:
        """The newest version of a catalogue and its sequence, read from the log. Raises `NotFound`.

        Needs a credential that may read the log.
        """

        connection = await self._link.opened()

        def fetch(tenant: str, body: BodyRef) -> Awaitable[bytes]:
            return Bodies(connection, self._link.publisher, tenant).get(body)

        return await newest_catalogue(connection, fetch, self.tenant, name)

    async def confirm(self, session: str, published: PublishAck | Iterable[str]) -> Confirmation:
        """Tells which of the published items were there before, and which lost to another item; for
        the ids of a publish that failed, which of them the log contains nevertheless.

        Waits until the items are folded. Raises `Unavailable` if that takes too long, and, for an
        acknowledged publish, `Conflict` if the session was erased: nothing of it counts.
        """
        if isinstance(published, PublishAck):
            return await confirm_acknowledged(self._ask, session, published)
        return await confirm_ids(self._ask, session, distinct(checked_list("published", published)))

    async def check_not_erased(self, session: str) -> None:
        """Ask a service whether what is published to this session counts. Raises `Conflict` if the
        session was erased, and `Unavailable`."""
        await self._ask(session, "status", StatusRequest(contents=()), StatusReply)

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

    async def reproduce(self, compile_id: str) -> Reproduction:
        """Render a past compile's prompt again from the log, and say whether it is the same.

        Runs in this process and asks no service: it needs the extra `workers`, a credential that
        may read the log, and the compiler's fingerprint key in the settings. Raises `NotFound`.
        """
        from weft.audit.reproduce_from_log import reproduce_compile

        key = self.settings.fingerprint_key.encode()
        return await reproduce_compile(await self._link.opened(), self.tenant, compile_id, key)

    @property
    def operator(self) -> Operator:
        """Forking, comparing, moving, erasing and auditing: an operator's commands on the log."""
        return Operator(self.connection, self.settings)

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

    async def events(
        self, session: str, *, first: int = 1, follow: bool = False
    ) -> AsyncGenerator[LogRecord, None]:
        """The session's events as the log contains them, from sequence `first` on; with `follow` it
        continues with new ones. Needs a credential that may read the log."""
        check_type("first", first, int)
        first = max(1, first)
        await self._link.opened()
        if not follow:
            async for record in read_session(
                self.connection, self.tenant, session, after=first - 1
            ):
                yield record
            return
        subjects = stored_filter(self.tenant, session)
        async with Follower(self.connection, after=first - 1, subjects=subjects) as log:
            async for followed in log:
                for record in followed.records:
                    yield record

    async def _send(self, message: Message) -> Ack:
        return await self._link.publisher.publish(
            message.subject, message.payload, message.message_id, message.headers
        )

    async def _ask(
        self,
        session: str,
        service: str,
        request: msgspec.Struct,
        kind: type[Reply],
        wait: float = 0.0,
        answer: float | None = None,
    ) -> Reply:
        address, principal = (self.tenant, session, service), self.settings.principal
        connection = await self._link.opened()
        return await ask(connection, address, request, kind, wait, principal, answer)
