"""A call from a host to a server and back: whether it is allowed, handles in its arguments
replaced, its result checked and shortened. Each step is logged before the next one begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from weft.gateway.background import Background
from weft.gateway.configuration.call_rules import allowed, rule_of
from weft.gateway.configuration.config import Options
from weft.gateway.hosts.host import LOG_LEVEL_META, Host, HostCall
from weft.gateway.hosts.questions import Questions
from weft.gateway.log.host_log import HostLog
from weft.gateway.log.items import call_item, refusal_item, result_item, slice_item
from weft.gateway.masking import safe, safe_error
from weft.gateway.protocol_json import as_json
from weft.gateway.resources import with_gateway_uris
from weft.gateway.results.handle_references import filled, part_of, references
from weft.gateway.results.handles import ReceivedResult
from weft.gateway.results.host_result import logged_text, misfit, passed, renamed
from weft.gateway.tasks.calls import TaskCalls
from weft.gateway.tasks.protocol import BecameTask, call_tool, cancel, outcome
from weft.gateway.tools.argument_validation import faults, refusal_text
from weft.gateway.tools.call_refused import CallRefused
from weft.gateway.tools.catalogue import ToolCatalogue
from weft.gateway.tools.own_tools import FIND, LOOK
from weft.gateway.tools.tool import GatewayTool
from weft.gateway.upstream.protocol_version import is_modern
from weft.gateway.upstream.upstream import Upstream
from weft.secrets.marked_arguments import MarkedArgument, marked_arguments, masked_values, refusal
from weft_schemas.compile import DrilldownRequest
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem
from weft_schemas.routing import Effect

_log = logging.getLogger(__name__)

THREAD_CHARACTERS = 150_000
"""Longest result that is checked in the event loop's thread; longer ones would hold up others for
more than 10 ms."""
MAX_SHOWN = 4_000
"""Tokens of one slice of a result."""


class Calls:
    """Makes the calls of all hosts: to servers' tools, and to the gateway's own."""

    def __init__(
        self,
        options: Options,
        upstreams: Mapping[str, Upstream],
        catalogue: ToolCatalogue,
        log: HostLog,
        questions: Questions,
        background: Background,
    ) -> None:
        self._options = options
        self._upstreams = upstreams
        self._catalogue = catalogue
        self._log = log
        self._questions = questions
        self._background = background
        self.tasks = TaskCalls(upstreams, catalogue, log, questions, self._passed)

    async def find(self, call: HostCall, arguments: dict[str, Any]) -> types.CallToolResult:
        """The tools that fit a query, or the named tools, as text for a model. Raises
        `CallRefused`."""
        logged = call_item(FIND, arguments, call.host.name)
        masking = await self._log.masking(call.host)
        text = safe(await self._catalogue.find(arguments, masking.encoding), masking)
        await self._log.publish(call.host, logged, result_item(logged, text))
        return types.CallToolResult(content=[types.TextContent(text=text)])

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
    ) -> types.CallToolResult | dict[str, Any]:
        """Call `server:tool` for a host. Returns a task if the server makes one of the call and the
        host accepts tasks. Raises `MCPError` with the server's refusal."""
        logged = call_item(self._catalogue.names.get(name, name), arguments, call.host.name)
        try:
            if not self._catalogue.has(name):
                await self._catalogue.wait_until_known()
            tool = self._catalogue.tool(name, host_sees_it)
            logged = _with_tool(logged, tool)
            _check_marks(tool, marked_arguments(arguments))
            await self._permitted(call, tool, arguments, host_sees_it)
            sent = await self._filled(call, tool, arguments)
            # A handle stands for a result as it may be shown, which may well hold marks.
            _check_marks(tool, masked_values(sent))
            _check_arguments(tool, sent)
        except WeftError as error:
            return await self._refused(call.host, logged, str(error))
        return await self._made(call, logged, tool, sent, report, limit, meta)

    async def _made(
        self,
        call: HostCall,
        logged: ContextItem,
        tool: GatewayTool,
        sent: dict[str, Any],
        report: ProgressFnT,
        limit: int | None,
        meta: dict[str, Any] | None,
    ) -> types.CallToolResult | dict[str, Any]:
        """Make a permitted call, and log it with what came of it."""
        logging = asyncio.ensure_future(self._log.publish(call.host, logged))
        if tool.effect is not Effect.READS:
            await logging  # before anything changes; else before the answer
        try:
            result = await self._sent(call, tool, sent, report, meta)
            await logging
        except asyncio.CancelledError:
            item = refusal_item(logged, "cancelled by the host")
            self._background.spawn(self._record(call.host, logging, logged, item))
            raise
        except BecameTask as became:
            await logging
            return await self.tasks.began(call.host, logged, tool, became.task)
        except (WeftError, RuntimeError, ValidationError) as error:
            return await self._refused(call.host, logged, _reason(error, tool), logging)
        except MCPError as error:
            self._upstreams[tool.server].errors += 1
            item = result_item(logged, error.message, is_error=True)
            await self._record(call.host, logging, logged, item)
            raise safe_error(error, await self._log.masking(call.host)) from None
        self._upstreams[tool.server].errors += bool(result.is_error)
        named = with_gateway_uris(result, tool.server)
        return await self._passed(call.host, logged, tool, named, limit)

    async def look(self, call: HostCall, arguments: dict[str, Any]) -> types.CallToolResult:
        """A slice of a result, by the result's handle. It is never replaced by another handle."""
        logged = call_item(LOOK, arguments, call.host.name)
        try:
            request = msgspec.convert(arguments, DrilldownRequest)
        except msgspec.ValidationError as error:
            raise CallRefused(f"{LOOK}: {error}") from None
        most = min(max(request.max_tokens, 1), MAX_SHOWN)
        handles = await self._log.handles()
        try:
            reply = await handles.look(msgspec.structs.replace(request, max_tokens=most))
        except WeftError as error:
            return await self._refused(call.host, logged, str(error))
        more = f"\n[weft: goes on with {as_json(reply.next)}]" if reply.next else ""
        item = slice_item(logged, reply.text, reply.handle, reply.seal, reply.sensitivity)
        await self._log.publish(call.host, logged, item)
        return types.CallToolResult(content=[types.TextContent(text=reply.text + more)])

    async def _permitted(
        self, call: HostCall, tool: GatewayTool, arguments: dict[str, Any], host_sees_it: bool
    ) -> None:
        rule = rule_of(tool.id, tool.effect, self._options.tools, host_sees_it)
        if rule == "deny":
            raise CallRefused(f"{tool.id} is denied by this gateway's rules; do without it")
        if rule == "allow":
            return
        asked = types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message=f"Allow {tool.id} with {as_json(arguments)[:1_000]}?",
                requested_schema={"type": "object", "properties": {}},
            )
        )
        answer = await call.ask(asked)
        if isinstance(answer, types.ElicitResult):
            if answer.action == "accept":
                return
            raise CallRefused(f"the user did not allow {tool.id}; do without it, or ask why")
        raise CallRefused(
            f"{tool.id} needs a person's consent, and this host cannot ask for it. A person can "
            f'allow it in the gateway\'s file: "weft": {{"tools": {{"{tool.id}": "allow"}}}}'
        )

    async def _filled(
        self, call: HostCall, tool: GatewayTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The arguments with handles replaced by their content. Raises `CallRefused`."""
        wanted = references(arguments)
        if not wanted:
            return arguments
        if not allowed(tool.id, self._options.handles):
            raise CallRefused(
                f"{tool.id} takes no handles by this gateway's rules; give it the text"
            )
        _, policy = (await self._log.deployment()).policy(call.host.session)
        handles = await self._log.handles()
        values = {}
        for reference in wanted:
            text, level = await handles.whole(reference.handle)
            if level.reaches(policy.sensitivity_floor):
                raise CallRefused(
                    f"{reference.handle} is {level.value}: it may not go to another tool "
                    f"({tool.id})"
                )
            values[reference] = part_of(text, reference)
        with_values: dict[str, Any] = filled(arguments, values, tool.tool.input_schema)
        return with_values

    async def _sent(
        self,
        call: HostCall,
        tool: GatewayTool,
        arguments: dict[str, Any],
        report: ProgressFnT,
        meta: dict[str, Any] | None,
    ) -> types.CallToolResult:
        upstream = self._upstreams[tool.server]
        said = _passed_meta(meta, call)

        async def asked(question: types.InputRequest) -> Any:
            return await self._questions.ask(upstream, question)

        async def work(client: Client) -> types.CallToolResult:
            try:
                return await call_tool(client, tool.tool, arguments, report, said)
            except BecameTask as became:
                if call.takes_tasks and is_modern(client):
                    raise
                task = became.task
            try:
                return await outcome(client, tool.name, task, asked, report)
            except asyncio.CancelledError:
                self._background.spawn(cancel(client, task.task_id))
                raise

        with self._questions.working(upstream, call):
            return await upstream.use(work)

    async def _passed(
        self,
        host: Host,
        logged: ContextItem,
        tool: GatewayTool,
        result: types.CallToolResult,
        limit: int | None,
        item_id: str = "",
    ) -> types.CallToolResult:
        text, content_type = logged_text(result)
        item = result_item(logged, text, is_error=result.is_error, content_type=content_type)
        if item_id:
            item = msgspec.structs.replace(item, id=item_id)
        publishing = asyncio.create_task(self._log.keep(host, item))
        await asyncio.sleep(0)  # it is written to the log while it is checked
        try:
            masking = await self._log.masking(host)

            def judged() -> Any:
                return passed(
                    result,
                    item,
                    host.session,
                    masking,
                    limit=limit or self._options.limit,
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
        if not done.handle:
            return shown
        received = ReceivedResult(item, host.session, sequence, done.envelope, masking)
        own = await self._own_handle(done.handle, received)
        return shown if own == done.handle else renamed(shown, done.handle, own)

    async def _own_handle(self, handle: str, received: ReceivedResult) -> str:
        """The handle under which a published result can be found, remembered from now on."""
        handles = await self._log.handles()
        own = await handles.confirmed(received.session, received.item.id, received.sequence, handle)
        handles.remember(own, received)
        return own

    async def _record(
        self, host: Host, logging: asyncio.Future[int], logged: ContextItem, item: ContextItem
    ) -> None:
        """Log how a call ended, after the call itself, which is not in the log if `logging` was
        cancelled or failed."""
        await asyncio.wait([logging])
        is_logged = not logging.cancelled() and logging.exception() is None
        await self._log.publish(host, *([item] if is_logged else [logged, item]))

    async def _refused(
        self,
        host: Host,
        logged: ContextItem,
        reason: str,
        logging: asyncio.Future[int] | None = None,
    ) -> types.CallToolResult:
        item = refusal_item(logged, reason)
        if logging is None:
            await self._log.publish(host, logged, item)
        else:
            await self._record(host, logging, logged, item)
        text = safe(reason, await self._log.masking(host))
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


_NOT_KEPT = (
    "[weft: the log could not take this result: it was not recorded, and has no handle that lasts]"
)


def _check_marks(tool: GatewayTool, found: list[MarkedArgument]) -> None:
    """Raises `CallRefused` for arguments with the mark of a masked secret."""
    if found:
        told = refusal(tool.id, found)
        _log.warning("%s", told)
        raise CallRefused(told)


def _check_arguments(tool: GatewayTool, arguments: dict[str, Any]) -> None:
    """Raises `CallRefused` with what does not fit the tool's schema."""
    wrong = faults(arguments, tool.tool.input_schema)
    if wrong:
        raise CallRefused(refusal_text(tool.id, wrong, tool.tool.input_schema))


def _with_tool(logged: ContextItem, tool: GatewayTool) -> ContextItem:
    """The call with the tool's id and version."""
    metadata = {**logged.metadata, "tool_name": tool.id, "tool_hash": tool.hash}
    return msgspec.structs.replace(logged, metadata=metadata)


def _passed_meta(meta: dict[str, Any] | None, call: HostCall) -> Any:
    """The host's metadata for the call, without the fields that belong to its connection with the
    gateway."""
    fields = {
        key: value
        for key, value in (meta or {}).items()
        if key not in ("progressToken", "progress_token")
        and not key.startswith(("io.modelcontextprotocol/", "weft/"))
    }
    if call.log_level:
        fields[LOG_LEVEL_META] = call.log_level
    return fields or None


def _reason(error: Exception, tool: GatewayTool) -> str:
    if isinstance(error, WeftError):
        return str(error)
    return misfit(tool.id, error)
