"""Stage 4: the text that may be shown of an item. Of an untrusted one this is its envelope's; the
raw body is not here at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from weft import tokens
from weft.compiler.outline import GAP, Outline, Part, flat, outline, structured
from weft.readmodel.rows import ItemRow
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ItemKind

WHOLE, SHORTENED, ENVELOPE = "whole", "shortened", "envelope"
SUMMARY, REDACTED = "summary", "redacted"

SUMMARISED = frozenset(
    {ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.PLAN_STATE, ItemKind.POLICY}
)
"""Kinds whose summary stands for them; a document's parts answer better than its summary."""


class Form(msgspec.Struct, frozen=True):
    """One way to show an item."""

    view: str
    text: str
    arguments: dict[str, Any] | None = None
    """Of a call, as far as shown."""
    stretches: Sequence[str] = ()
    """Of `text`, whose tokens can be counted one by one; none where that is not known."""
    recipe: str = ""
    """How the view was cut, for `reread`: `0-3,7` are parts, `<40` is a head in tokens."""


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
    if redacted or len(form.text) <= atomic:
        return Shape((Part(form.text),), lambda _: form)
    return parted(row, form)


def parted(row: ItemRow, form: Form) -> Shape:
    """The item in all its parts: arguments of a call, fields of JSON, sentences, facts. `form` is
    the whole of it."""
    if row.kind is ItemKind.TOOL_CALL and form.arguments is not None:
        return _parted_call(str(row.metadata["tool_name"]), form)
    inner = outline(row.text)
    parts = (*inner.parts, *_facts(row))

    def choose(chosen: Collection[int]) -> Form:
        if len(chosen) == len(parts) and not inner.structured:
            return form
        if row.words and inner.stretches:
            stretches = inner.stretches(chosen)
            return Form(SHORTENED, "".join(stretches), None, stretches, ranges(chosen))
        return Form(SHORTENED, _assembled(inner, parts, chosen), recipe=ranges(chosen))

    return Shape(parts, choose)


def head(row: ItemRow, limit: int, encoding: str) -> Form:
    """At most `limit` tokens of the item: its summary where that fits, else its beginning."""
    if row.summary and row.summary_tokens <= limit and row.kind in SUMMARISED:
        return Form(SUMMARY, row.summary)
    text = tokens.truncate(row.text, limit - 1, encoding).rstrip()
    return Form(SHORTENED, f"{text}{GAP}", recipe=f"<{limit}")


def reread(row: ItemRow, view: str, recipe: str, encoding: str) -> Form:
    """The form that was shown before, made again from the same row.

    Raises `InvalidInput` for a view that this release does not make.
    """
    if view == SUMMARY:
        return Form(SUMMARY, row.summary)
    if view == SHORTENED and recipe.startswith("<"):
        return head(row, int(recipe[1:]), encoding)
    if view == SHORTENED:
        return parted(row, whole(row)).choose(places(recipe))
    if view in (WHOLE, ENVELOPE, REDACTED):
        return whole(row, view == REDACTED)
    raise InvalidInput(f"item {row.id!r}: view {view!r} is unknown; reproduce it with its release")


def ranges(chosen: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for index in sorted(chosen):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def places(written: str) -> frozenset[int]:
    """The inverse of `ranges`."""
    found: set[int] = set()
    for run in filter(None, written.split(",")):
        first, _, last = run.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _assembled(inner: Outline, parts: tuple[Part, ...], chosen: Collection[int]) -> str:
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
    if redacted or not isinstance(arguments, dict) or not isinstance(name, str):
        return Form(view, row.text)
    return Form(view, f"{name}({flat(arguments)})", arguments)


def _parted_call(name: str, form: Form) -> Shape:
    """Each argument in parts of its own, so that a shortened call is still valid JSON."""
    arguments = form.arguments or {}
    parts: list[Part] = []
    inner: list[tuple[str, Outline, range]] = []
    for key, value in arguments.items():
        held = structured({key: value})
        inner.append((key, held, range(len(parts), len(parts) + len(held.parts))))
        parts.extend(held.parts)

    def choose(chosen: Collection[int]) -> Form:
        if len(chosen) == len(parts):
            return form
        texts, kept = [], {}
        for key, held, indexes in inner:
            mine = [at - indexes.start for at in chosen if at in indexes]
            if mine:
                text = held.assemble(mine)[1:-1]
                texts.append(text)
                kept[key] = arguments[key] if len(mine) == len(indexes) else _value(text, key)
        shown = " ".join([*texts, GAP])
        return Form(SHORTENED, f"{name}({shown})", kept, recipe=ranges(chosen))

    return Shape(tuple(parts), choose)


def _value(text: str, key: str) -> str:
    """Of `key=value`, or of `key{…}` and `key[…]` whose brackets belong to the value."""
    return text.removeprefix(key).removeprefix("=")
