"""The gateway itself: upstreams, what they offer, what of it is trusted, and each call from a host
to an upstream and back through firewall and log. Knows the protocol's types, and no wire."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from weft import tokens
from weft.gateway import side_messages, tool_search
from weft.gateway.argument_validation import faults, refusal
from weft.gateway.arguments import filled, part_of, references
from weft.gateway.config import GatewayConfig
from weft.gateway.deployment import GatewayDeployment
from weft.gateway.handles import Handles, Known
from weft.gateway.hosts import LOG_LEVEL_META, Host, HostCall, Hosts, current
from weft.gateway.manifest import read, spec_digest
from weft.gateway.recording import call_item, refusal_item, result_item, slice_item
from weft.gateway.relay import safe_error
from weft.gateway.resource_names import with_names
from weft.gateway.results import LOOK, Guard, logged_text, passed, renamed, safe
from weft.gateway.rules import allowed, rule_of
from weft.gateway.state import Folder, GatewayState, Pinned, ServerState
from weft.gateway.tools import GatewayTool, gateway_tools, passed_names
from weft.gateway.trust import Pin, Quarantined, judge
from weft.gateway.upstream import Upstream
from weft.router.router import MOST_CARDS, Router
from weft_schemas.compile import DrilldownRequest
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem
from weft_schemas.routing import Catalog, Effect, RouteRequest, SelectableItem

LEARN_SECONDS = 20.0
"""How long a list waits for servers that were never seen before."""
AT_ONCE = 4
"""Servers that are started at a time to be learned."""
THREAD_CHARACTERS = 150_000
"""Of a result that is judged in a thread, so that others are not held up much longer than 10 ms."""
MOST_SHOWN = 4_000
"""Tokens of one look into a result."""

_log = logging.getLogger(__name__)


class Refused(Exception):
    """A call is not made. The text is for the model."""


class Gateway:
    """`async with Gateway(config, behind, folder) as gateway:`"""

    def __init__(
        self,
        config: GatewayConfig,
        behind: GatewayDeployment,
        folder: Folder,
        *,
        session: str = "",
        source: str = "",
        address: str = "",
    ) -> None:
        self.config = config
        self.options = config.options
        self.hosts = Hosts(session)
        self.tools: dict[str, GatewayTool] = {}
        self.quarantined: dict[str, Quarantined] = {}
        self.names: dict[str, str] = {}
        self.changed: Callable[[str], Awaitable[None]] = _nobody
        """Told `tools`, `prompts` or `resources` when what is offered has changed."""
        self.notified: Callable[[Upstream, types.ServerNotification], Awaitable[None]] = _unheard
        self.in_flight: dict[str, list[HostCall]] = {}
        self._source, self._address = source, address
        self._behind_opening = behind
        self._folder = folder
        self._router = Router([])
        self._tasks: set[asyncio.Task[Any]] = set()
        self._learned = asyncio.Event()
        self._pinned_before: dict[str, Pin] | None = None
        self._opened: asyncio.Future[GatewayDeployment]
        self._closing = asyncio.Event()
        self._handles: Handles | None = None
        self._published: tuple[str, ...] = ()
        self.upstreams = {
            spec.name: Upstream(
                spec,
                folder.manifest(spec.name, spec_digest(spec)),
                asked=self._asked,
                changed=self._changed_upstream,
                notified=self._notified_upstream,
                refused=self._refused_question,
            )
            for spec in config.servers.values()
        }

    async def __aenter__(self) -> Self:
        self._opened = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own())
        self._refresh()
        unknown = [one for one in self.upstreams.values() if one.manifest is None]
        self.spawn(self._learn(unknown))
        self._keep_state()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self.upstreams.values()))
        self._folder.forget_state()
        await asyncio.gather(self._owner, return_exceptions=True)

    async def log(self) -> GatewayDeployment:
        """The weft behind, once it is there. Raises `Unavailable`."""
        return await asyncio.shield(self._opened)

    # What is offered

    def searches(self, host: Host) -> bool:
        """Whether a host is given the search instead of all tools."""
        if self.options.mode != "auto":
            return self.options.mode == "search"
        if host.name.lower() in self.options.searching_hosts:
            return False
        if len(self.tools) > self.options.auto_tools:
            return True
        written = [msgspec.json.encode(tool.item).decode() for tool in self.tools.values()]
        return sum(map(tokens.count, written)) > self.options.auto_tokens

    async def known(self) -> None:
        """Wait a while for servers that were never seen before."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._learned.wait(), LEARN_SECONDS)

    async def find(self, call: HostCall, arguments: dict[str, Any]) -> types.CallToolResult:
        """The tools that fit a query, or those named, as text for a model."""
        await self.known()
        logged = call_item(tool_search.FIND, arguments, call.host.name)
        query, named = str(arguments.get("query") or ""), arguments.get("tools") or []
        top = min(int(arguments.get("limit") or self.options.find), MOST_CARDS)
        encoding = (await self.log()).settings.encoding
        if named:
            found = [(self._tool(str(one)), 1.0) for one in named[:MOST_CARDS]]
            text = tool_search.found_text(found, encoding, whole=True)
        elif query:
            reply = self._router.route(RouteRequest(query, self.options.catalog, top_k=top))
            found = [(self.tools[card.id], card.score) for card in reply.cards]
            doubt = "[None of these may fit: say it in other words.]" if reply.abstain else ""
            notes = [doubt, tool_search.quarantine_note(self.quarantined.values())]
            text = tool_search.found_text(found, encoding, notes=filter(None, notes))
        else:
            raise Refused("find_tools: give a query, or the ids of tools")
        await self._publish(call.host, logged, result_item(logged, text))
        return types.CallToolResult(content=[types.TextContent(text=text)])

    # A call

    async def call(
        self,
        call: HostCall,
        name: str,
        arguments: dict[str, Any],
        report: ProgressFnT,
        *,
        host_sees_it: bool,
        limit: int | None = None,
        meta: dict[str, Any] | None = None,
    ) -> types.CallToolResult:
        """Call `server:tool` for a host. Raises `MCPError` with what the upstream refuses."""
        logged = call_item(self.names.get(name, name), arguments, call.host.name)
        try:
            if name.partition("#")[0] not in (self.tools.keys() | self.names.keys()):
                await self.known()
            tool = self._tool(name)
            logged = _of(logged, tool)
            await self._permitted(call, tool, arguments, host_sees_it)
            sent = await self._filled(call, tool, arguments)
            wrong = faults(sent, tool.tool.input_schema)
            if wrong:
                raise Refused(refusal(tool.id, wrong, tool.tool.input_schema))
        except (Refused, WeftError) as error:
            return await self._refused(call.host, logged, str(error))
        logging = asyncio.ensure_future(self._publish(call.host, logged))
        if tool.effect is not Effect.READS:
            await logging  # before anything changes; of what only reads, before the answer
        try:
            result = await self._sent(call, tool, sent, report, meta)
            await logging
        except asyncio.CancelledError:
            self.spawn(self._publish(call.host, refusal_item(logged, "cancelled by the host")))
            raise
        except (WeftError, RuntimeError, ValidationError) as error:
            return await self._refused(call.host, logged, _reason(error, tool), logged_already=True)
        except MCPError as error:
            await self._publish(call.host, result_item(logged, error.message, is_error=True))
            raise safe_error(error, await self.guard(call.host)) from None
        named = with_names(result, tool.server)
        return await self._passed(call.host, logged, tool, named, limit)

    async def look(self, call: HostCall, arguments: dict[str, Any]) -> types.CallToolResult:
        """A slice of a result by its handle; never firewalled into another handle."""
        logged = call_item(LOOK, arguments, call.host.name)
        try:
            request = msgspec.convert(arguments, DrilldownRequest)
        except msgspec.ValidationError as error:
            raise Refused(f"{LOOK}: {error}") from None
        most = min(max(request.max_tokens, 1), MOST_SHOWN)
        handles = await self._ready_handles(call.host)
        try:
            reply = await handles.look(msgspec.structs.replace(request, max_tokens=most))
        except WeftError as error:
            return await self._refused(call.host, logged, str(error))
        more = f"\n[weft: goes on with {_written(reply.next)}]" if reply.next else ""
        item = slice_item(logged, reply.text, reply.handle, reply.seal, reply.sensitivity)
        await self._publish(call.host, logged, item)
        return types.CallToolResult(content=[types.TextContent(text=reply.text + more)])

    def _tool(self, name: str) -> GatewayTool:
        """By id, by id and hash, or by the name that hosts are told. Raises `Refused`."""
        tool_id, _, wanted = self.names.get(name, name).partition("#")
        tool = self.tools.get(tool_id)
        if tool is None:
            apart = self.quarantined.get(tool_id)
            if apart is not None:
                raise Refused(
                    f"{tool_id} is set apart: {apart.reason}. A person can look at it with `weft "
                    f"gateway status` and let it through: "
                    f"weft gateway approve '{apart.id}#{apart.hash}'"
                )
            near = self._router.route(RouteRequest(tool_id.replace(":", " "), "", top_k=3)).cards
            names = ", ".join(card.id for card in near) or "none"
            raise Refused(f"there is no tool {tool_id[:120]!r}; the nearest are {names}")
        if wanted and wanted != tool.hash:
            told = tool_search.found_text([(tool, 1.0)], tokens.DEFAULT_ENCODING, whole=True)
            raise Refused(
                f"{tool_id} has changed since {wanted} and was not called. It is now:\n{told}"
            )
        return tool

    async def _permitted(
        self, call: HostCall, tool: GatewayTool, arguments: dict[str, Any], host_sees_it: bool
    ) -> None:
        rule = rule_of(tool.id, tool.effect, self.options.tools, host_sees_it)
        if rule == "deny":
            raise Refused(f"{tool.id} is denied by this gateway's rules; do without it")
        if rule == "allow":
            return
        asked = types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message=f"Allow {tool.id} with {_written(arguments)[:1_000]}?",
                requested_schema={"type": "object", "properties": {}},
            )
        )
        answer = await call.ask(asked)
        if isinstance(answer, types.ElicitResult):
            if answer.action == "accept":
                return
            raise Refused(f"the user did not allow {tool.id}; do without it, or ask why")
        raise Refused(
            f"{tool.id} needs a person's consent, and this host cannot ask for it. A person can "
            f'allow it in the gateway\'s file: "weft": {{"tools": {{"{tool.id}": "allow"}}}}'
        )

    async def _filled(
        self, call: HostCall, tool: GatewayTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The arguments with the content of the handles in them. Raises `Refused`."""
        wanted = references(arguments)
        if not wanted:
            return arguments
        if not allowed(tool.id, self.options.handles):
            raise Refused(f"{tool.id} takes no handles by this gateway's rules; give it the text")
        behind = await self.log()
        floor = behind.policy(call.host.session)[1].sensitivity_floor
        handles = self._handles_of(behind)
        values = {}
        for one in wanted:
            text, level = await handles.whole(one.handle)
            if level.reaches(floor):
                raise Refused(
                    f"{one.handle} is {level.value}: it may not go to another tool ({tool.id})"
                )
            values[one] = part_of(text, one)
        made: dict[str, Any] = filled(arguments, values, tool.tool.input_schema)
        return made

    async def _sent(
        self,
        call: HostCall,
        tool: GatewayTool,
        arguments: dict[str, Any],
        report: ProgressFnT,
        meta: dict[str, Any] | None,
    ) -> types.CallToolResult:
        upstream = self.upstreams[tool.server]
        calls = self.in_flight.setdefault(tool.server, [])
        said = _passed_meta(meta, call)
        token = current.set(call)
        calls.append(call)
        try:
            return await upstream.use(
                lambda client: client.call_tool(
                    tool.name, arguments, progress_callback=report, meta=said
                )
            )
        finally:
            calls.remove(call)
            current.reset(token)

    async def _passed(
        self,
        host: Host,
        logged: ContextItem,
        tool: GatewayTool,
        result: types.CallToolResult,
        limit: int | None,
    ) -> types.CallToolResult:
        text, content_type = logged_text(result)
        item = result_item(logged, text, is_error=result.is_error, content_type=content_type)
        publishing = asyncio.create_task(self._kept(host, item))
        await asyncio.sleep(0)  # it is on its way to the log while it is judged
        try:
            behind = await self.log()
            guard = self._guard(behind, host.session)

            def judged() -> Any:
                return passed(
                    result,
                    item,
                    host.session,
                    guard,
                    limit=limit or self.options.limit,
                    query=logged.text[:2_000],
                    has_schema=tool.tool.output_schema is not None,
                )

            big = len(item.text) > THREAD_CHARACTERS
            done = await asyncio.to_thread(judged) if big else judged()
        finally:
            sequence = await publishing
        shown: types.CallToolResult = done.result
        if sequence is None:
            note = types.TextContent(text=_NOT_KEPT)
            return shown.model_copy(update={"content": [*shown.content, note]})
        if done.handle:
            handles = self._handles_of(behind)
            own = await handles.confirmed(host.session, item.id, sequence, done.handle)
            handles.remember(own, Known(item, host.session, sequence, done.envelope, guard))
            if own != done.handle:
                shown = renamed(shown, done.handle, own)
        return shown

    async def _kept(self, host: Host, item: ContextItem) -> int | None:
        """The result's place in the log; None where the log is away. What was done is done, and the
        model has to know of it."""
        try:
            return await self._publish(host, item)
        except WeftError as error:
            _log.error("a result is not in the log: %s", error)
            return None

    async def _refused(
        self, host: Host, logged: ContextItem, reason: str, *, logged_already: bool = False
    ) -> types.CallToolResult:
        item = refusal_item(logged, reason)
        await self._publish(host, *([item] if logged_already else [logged, item]))
        behind = await self.log()
        told = safe(reason, self._guard(behind, host.session))
        return types.CallToolResult(content=[types.TextContent(text=told)], is_error=True)

    async def _publish(self, host: Host, *items: ContextItem) -> int:
        behind = await self.log()
        return (await behind.client.publish(host.session, items)).sequence

    async def record(self, host: Host, name: str, arguments: dict[str, Any], said: str) -> None:
        """Log a request that is no call of a tool: a list, a resource, a prompt."""
        call = call_item(name, arguments, host.name)
        await self._publish(host, call, result_item(call, said))

    async def guard(self, host: Host) -> Guard:
        return self._guard(await self.log(), host.session)

    def _guard(self, behind: GatewayDeployment, session: str) -> Guard:
        version, policy = behind.policy(session)
        settings = behind.settings
        key = settings.fingerprint_key.encode()
        return Guard(policy.firewall, key, settings.tenant, settings.encoding, version)

    def _handles_of(self, behind: GatewayDeployment) -> Handles:
        if self._handles is None:
            self._handles = Handles(
                behind.client,
                lambda session: behind.policy(session)[1],
                lambda session: self._guard(behind, session),
                behind.is_own,
            )
        return self._handles

    async def _ready_handles(self, host: Host) -> Handles:
        return self._handles_of(await self.log())

    # Upstreams

    async def _asked(
        self, upstream: Upstream, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData:
        """An upstream's question, put to the host whose call it works on."""
        call = current.get()
        if call is None:
            calls = self.in_flight.get(upstream.name, [])
            if len({one.host.session for one in calls}) != 1:
                text = (
                    "no host's call is on the way"
                    if not calls
                    else "calls of several hosts are on the way, and it is unknown whose this is"
                )
                return types.ErrorData(code=types.INVALID_REQUEST, message=text)
            call = calls[-1]
        shown = side_messages.question(request, await self.guard(call.host))
        if shown is None:
            reason = f"server {upstream.name!r} asked {_UNASKABLE}"
            unasked = call_item(f"{upstream.name}:{request.method}", {}, upstream.name)
            self.spawn(self._publish(call.host, unasked, refusal_item(unasked, reason)))
            return types.ErrorData(code=types.INVALID_REQUEST, message=reason)
        asked = call_item(f"{upstream.name}:{request.method}", _params(shown), upstream.name)
        answer: types.InputResponse | types.ErrorData = await call.ask(shown)
        said = answer.message if isinstance(answer, types.ErrorData) else _dumped(answer)
        result = result_item(asked, said, is_error=isinstance(answer, types.ErrorData))
        self.spawn(self._publish(call.host, asked, result))
        return answer

    def _refused_question(self, upstream: Upstream, request: types.JSONRPCRequest) -> None:
        """A question that the file does not let a server ask, into the log of those who call it."""
        asked = call_item(f"{upstream.name}:{request.method}", request.params or {}, upstream.name)
        reason = f"server {upstream.name!r} may not ask the host's model by this gateway's file"
        for host in {one.host.session: one.host for one in self._calls_of(upstream)}.values():
            self.spawn(self._publish(host, asked, refusal_item(asked, reason)))

    def _calls_of(self, upstream: Upstream) -> list[HostCall]:
        return self.in_flight.get(upstream.name, [])

    async def _changed_upstream(self, upstream: Upstream) -> None:
        assert upstream.manifest is not None
        self._folder.keep_manifest(upstream.name, upstream.manifest)
        before = dict(self.tools)
        self._refresh()
        if before != self.tools:
            await self.changed("tools")
        await self.changed("prompts")
        await self.changed("resources")
        self._keep_state()

    async def _notified_upstream(self, upstream: Upstream, note: types.ServerNotification) -> None:
        await self.notified(upstream, note)

    def _pins(self, pins: Mapping[str, Pin]) -> Mapping[str, Pin]:
        """What is pinned; until all servers were seen once, what was pinned before and what was
        approved since: of two new servers the file's first keeps a name, not the faster one."""
        if self._learned.is_set():
            return pins
        if self._pinned_before is None:
            self._pinned_before = dict(pins)
        return self._pinned_before | {one: pin for one, pin in pins.items() if pin.approved}

    def _refresh(self) -> None:
        """Judge everything that is known of all servers anew."""
        offered: dict[str, GatewayTool] = {}
        for upstream in self.upstreams.values():
            if upstream.manifest is not None:
                offered |= gateway_tools(upstream.name, read(types.Tool, upstream.manifest.tools))
        with self._folder.locked():
            pinned = self._folder.pinned()
            strict = self.options.collisions == "quarantine"
            trust = judge(offered.values(), self._pins(pinned.pins), collisions=strict)
            others = {
                one.id: one
                for one in pinned.quarantined.values()
                if one.id.partition(":")[0] not in self.upstreams
            }
            now = Pinned(trust.pins, {**others, **trust.quarantined})
            if now != pinned:
                self._folder.keep_pinned(now)
        self.tools, self.quarantined = trust.trusted, trust.quarantined
        self.names = passed_names(self.tools)
        self._router.update(tool.item for tool in self.tools.values())
        self.spawn(self._publish_catalogue())

    async def reload(self) -> None:
        """Look at the pins again: a person approved something."""
        before = dict(self.tools)
        self._refresh()
        if before != self.tools:
            await self.changed("tools")

    async def _publish_catalogue(self) -> None:
        """The log's router knows what is offered here, too, and the past can be looked up."""
        behind = await self.log()
        version = tuple(f"{tool.id}#{tool.hash}" for tool in self.tools.values())
        if version == self._published or not version:
            return
        self._published = version
        items = tuple(tool.item for tool in self.tools.values())
        with contextlib.suppress(WeftError):
            if not await self._has_catalogue(behind, items):
                await behind.client.publish_catalog(Catalog(self.options.catalog, items))

    async def _has_catalogue(
        self, behind: GatewayDeployment, items: tuple[SelectableItem, ...]
    ) -> bool:
        """Whether the log's newest is this one: a gateway that starts again publishes nothing."""
        try:
            _, newest = await behind.client.catalog(self.options.catalog)
        except WeftError:
            return False
        return newest.items == items

    async def _learn(self, upstreams: list[Upstream]) -> None:
        """Start what was never seen before, a few at a time."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(upstream: Upstream) -> None:
            async with turns:
                with contextlib.suppress(WeftError):
                    await upstream.client()

        await asyncio.gather(*map(one, upstreams))
        self._learned.set()
        self._keep_state()

    async def _own(self) -> None:
        """Opens what is behind, and closes it, in one task."""
        try:
            async with self._behind_opening as behind:
                self._opened.set_result(behind)
                watching = asyncio.create_task(self._watch_pins())
                await self._closing.wait()
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
                self._opened.exception()
            elif not isinstance(error, asyncio.CancelledError):
                _log.exception("the log behind the gateway was lost")

    async def _watch_pins(self) -> None:
        """A person may approve tools while the gateway runs."""
        known = self._folder.stamp()
        while True:
            await asyncio.sleep(1.0)
            self._keep_state()
            if self._folder.stamp() != known:
                known = self._folder.stamp()
                await self.reload()
                known = self._folder.stamp()

    def _keep_state(self) -> None:
        per_server: dict[str, int] = {}
        for tool in self.tools.values():
            per_server[tool.server] = per_server.get(tool.server, 0) + 1
        servers = tuple(
            ServerState(
                one.name,
                one.state,
                per_server.get(one.name, 0),
                one.calls,
                one.failures,
                one.last_error,
                one.manifest.protocol if one.manifest else "",
            )
            for one in self.upstreams.values()
        )
        opened = self._opened.done() and not self._opened.exception()
        log = self._opened.result().settings.nats_url if opened else ""
        hosts = tuple(f"{host.name} ({host.session})" for host in self.hosts)
        state = GatewayState(
            os.getpid(), self._source, self.options.mode, log, servers, hosts, self._address
        )
        self._folder.keep_state(state)

    def spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("%s", error)


_UNASKABLE = (
    "what the host is not shown: it is too long, or a secret stands in an address or a field's name"
)
_NOT_KEPT = (
    "[weft: the log could not take this result: it was not recorded, and has no handle that lasts]"
)


def _of(logged: ContextItem, tool: GatewayTool) -> ContextItem:
    """The call under the tool's id, with the version that it goes to."""
    metadata = {**logged.metadata, "tool_name": tool.id, "tool_hash": tool.hash}
    return msgspec.structs.replace(logged, metadata=metadata)


def _passed_meta(meta: dict[str, Any] | None, call: HostCall) -> Any:
    """What a host says besides, without what belongs to the wire between it and the gateway."""
    kept = {
        key: value
        for key, value in (meta or {}).items()
        if key not in ("progressToken", "progress_token")
        and not key.startswith(("io.modelcontextprotocol/", "weft/"))
    }
    if call.log_level:
        kept[LOG_LEVEL_META] = call.log_level
    return kept or None


def _reason(error: Exception, tool: GatewayTool) -> str:
    if isinstance(error, WeftError):
        return str(error)
    return f"{tool.id} answered what does not fit its own description: {str(error)[:500]}"


def _params(request: Any) -> dict[str, Any]:
    written: dict[str, Any] = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    params: dict[str, Any] = written.get("params") or {}
    return params


def _dumped(model: Any) -> str:
    text: str = model.model_dump_json(by_alias=True, exclude_none=True)
    return text


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()


async def _nobody(_: str) -> None:
    return None


async def _unheard(_: Upstream, __: types.ServerNotification) -> None:
    return None
