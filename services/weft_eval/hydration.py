"""Hydration: of the values that a tool call takes and the session has stated before, how many are
among the first candidates that the router offers for their parameter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from weft.audit.grounding import stands_in
from weft.leaves import leaves, path_name
from weft.readmodel.rows import ItemRow
from weft.router.hydration import hydrate
from weft_eval.transcripts import LabelledTranscript, read_labelled
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.routing import SelectableItem

MIN_LENGTH = 2
"""Shortest value that is looked for, in characters: single digits and letters occur everywhere."""


class HydrationRecall(msgspec.Struct):
    values: int = 0
    """Arguments of calls that the session stated before, whole."""
    in_three: float = 0.0
    """Share of them among the first three candidates of their parameter."""
    first: float = 0.0


def hydration_recall(path: Path) -> HydrationRecall:
    """Hydrate the tool of every call of the file's sessions from the items before it.

    The tools' schemas are taken from their calls: names and types of the arguments.
    """
    transcripts = read_labelled(path)
    tools = _tools(transcripts)
    ranks = [
        rank
        for transcript in transcripts
        for position, call in _calls(transcript)
        for rank in _ranks(transcript.items[:position], call, tools)
    ]
    total = len(ranks)
    return HydrationRecall(
        total,
        sum(0 <= rank < 3 for rank in ranks) / max(total, 1),
        sum(rank == 0 for rank in ranks) / max(total, 1),
    )


def _ranks(
    earlier: tuple[ContextItem, ...], call: ContextItem, tools: dict[str, SelectableItem]
) -> Iterator[int]:
    """For each stated value its place among its parameter's candidates, -1 if it is not among
    them."""
    arguments = call.metadata.get("arguments") or {}
    stated = [
        (path_name(path), value)
        for path, leaf in leaves(arguments)
        if len(value := str(leaf)) >= MIN_LENGTH
        and any(stands_in(value, _shown(item)) for item in earlier)
    ]
    if not stated:
        return
    found = hydrate(tools[call.metadata["tool_name"]], _rows(earlier), "", 0).values
    for name, value in stated:
        candidates = [candidate.value for candidate in found.get(name, ())]
        yield candidates.index(value) if value in candidates else -1


def _calls(transcript: LabelledTranscript) -> Iterator[tuple[int, ContextItem]]:
    for position, item in enumerate(transcript.items):
        if item.kind is ItemKind.TOOL_CALL and item.metadata.get("tool_name"):
            yield position, item


def _tools(transcripts: list[LabelledTranscript]) -> dict[str, SelectableItem]:
    properties: dict[str, dict[str, Any]] = {}
    for transcript in transcripts:
        for _, call in _calls(transcript):
            known = properties.setdefault(call.metadata["tool_name"], {})
            for name, value in (call.metadata.get("arguments") or {}).items():
                known.setdefault(name, _schema(value))
    return {
        name: SelectableItem(name, name, args_schema={"type": "object", "properties": known})
        for name, known in properties.items()
    }


def _schema(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object", "properties": {k: _schema(v) for k, v in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": _schema(value[0]) if value else {}}
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(value), "string")}


def _shown(item: ContextItem) -> str:
    arguments = item.metadata.get("arguments")
    return item.text if not arguments else item.text + msgspec.json.encode(arguments).decode()


def _rows(items: tuple[ContextItem, ...]) -> list[ItemRow]:
    """Items as a read model returns them, with whole results."""
    return [
        ItemRow(
            place + 1,
            place,
            item.id,
            item.kind,
            item.text,
            0,
            place + 1,
            item.parent_id,
            item.sensitivity,
            item.metadata,
            0,
        )
        for place, item in enumerate(items)
    ]
