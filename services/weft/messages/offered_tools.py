"""Routed tools as they are offered to a model, and a check of the model's choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from weft.messages.argument_validation import faults
from weft.messages.definitions import definition, merged, name_in
from weft.messages.reading import ToolCall, tool_call
from weft.messages.writing import PROVIDERS, Provider
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import RouteReply, SelectableItem, check_unambiguous


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
        name, or its id if another has the same name. Raises `InvalidInput` if two cannot be told
        apart even so."""
        named = self._named()
        for name, _ in named:
            _check_one(name, [tool for other, tool in named if _is_same(name, other)])
        made = [
            definition(provider, name, tool.description or tool.name, tool.args_schema)
            for name, tool in named
        ]
        return merged(provider, made)

    def selected(self, call: Any) -> Selection:
        """The model's choice, from its call in any provider's form.

        Raises `InvalidInput` for a tool that was not offered, and for arguments that do not fit its
        schema. The message is for the model: return it as the call's failed result.
        """
        made = tool_call(call)
        named = self._named()
        found = [tool for name, tool in named if _is_name(made.name, name)]
        if found:
            exact = [tool for tool in found if tool.id == made.name]
            _check_one(made.name, exact or found)
            return Selection((exact or found)[0], _checked(made, (exact or found)[0]), made)
        names = ", ".join(name_in("openai", name) for name, _ in named) or "none"
        raise InvalidInput(f"there is no tool {made.name!r} here; call one of these: {names}")

    def _named(self) -> list[tuple[str, SelectableItem]]:
        return [(_label(tool, self.tools), tool) for tool in self.tools]


def _label(tool: SelectableItem, tools: Sequence[SelectableItem]) -> str:
    """Its name, unless another tool may be called by it."""
    others = (other for other in tools if other is not tool)
    taken = any(_is_same(tool.name, one) for other in others for one in (other.name, other.id))
    return tool.id if taken else tool.name


def _is_same(one: str, other: str) -> bool:
    return name_in("openai", one) == name_in("openai", other)


def _is_name(called: str, name: str) -> bool:
    return any(called == name_in(provider, name) for provider in PROVIDERS)


def _check_one(name: str, tools: Sequence[SelectableItem]) -> None:
    check_unambiguous(name, [tool.id for tool in tools])


def _checked(call: ToolCall, tool: SelectableItem) -> dict[str, Any]:
    if call.arguments is None:
        raise InvalidInput(f"the arguments of {call.name} are no JSON object; call again with one")
    found = faults(call.arguments, tool.args_schema)
    if found:
        raise InvalidInput(f"{call.name} was not called: {'; '.join(found)}; call again")
    return call.arguments
