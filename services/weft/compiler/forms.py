"""Stage 4: the text that may be shown of an item. Of an untrusted one this is its envelope's; the
raw body is not here at all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from weft.compiler.outline import GAP, Outline, Part, flat, outline, structured
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

WHOLE, SHORTENED, ENVELOPE, REDACTED = "whole", "shortened", "envelope", "redacted"


class Form(msgspec.Struct, frozen=True):
    """One way to show an item."""

    view: str
    text: str
    arguments: dict[str, Any] | None = None
    """Of a call, as far as shown."""


class Shape(msgspec.Struct, frozen=True):
    """All ways to show one item: whole, or any choice of its parts."""

    parts: tuple[Part, ...]
    choose: Callable[[Collection[int]], Form]


def whole(row: ItemRow, redacted: bool = False) -> Form:
    """All that a prompt may hold of the item."""
    if row.kind is ItemKind.TOOL_CALL:
        return _whole_call(row, redacted)
    if redacted:
        return Form(REDACTED, row.text)
    if row.envelope is None or row.envelope.passthrough:
        return Form(WHOLE, row.text)
    facts = [part.text for part in _facts(row)]
    return Form(ENVELOPE, "\n".join([row.text, " ".join(facts)]) if facts else row.text)


def shape(row: ItemRow, redacted: bool, atomic: int) -> Shape:
    """The item in parts; one of at most `atomic` characters is a single part."""
    form = whole(row, redacted)
    if len(form.text) <= atomic or redacted:
        return Shape((Part(form.text),), lambda _: form)
    if row.kind is ItemKind.TOOL_CALL and form.arguments is not None:
        return _call_shape(row, form)
    inner = outline(row.text)
    parts = (*inner.parts, *_facts(row))

    def choose(chosen: Collection[int]) -> Form:
        if len(chosen) == len(parts) and not inner.structured:
            return form
        return Form(SHORTENED, _with_facts(inner, parts, chosen))

    return Shape(parts, choose)


def _with_facts(inner: Outline, parts: tuple[Part, ...], chosen: Collection[int]) -> str:
    own = len(inner.parts)
    facts = " ".join(parts[at].text for at in range(own, len(parts)) if at in chosen)
    text = inner.assemble([at for at in chosen if at < own])
    return f"{text}\n{facts}" if facts else text


def _facts(row: ItemRow) -> list[Part]:
    """Facts of the envelope that its summary does not state."""
    if row.envelope is None or row.envelope.passthrough:
        return []
    return [
        Part(f"{fact.name}={fact.value}", fact.name)
        for fact in row.envelope.facts
        if fact.value not in row.text
    ]


def _whole_call(row: ItemRow, redacted: bool) -> Form:
    arguments = row.metadata.get("arguments")
    name = row.metadata.get("tool_name")
    view = REDACTED if redacted else WHOLE
    if not isinstance(arguments, dict) or not isinstance(name, str):
        return Form(view, row.text)
    return Form(view, f"{name}({flat(arguments)})", arguments)


def _call_shape(row: ItemRow, form: Form) -> Shape:
    """Each argument in parts of its own, so that a shortened call is still valid JSON."""
    arguments = form.arguments or {}
    parts: list[Part] = []
    inner: list[tuple[str, Outline, int]] = []
    for key, value in arguments.items():
        held = structured({key: value})
        inner.append((key, held, len(parts)))
        parts.extend(held.parts)

    def choose(chosen: Collection[int]) -> Form:
        if len(chosen) == len(parts):
            return form
        texts, kept = [], {}
        for key, held, start in inner:
            mine = [at - start for at in chosen if start <= at < start + len(held.parts)]
            if mine:
                text = held.assemble(mine)[1:-1]
                texts.append(text)
                kept[key] = arguments[key] if len(mine) == len(held.parts) else text[len(key) + 1 :]
        shown = " ".join([*texts, GAP])
        return Form(SHORTENED, f"{row.metadata['tool_name']}({shown})", kept)

    return Shape(tuple(parts), choose)
