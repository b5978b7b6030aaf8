"""Which tools are quarantined, that is, not offered until a person approves them: those whose
description changed since it was pinned, when it was first seen; those that take the name of another
server's tool; and those whose description gives orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from weft.bodies.clean import clean
from weft.gateway.tools.tool import GatewayTool
from weft.prompt_injection.detection import THRESHOLD, suspicion_score
from weft.router.cards import gives_orders


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a tool."""

    hash: str
    """Hash of what a model may be told of it."""
    approved: bool = False
    """Whether a person approved this hash; else it is the first that was seen."""


class Quarantined(msgspec.Struct, frozen=True):
    """A tool that is not offered."""

    id: str
    hash: str
    reason: str


class CheckedTools(msgspec.Struct, frozen=True):
    """The outcome of checking all tools."""

    trusted: dict[str, GatewayTool]
    quarantined: dict[str, Quarantined]
    pins: dict[str, Pin]
    """The pins, including those of new tools."""


def check_tools(
    tools: Iterable[GatewayTool], pins: Mapping[str, Pin], *, collisions: bool = True
) -> CheckedTools:
    """Which tools may be offered. Earlier `tools` take a name first; a tool with a pin keeps its
    name against later ones."""
    tools = list(tools)
    known = dict(pins)
    names: dict[str, str] = {}
    for tool in sorted(tools, key=lambda tool: tool.id not in known):
        names.setdefault(tool.name, tool.id)
    trusted, quarantined = dict[str, GatewayTool](), dict[str, Quarantined]()
    for tool in tools:
        pin = known.get(tool.id)
        holder = names[tool.name] if collisions else tool.id
        reason = _reason(tool, pin, holder)
        if reason:
            quarantined[tool.id] = Quarantined(tool.id, tool.hash, reason)
            continue
        trusted[tool.id] = tool
        known.setdefault(tool.id, Pin(tool.hash))
    return CheckedTools(trusted, quarantined, known)


def _reason(tool: GatewayTool, pin: Pin | None, holder: str) -> str:
    if pin is not None and pin.hash != tool.hash:
        return f"its description or schema changed since it was pinned as {pin.hash}"
    if pin is not None and pin.approved:
        return ""
    if pin is None and holder != tool.id:
        return f"it has the name of {holder}"
    return suspicion(tool)


def suspicion(tool: GatewayTool) -> str:
    """Why a tool's description may be meant to steer a model; empty if nothing suggests it."""
    for text in texts_for_models(tool):
        if gives_orders(text) or suspicion_score(text) >= THRESHOLD:
            return "its description gives the model orders"
        if any(signal.kind == "invisible" for signal in clean(text.encode()).signals):
            return "its description holds characters that nobody sees"
    return ""


def texts_for_models(tool: GatewayTool) -> list[str]:
    """Every text in a tool's description and schemas that a model reads."""
    texts = [tool.tool.title or "", tool.tool.description or ""]
    stack: list[object] = [tool.tool.input_schema, tool.tool.output_schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack += value.values()
            texts += [key for key in value if len(key) > _A_NAME]
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, str):
            texts.append(value)
    return [text for text in texts if len(text) > _A_NAME]


_A_NAME = 20
"""Characters up to which a text is too short for an instruction that any rule knows."""


def approved(
    pattern: str, quarantined: Mapping[str, Quarantined], pins: Mapping[str, Pin]
) -> tuple[dict[str, Pin], list[Quarantined]]:
    """The pins once a person has approved the tools that match `server:tool`, a glob of it, or
    `server:tool#hash`; and these tools."""
    glob, _, wanted = pattern.rpartition("#")  # a tool's own name may have one, too
    matching = [
        tool
        for tool in quarantined.values()
        if fnmatchcase(tool.id, pattern) or (fnmatchcase(tool.id, glob) and wanted == tool.hash)
    ]
    return {**pins, **{tool.id: Pin(tool.hash, True) for tool in matching}}, matching
