"""The complete definitions of the tools that a decision shows."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec

from weft.client.service_call import AsksService
from weft.messages.offered_tools import OfferedTools
from weft_schemas.errors import NotFound, UnknownVersion
from weft_schemas.routing import (
    HydrateRequest,
    HydrationResult,
    RouteReply,
    RouteRequest,
    SelectableItem,
)

Version = int | msgspec.UnsetType


async def routed_tools(ask: AsksService, session: str, decision: RouteReply) -> OfferedTools:
    """Those of the catalogue's version that was routed. Raises as `Client.tools` says."""
    version = decision.catalog_version or msgspec.UNSET
    try:
        return OfferedTools(decision, await _definitions(ask, session, decision, version))
    except UnknownVersion:
        with suppress(NotFound):
            tools = await _definitions(ask, session, decision, msgspec.UNSET)
            # Such a release tells the version only with a decision, which it records.
            request = RouteRequest("", decision.catalog, top_k=1)
            newest = await ask(session, "route", request, RouteReply)
            if newest.catalog_version == version:
                return OfferedTools(decision, tools)
        raise


async def _definitions(
    ask: AsksService, session: str, decision: RouteReply, version: Version
) -> tuple[SelectableItem, ...]:
    requests = [
        HydrateRequest(card.id, decision.catalog, catalog_version=version)
        for card in decision.cards
    ]
    asked = (ask(session, "hydrate", one, HydrationResult) for one in requests)
    return tuple(one.tool for one in await asyncio.gather(*asked))
