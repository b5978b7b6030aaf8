"""Routed tools as they are offered to a model, and a check of the model's choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from weft.messages.argument_validation import faults
from weft.messages.definitions import definition, merged, name_in
from weft.messages.reading import ToolCall, tool_call
from weft.messages.writing import PROVIDERS, Provider
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import RouteReply, SelectableItem


class Selection(msgspec.Struct, frozen=True):
    """A call of an offered tool, with arguments that fit its schema."""

    tool: SelectableItem
    arguments: dict[str, Any]
    call: ToolCall


class OfferedTools(msgspec.Struct, frozen=True):
    """The tools of a routing decision, with their full definitions."""

    decision: RouteReply
    tools: tuple[SelectableItem, ...]
    """In the order of the cards."""

    def definitions(self, provider: Provider) -> list[dict[str, Any]]:
        """For the `tools` of a request (for Gemini: of its `config`), best first. A tool has its
        name, or its id if two have the same name."""
        made = [
            definition(provider, name, tool.description or tool.name, tool.args_schema)
            for name, tool in self._named()
        ]
        return merged(provider, made)

    def selected(self, call: Any) -> Selection:
        """The model's choice, from its call in any provider's form.

        Raises `InvalidInput` for a tool that was not offered, and for arguments that do not fit its
        schema. The message is for the model: return it as the call's failed result.
        """
        made = tool_call(call)
        for name, tool in self._named():
            if any(made.name == name_in(provider, name) for provider in PROVIDERS):
                return Selection(tool, _checked(made, tool), made)
        names = ", ".join(name_in("openai", name) for name, _ in self._named()) or "none"
        raise InvalidInput(f"there is no tool {made.name!r} here; call one of these: {names}")

    def _named(self) -> list[tuple[str, SelectableItem]]:
        names = [name_in("openai", tool.name) for tool in self.tools]
        label = partial(_label, names)
        return [(label(at, tool), tool) for at, tool in enumerate(self.tools)]


def _label(names: Sequence[str], at: int, tool: SelectableItem) -> str:
    return tool.id if names.count(names[at]) > 1 else tool.name


def _checked(call: ToolCall, tool: SelectableItem) -> dict[str, Any]:
    if call.arguments is None:
        raise InvalidInput(f"the arguments of {call.name} are no JSON object; call again with one")
    found = faults(call.arguments, tool.args_schema)
    if found:
        raise InvalidInput(f"{call.name} was not called: {'; '.join(found)}; call again")
    return call.arguments
