"""The tools of a request as one block: short lines when the model chooses a tool, the chosen tool's
schema when it makes the call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from weft.compiler.profiles import TOOLS_SHARE
from weft.compiler.rendering.chat_tokens import break_chat_tokens
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase
from weft_schemas.routing import (
    ChoiceCard,
    HydrationResult,
    SelectableItem,
    check_unambiguous,
)

TOOLS = "tools"
"""The section of the block."""
LINE = 160
"""Characters of a tool's line in phase route."""
VALUES = 3
"""Candidates shown for a parameter."""
BETWEEN = " | "
"""Between candidates: a comma can be part of one."""


def tools_entry(
    view: SessionView, request: CompileRequest, budget: int, count: Callable[[str], int]
) -> PackEntry | None:
    """The block for this phase, or None if the request offers no tools or none fits."""
    text = ""
    limit = int(budget * TOOLS_SHARE)
    if request.phase is Phase.ROUTE:
        text = _tool_lines(list(offered_tools(view, request)), limit, count)
    elif request.phase is Phase.CALL and isinstance(request.hydration, HydrationResult):
        text = _hydrated_schema(request.hydration, limit, count)
    elif request.phase is Phase.CALL and request.tool:
        chosen = _chosen(view, request)
        text = _tool_schema(chosen[0], limit, count) if chosen else ""
    if not text:
        return None
    return PackEntry(item_id="", kind=ItemKind.POLICY, text=text, section=TOOLS, view="tools")


def offered_tools(view: SessionView, request: CompileRequest) -> Iterator[dict[str, Any]]:
    """Id, name, description and parameters of each tool, from any of the accepted formats. The
    request's own tools have no id."""
    for tool in request.tools:
        inner = tool.get("function")
        given = inner if isinstance(inner, dict) else tool
        if given.get("name"):
            yield {
                "id": "",
                "name": str(given["name"]),
                "description": str(given.get("description") or ""),
                "parameters": _parameters(given),
            }
    if isinstance(request.hydration, HydrationResult):
        yield _tool_of_item(request.hydration.tool)
    if not isinstance(request.cards, msgspec.UnsetType):
        yield from map(_tool_of_card, request.cards)
    found = view.catalog(request.catalog) if request.catalog and reads_catalog(request) else None
    yield from map(_tool_of_item, found[1].items if found else ())


def check_chosen(view: SessionView, request: CompileRequest) -> None:
    """Raises `InvalidInput` if the request's tool is one of several of that name, and the router
    has not answered for it."""
    if request.tool and request.phase is Phase.CALL and reads_catalog(request):
        check_unambiguous(request.tool, [tool["id"] for tool in _chosen(view, request)])


def _chosen(view: SessionView, request: CompileRequest) -> list[dict[str, Any]]:
    """The tool that the request names by its id, or else those of that name."""
    tools = list(offered_tools(view, request))
    same_id = [tool for tool in tools if tool["id"] == request.tool]
    return same_id or [tool for tool in tools if tool["name"] == request.tool]


def reads_tools(request: CompileRequest) -> bool:
    """Whether the step needs tools: one is to be chosen, or was."""
    return request.phase is Phase.ROUTE or (request.phase is Phase.CALL and bool(request.tool))


def reads_catalog(request: CompileRequest) -> bool:
    """Whether the catalogue itself is read, since the router has not answered for it."""
    is_routed = isinstance(request.cards, tuple) or isinstance(request.hydration, HydrationResult)
    return bool(request.catalog) and reads_tools(request) and not is_routed


def _tool_of_item(item: SelectableItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": item.name,
        "description": item.description,
        "parameters": item.args_schema,
    }


def _tool_of_card(card: ChoiceCard) -> dict[str, Any]:
    """A card's line; warnings come before the description, which may be cut."""
    name = card.id if card.name in ("", card.id) else f"{card.id} ({card.name})"
    description = "; ".join(filter(None, (card.side_effects, card.note, card.description)))
    return {"id": card.id, "name": name, "description": description, "parameters": {}}


def parameter_names(view: SessionView, request: CompileRequest) -> frozenset[str]:
    """Every property name in the chosen tool's schema: the fields that the step will fill."""
    if request.phase is not Phase.CALL or not request.tool:
        return frozenset()
    is_hydrated = isinstance(request.hydration, HydrationResult)
    tools = offered_tools(view, request) if is_hydrated else _chosen(view, request)
    return frozenset(name for tool in tools for name in _properties(tool["parameters"]))


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("parameters", "input_schema", "inputSchema", "args_schema"):
        if isinstance(tool.get(key), dict):
            schema: Mapping[str, Any] = tool[key]
            return schema
    return {}


def _properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for held in schema.values():
            yield from _properties(held)
    elif isinstance(schema, list):
        for held in schema:
            yield from _properties(held)


def _tool_lines(tools: Sequence[Mapping[str, Any]], limit: int, count: Callable[[str], int]) -> str:
    """One line per tool, with descriptions cut until all tools fit. If not even all names fit, the
    first ones."""
    for length in (LINE, LINE // 2, LINE // 4, 0):
        lines = [_tool_line(tool, length) for tool in tools]
        text = "\n".join(["tools:", *lines])
        if tools and count(text + "\n") <= limit:
            return text
    chosen = ["tools:"]
    room = limit - count("tools:\n")
    for tool in tools:
        line = _tool_line(tool, 0)
        room -= count(line + "\n")
        if room < 0:
            break
        chosen.append(line)
    return "\n".join(chosen) if len(chosen) > 1 else ""


def _tool_line(tool: Mapping[str, Any], length: int) -> str:
    described = " ".join(tool["description"].split())
    if len(described) > length:
        described = described[: max(length - 1, 0)].rstrip() + "…" if length else ""
    name = " ".join(tool["name"].split())
    return break_chat_tokens(f"- {name}: {described}" if described else f"- {name}")


def _tool_schema(tool: Mapping[str, Any], limit: int, count: Callable[[str], int]) -> str:
    """The whole tool, or without its description, or only its name."""
    name, described = tool["name"], " ".join(tool["description"].split())
    schema = json.dumps(tool["parameters"], ensure_ascii=False, separators=(",", ":"))
    for text in (f"{name}: {described} {schema}", f"{name}: {schema}", name):
        written = "tool: " + break_chat_tokens(text)
        if count(written + "\n") <= limit:
            return written
    return ""


def _hydrated_schema(found: HydrationResult, limit: int, count: Callable[[str], int]) -> str:
    """The tool's schema, followed by as many of the values for its parameters as fit."""
    text = _tool_schema(_tool_of_item(found.tool), limit, count)
    if not text:
        return ""
    for name, candidates in found.values.items():
        values = BETWEEN.join(candidate.value for candidate in candidates[:VALUES])
        longer = f"{text}\n{break_chat_tokens(f'- {name} may be: {values}')}"
        if count(longer + "\n") > limit:
            break
        text = longer
    return text
