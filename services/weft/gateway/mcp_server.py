"""The gateway as an MCP server: the SDK's low-level server over the gateway's parts, for the
current protocol and the handshake era at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import ListenHandler

from weft.gateway.gateway import Gateway
from weft.gateway.hosts import safe_messages
from weft.gateway.hosts.host import Context, Host, HostCall, result_limit
from weft.gateway.hosts.notifications import Notifications
from weft.gateway.hosts.pagination import paged
from weft.gateway.hosts.pending_calls import PendingCalls
from weft.gateway.masking import Model, safe_models
from weft.gateway.prompts import listed_prompts, safe_completion, safe_prompt
from weft.gateway.protocol_errors import as_protocol_errors, masking_of
from weft.gateway.resources import (
    listed_resources,
    listed_templates,
    safe_resource,
    server_uri,
)
from weft.gateway.results.handle_references import MARK
from weft.gateway.tasks.handlers import TaskHandlers
from weft.gateway.tools import own_tools
from weft.gateway.tools.argument_validation import faults, refusal_text
from weft.gateway.tools.call_refused import CallRefused
from weft.gateway.tools.listing import host_tool
from weft.gateway.upstream.upstream import Upstream
from weft_schemas.errors import WeftError

NAME = "weft"


class GatewayHandlers:
    """The handlers of one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._pending_calls = PendingCalls()
        notifications = Notifications(
            gateway.hosts, gateway.log, gateway.questions, gateway.catalogue.searches
        )
        self._listen = ListenHandler(notifications.bus)
        gateway.changed = notifications.changed
        gateway.notified = notifications.notified

    def server(self) -> Server[Any]:
        """The SDK's server, which can run on any transport."""
        server: Server[Any] = Server(
            NAME,
            version=version("weft"),
            title="weft gateway",
            instructions=self._instructions(),
            get_tool_input_schema=lambda name: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen_to_changes,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.add_request_handler(
            "logging/setLevel", types.SetLevelRequestParams, self._set_log_level
        )
        TaskHandlers(self._gateway).register(server)
        return server

    def _instructions(self) -> str:
        count = len(self._gateway.upstreams)
        return (
            f"Tools of {count} servers behind one gateway. Where {own_tools.FIND} is listed, "
            f"find tools with it and call them with {own_tools.CALL}. Long results come "
            f"shortened with a handle; {own_tools.LOOK} shows the rest."
        )

    # Tools

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        gateway = self._gateway
        host = gateway.hosts.of(context)
        if gateway.options.mode != "search":
            await gateway.catalogue.wait_until_known()
        searches = host.lists_search = gateway.catalogue.searches(host)
        tools = own_tools.SEARCH_TOOLS if searches else self._passed_tools()
        page, cursor = await self._page(context, tools, params)
        said = f"{len(tools)} tools: " + ", ".join(tool.name for tool in page)
        self._record(host, "tools/list", params, said)
        return types.ListToolsResult(tools=page, next_cursor=cursor)

    def _passed_tools(self) -> list[types.Tool]:
        catalogue = self._gateway.catalogue
        servers = [host_tool(catalogue.tools[key], name) for name, key in catalogue.names.items()]
        return [*servers, own_tools.LOOK_TOOL]

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        host = self._gateway.hosts.of(context)
        call = HostCall(host, context)
        return await self._pending_calls.run(
            call,
            lambda: self._called_tool(call, params),
            params.input_responses,
            params.request_state,
        )

    async def _called_tool(
        self, call: HostCall, params: types.CallToolRequestParams
    ) -> types.CallToolResult | dict[str, Any]:
        arguments = params.arguments or {}
        try:
            own = own_tools.BY_NAME.get(params.name)
            wrong = faults(arguments, own.input_schema) if own is not None else []
            if own is not None and wrong:
                raise CallRefused(refusal_text(own.name, wrong, own.input_schema))
            match params.name:
                case own_tools.FIND:
                    return await self._gateway.calls.find(call, arguments)
                case own_tools.LOOK:
                    return await self._gateway.calls.look(call, arguments)
                case own_tools.CALL:
                    tool, inner = arguments["tool"], arguments.get("arguments") or {}
                    try:
                        return await self._call_upstream(call, tool, inner, False, params)
                    except MCPError as error:
                        raise CallRefused(f"{tool}: {error.message}") from None
                case _:
                    # A tool that the host was not told about is called without its user having seen
                    # it.
                    sees = not self._gateway.catalogue.searches(call.host)
                    return await self._call_upstream(call, params.name, arguments, sees, params)
        except WeftError as error:
            text = types.TextContent(text=str(error))
            return types.CallToolResult(content=[text], is_error=True)

    async def _call_upstream(
        self,
        call: HostCall,
        name: str,
        arguments: dict[str, Any],
        sees: bool,
        params: types.CallToolRequestParams,
    ) -> types.CallToolResult | dict[str, Any]:
        session, meta = call.context.session, dict(params.meta or {})

        masking = await self._gateway.log.masking(call.host)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            shown = safe_messages.progress_message(message, masking)
            await session.report_progress(progress, total, shown)

        result = await self._gateway.calls.call(
            call,
            name,
            arguments,
            report,
            host_sees_it=sees,
            limit=result_limit(meta),
            meta=meta,
        )
        if not isinstance(result, types.CallToolResult):
            return result
        structured = result.structured_content
        if not sees and isinstance(structured, dict) and MARK in structured:
            # The host was told no output schema.
            return result.model_copy(update={"structured_content": None})
        return result

    # Resources and prompts

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        upstreams = await self._listing(context, "resources/list", params)
        page, cursor = await self._page(context, listed_resources(upstreams), params)
        return types.ListResourcesResult(resources=page, next_cursor=cursor)

    async def _list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        upstreams = await self._listing(context, "resources/templates/list", params)
        page, cursor = await self._page(context, listed_templates(upstreams), params)
        return types.ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> Any:
        upstream, uri = self._upstream_and_uri(params.uri)
        call = HostCall(self._gateway.hosts.of(context), context)
        masking = await masking_of(self._gateway.log, call.host)

        async def work() -> types.ReadResourceResult:
            result = await self._use(call, upstream, lambda client: client.read_resource(uri))
            shown, said = safe_resource(result, upstream.name, masking)
            await self._gateway.log.record(call.host, "resources/read", {"uri": params.uri}, said)
            return shown

        return await self._pending_calls.run(
            call, work, params.input_responses, params.request_state
        )

    async def _list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        upstreams = await self._listing(context, "prompts/list", params)
        prompts = [prompt for _, _, prompt in listed_prompts(upstreams).values()]
        page, cursor = await self._page(context, prompts, params)
        return types.ListPromptsResult(prompts=page, next_cursor=cursor)

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        await self._gateway.catalogue.wait_until_known()
        upstream, name = self._upstream_and_prompt(params.name)
        call = HostCall(self._gateway.hosts.of(context), context)
        masking = await masking_of(self._gateway.log, call.host)

        async def work() -> types.GetPromptResult:
            result = await self._use(
                call, upstream, lambda client: client.get_prompt(name, params.arguments)
            )
            shown, said = safe_prompt(result, upstream.name, masking)
            await self._gateway.log.record(call.host, "prompts/get", {"name": params.name}, said)
            return shown

        return await self._pending_calls.run(
            call, work, params.input_responses, params.request_state
        )

    async def _complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        await self._gateway.catalogue.wait_until_known()
        ref: Any
        if isinstance(params.ref, types.PromptReference):
            upstream, name = self._upstream_and_prompt(params.ref.name)
            ref = params.ref.model_copy(update={"name": name})
        else:
            upstream, uri = self._upstream_and_uri(params.ref.uri)
            ref = params.ref.model_copy(update={"uri": uri})
        argument = {"name": params.argument.name, "value": params.argument.value}
        given = params.context.arguments if params.context else None
        call = HostCall(self._gateway.hosts.of(context), context)
        result: types.CompleteResult = await self._use(
            call, upstream, lambda client: client.complete(ref, argument, given)
        )
        return safe_completion(result, await masking_of(self._gateway.log, call.host))

    async def _subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        upstream, uri = self._upstream_and_uri(params.uri)
        self._gateway.hosts.of(context).subscribed.add(params.uri)
        await upstream.subscribe(uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        upstream, uri = self._upstream_and_uri(params.uri)
        self._gateway.hosts.of(context).subscribed.discard(params.uri)
        if not any(params.uri in host.subscribed for host in self._gateway.hosts):
            await upstream.subscribe(uri, wanted=False)
        return types.EmptyResult()

    async def _listen_to_changes(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = params.notifications.resource_subscriptions or []
        for upstream, uri in [self._upstream_and_uri(uri) for uri in wanted if server_uri(uri)]:
            with contextlib.suppress(WeftError, MCPError):
                await upstream.subscribe(uri)
        return await self._listen(context, params)

    async def _set_log_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        hosts = self._gateway.hosts
        hosts.of(context).log_level = params.level
        upstreams = self._gateway.upstreams.values()
        await asyncio.gather(*(upstream.set_log_level(hosts.log_level) for upstream in upstreams))
        return types.EmptyResult()

    async def _page(
        self,
        context: Context,
        entries: Sequence[Model],
        params: types.PaginatedRequestParams | None,
    ) -> tuple[list[Model], str | None]:
        """A page of a list without secrets, and the next page's cursor."""
        page, cursor = paged(entries, params)
        masking = await masking_of(self._gateway.log, self._gateway.hosts.of(context))
        return safe_models(page, masking), cursor

    # Servers of a request, and the log

    async def _listing(
        self, context: Context, method: str, params: types.PaginatedRequestParams | None
    ) -> list[Upstream]:
        """Records that a list was asked for; returns the servers whose entries it has."""
        await self._gateway.catalogue.wait_until_known()
        self._record(self._gateway.hosts.of(context), method, params, "listed")
        return list(self._gateway.upstreams.values())

    def _record(
        self, host: Host, method: str, params: types.PaginatedRequestParams | None, said: str
    ) -> None:
        """Listing changes nothing, so the host does not wait until it is logged."""
        cursor = {"cursor": params.cursor} if params and params.cursor else {}
        self._gateway.background.spawn(self._gateway.log.record(host, method, cursor, said))

    def _upstream_and_uri(self, uri: str) -> tuple[Upstream, str]:
        server, own_uri = server_uri(str(uri)) or ("", "")
        upstream = self._gateway.upstreams.get(server)
        if upstream is None:
            text = f"no server here has the resource {str(uri)[:200]!r}; list the resources"
            raise MCPError(types.INVALID_PARAMS, text)
        return upstream, own_uri

    def _upstream_and_prompt(self, name: str) -> tuple[Upstream, str]:
        listed = listed_prompts(self._gateway.upstreams.values()).get(name)
        if listed is None:
            raise MCPError(types.INVALID_PARAMS, f"no prompt {name[:200]!r}; list the prompts")
        upstream, own_name, _ = listed
        return upstream, own_name

    async def _use(self, call: HostCall, upstream: Upstream, work: Callable[[Any], Any]) -> Any:
        """Runs `work` with the upstream's client, for a host's call."""
        with self._gateway.questions.working(upstream, call):
            return await as_protocol_errors(self._gateway.log, call, upstream.use(work))

    async def close(self) -> None:
        self._listen.close()
        await self._pending_calls.close()
