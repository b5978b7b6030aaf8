"""The drill-down as a tool of a framework's model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import weft
from weft.client.drilldown import asked_slice
from weft_schemas.errors import InvalidInput, WeftError


class DrillDown:
    """weft's tool for the model, in a form that is independent of frameworks."""

    def __init__(self, client: weft.Client | weft.SyncClient) -> None:
        self._client = client
        tool = weft.drilldown_tool("openai")["function"]
        self.name: str = tool["name"]
        self.description: str = tool["description"]
        self.parameters: dict[str, Any] = tool["parameters"]

    async def __call__(self, arguments: Mapping[str, Any]) -> str:
        """The slice, or the fault of the call, for the model to read."""
        if isinstance(self._client, weft.SyncClient):
            return await asyncio.to_thread(self.now, arguments)
        try:
            asked = _slice_arguments(arguments)
            return (await self._client.drilldown(**asked)).text
        except _FAULTS as error:
            return _fault(error)

    def now(self, arguments: Mapping[str, Any]) -> str:
        """The same without an event loop."""
        if not isinstance(self._client, weft.SyncClient):
            raise InvalidInput("give a client of weft.connect_sync to run without an event loop")
        try:
            return self._client.drilldown(**_slice_arguments(arguments)).text
        except _FAULTS as error:
            return _fault(error)


_FAULTS = (WeftError, TypeError, ValueError)


def _slice_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    asked = asked_slice(arguments)
    named = {"handle": asked.handle, "view": asked.view, "max_tokens": asked.max_tokens}
    return {**asked.args, **named}


def _fault(error: Exception) -> str:
    kind = "" if isinstance(error, WeftError) else f"{type(error).__name__}: "
    return f"the drill-down failed: {kind}{error}"
