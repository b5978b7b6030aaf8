"""The answer to a search for tools: a few tools, each with what is needed to call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from weft import tokens
from weft.gateway.protocol_json import as_json
from weft.gateway.tools.own_tools import FIND
from weft.gateway.tools.quarantine import Quarantined
from weft.gateway.tools.tool import GatewayTool
from weft.router.cards import card_of, one_line

SCHEMA_TOKENS = 400
"""Longest schema of a tool in a search's answer; of a longer one, an outline is given."""
_MAX_DESCRIPTION_LENGTH = 100
"""Characters of a parameter's description in an outline."""


def found_text(
    tools: Sequence[tuple[GatewayTool, float]],
    encoding: str,
    *,
    whole: bool = False,
    notes: Iterable[str] = (),
) -> str:
    """The tools, best first, as text for a model; with `whole`, all that is known about each."""
    blocks = [_block(tool, encoding, whole) for tool, _ in tools]
    return "\n\n".join([*blocks, *notes]) or "No tool fits; say it in other words."


def _block(tool: GatewayTool, encoding: str, whole: bool) -> str:
    card = card_of(tool.item, 0.0, "", encoding)
    description = card.description
    if whole:
        description = one_line(tool.tool.description or "")
    effect = f" ({card.side_effects})" if card.side_effects else ""
    lines = [f"{tool.id}{effect}", f"  {description}" if description else ""]
    lines.append(f"  arguments: {arguments_text(tool.tool.input_schema, encoding, whole)}")
    if whole:
        lines.append(f"  version: {tool.id}#{tool.hash}")
    return "\n".join(filter(None, lines))


def arguments_text(schema: dict[str, Any], encoding: str, whole: bool = False) -> str:
    """The schema as JSON, or a long one's outline and how to get the rest."""
    shown = {key: value for key, value in schema.items() if key not in ("$schema", "title")}
    written = as_json(shown)
    if whole or tokens.count(written, encoding) <= SCHEMA_TOKENS:
        return written
    return f"{_outline(schema)} — an outline; {FIND}(tools=[id]) gives the whole schema"


def _outline(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    fields = [
        f"{name}{'' if name in required else '?'}: {_kind(field)}{_remark(field)}"
        for name, field in schema.get("properties", {}).items()
        if isinstance(field, dict)
    ]
    return "{" + "; ".join(fields) + "}"


def _kind(field: dict[str, Any]) -> str:
    if isinstance(field.get("enum"), list):
        return "|".join(map(str, field["enum"][:8]))
    kind = field.get("type", "any")
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _remark(field: dict[str, Any]) -> str:
    text = one_line(str(field.get("description", "")))
    return f" ({text[:_MAX_DESCRIPTION_LENGTH]})" if text else ""


def quarantine_note(quarantined: Iterable[Quarantined]) -> str:
    """A note that some tools are not offered, and what a person can do."""
    ids = sorted(tool.id for tool in quarantined)
    if not ids:
        return ""
    shown = ", ".join(one_line(name) for name in ids[:3]) + (", …" if len(ids) > 3 else "")
    return (
        f"[{len(ids)} tools are quarantined until a person approves them ({shown}): "
        "`weft gateway status` says why]"
    )
