"""The ten promises of a prompt, held by program: what `violations` says is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.promises.source import faults_of_parts, inner
from weft import tokens
from weft.adapters import anthropic, openai
from weft.call_text import call_arguments, call_text
from weft.compiler.rendering.fencing import has_data, is_message
from weft_schemas.compile import ContextPack, PackEntry
from weft_schemas.items import ContextItem, ItemKind

LABELS = 24
"""Tokens that an item may cost beside its text."""
FLAG = 40
"""Tokens of what the guards found, which stands before an item."""
NOTATION = 60
"""Tokens of the legend."""
BEGUN = re.compile(r" characters(?:: [^\u2026]+)? \u2026\Z")
"""The end of an item's beginning; a call's names the arguments behind it."""


def violations(
    pack: ContextPack, items: Sequence[ContextItem], clean: Mapping[str, str] | None = None
) -> list[str]:
    """The promises that a pack breaks, each as `promise: item: what`. `items` are the session's at
    the sequence read, `clean` their clean texts where these are not their own."""
    texts = {item.id: _text(item, clean or {}) for item in items}
    return [
        *_within_budget(pack),
        *_all_there(pack, items, texts),
        *_marked(pack, texts),
        *_outcomes(pack, texts),
        *_calls(pack, items),
        *_references(pack, texts),
        *_order(pack),
        *_pins(pack, items, texts),
        *_exchange(pack, items, texts),
        *_newest(pack, items),
        *_legend(pack),
        *_roles(pack),
    ]


def _text(item: ContextItem, clean: Mapping[str, str]) -> str:
    if item.id in clean:
        return clean[item.id]
    is_call = item.kind is ItemKind.TOOL_CALL
    return call_text(item.text, item.metadata) if is_call else item.text


def _count(text: str) -> int:
    return tokens.count(text)


def _within_budget(pack: ContextPack) -> Iterator[str]:
    stats = pack.stats
    if _count(pack.prompt) > stats.budget:
        yield f"budget: prompt: {_count(pack.prompt)} of {stats.budget}"
    for name, used in stats.message_tokens.items():
        if used > stats.budget:
            yield f"budget: {name}: {used} of {stats.budget}"
    if stats.included_count + stats.dropped_count != stats.total_candidates:
        yield "budget: included and dropped are not all"


def _shown(pack: ContextPack) -> dict[str, PackEntry]:
    return {entry.item_id: entry for entry in pack.entries if entry.item_id}


def _label(entry: PackEntry | None) -> int:
    """Tokens that an item may cost beside its text."""
    return LABELS + (FLAG if entry is not None and entry.signals else 0)


def _all_there(
    pack: ContextPack, items: Sequence[ContextItem], texts: Mapping[str, str]
) -> Iterator[str]:
    """1: if it fits, it is all there."""
    room = pack.stats.budget - NOTATION
    for item in items:
        room -= 2 * LABELS + _count(texts[item.id])
        if item.kind is ItemKind.TOOL_CALL:
            room -= _count(texts[item.id])
        if room < 0:
            return
    shown = _shown(pack)
    for item in items:
        entry = shown.get(item.id)
        if entry is None:
            if item.kind is not ItemKind.PLAN_STATE:
                yield f"1: {item.id}: left out although all fits"
        elif texts[item.id].strip() and texts[item.id] not in inner(entry.text):
            yield f"1: {item.id}: not whole although all fits ({entry.view})"


def _marked(pack: ContextPack, texts: Mapping[str, str]) -> Iterator[str]:
    """2 and 3: nothing is silently missing, and a value stands with its identity."""
    for entry in pack.entries:
        if not entry.item_id or entry.item_id not in texts:
            continue
        source = texts[entry.item_id]
        if entry.view == "parts" and not BEGUN.search(inner(entry.text)):
            for fault in faults_of_parts(source, entry.text):
                yield f"2: {entry.item_id} ({entry.kind.value}): {fault}"
        elif entry.view == "whole" and source.strip() and source not in inner(entry.text):
            yield f"2: {entry.item_id}: said to be whole, and is not"
    ordinals = {item_id: at for at, item_id in enumerate(texts)}
    places = sorted(ordinals[e.item_id] for e in pack.entries if e.item_id in ordinals)
    missing = sum(b - a - 1 for a, b in zip([-1, *places], places, strict=False))
    omitted = sum(entry.omitted_before for entry in pack.entries)
    if missing != omitted:
        yield f"2: items: {missing} are left out, {omitted} are told"


def _outcomes(pack: ContextPack, texts: Mapping[str, str]) -> Iterator[str]:
    """4: the outcome of a call is always told."""
    for entry in pack.entries:
        if entry.kind is not ItemKind.TOOL_RESULT:
            continue
        source = texts[entry.item_id]
        if not source.strip() and "empty" not in entry.text:
            yield f"4: {entry.item_id}: an empty result is not told"
        if not entry.text.strip():
            yield f"4: {entry.item_id}: nothing is told"
        if entry.is_error and entry.view == "stub" and source.strip():
            yield f"4: {entry.item_id}: an error without its line"


def _calls(pack: ContextPack, items: Sequence[ContextItem]) -> Iterator[str]:
    """5: calls are told truthfully, in the text and in provider messages."""
    by_id = {item.id: item for item in items}
    given: list[tuple[str, Any]] = []
    for item in items:
        if item.kind is ItemKind.TOOL_CALL:
            arguments = call_arguments(item.text, item.metadata)
            given.append((str(item.metadata.get("tool_name")), arguments))
    for entry in pack.entries:
        if entry.kind is ItemKind.TOOL_CALL and entry.view != "redacted":
            arguments = by_id[entry.item_id].metadata.get("arguments") or {}
            name = str(by_id[entry.item_id].metadata.get("tool_name") or "")
            for wanted in (name, *arguments):
                if wanted not in entry.text:
                    yield f"5: {entry.item_id}: {wanted!r} is not told"
    for message in openai.messages(pack.entries)["messages"]:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            asked = json.loads(function["arguments"])
            if not any(asked == held for _, held in given if held is not None):
                yield f"5: openai: {function['name']} was never called with {asked}"
    for message in anthropic.messages(pack.entries)["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use" and not any(
                block["input"] == held for _, held in given if held is not None
            ):
                yield f"5: anthropic: {block['name']} was never called so"


def _references(pack: ContextPack, texts: Mapping[str, str]) -> Iterator[str]:
    """2: what a reference refers to stands below it."""
    results = [entry for entry in pack.entries if entry.kind is ItemKind.TOOL_RESULT]
    for at, entry in enumerate(results):
        source = texts[entry.item_id]
        if entry.view == "reference" and not any(
            later.view != "reference" and texts[later.item_id] == source
            for later in results[at + 1 :]
        ):
            yield f"2: {entry.item_id}: refers to a result that is left out"


def _order(pack: ContextPack) -> Iterator[str]:
    """6: actions are never deduplicated away, and stand in their order."""
    if pack.stats.dropped_reasons.get("duplicate"):
        yield "6: something is dropped as a duplicate"
    calls = [entry.sequence for entry in pack.entries if entry.kind is ItemKind.TOOL_CALL]
    if calls != sorted(calls):
        yield "6: calls stand out of order"


def _pins(
    pack: ContextPack, items: Sequence[ContextItem], texts: Mapping[str, str]
) -> Iterator[str]:
    """7: the task and the open question stay whole."""
    users = [at for at, item in enumerate(items) if item.kind is ItemKind.USER_TURN]
    if not users:
        return
    wanted = {items[users[-1]].id, items[users[0]].id}
    answered = [item for item in items[: users[-1]] if item.kind is ItemKind.AGENT_MSG]
    wanted |= {answered[-1].id} if answered else set()
    pinned = [item for item in items if item.metadata.get("pin") or item.kind is ItemKind.POLICY]
    wanted |= {item.id for item in pinned}
    shown = _shown(pack)
    size = sum(_count(texts[one]) + _label(shown.get(one)) for one in wanted) + NOTATION
    if size > pack.stats.budget // 2:
        return
    for one in sorted(wanted):
        if one not in shown:
            yield f"7: {one}: a pin is left out"
        elif texts[one] not in inner(shown[one].text):
            yield f"7: {one}: a pin is not whole ({shown[one].view})"


def _exchange(
    pack: ContextPack, items: Sequence[ContextItem], texts: Mapping[str, str]
) -> Iterator[str]:
    """8: what was just fetched comes first."""
    latest = max((at for at, i in enumerate(items) if i.kind is ItemKind.USER_TURN), default=-1)
    results = [
        item
        for item in items[latest + 1 :]
        if item.kind is ItemKind.TOOL_RESULT and item.parent_id and texts[item.id].strip()
    ]
    if not results:
        return
    newest = results[-1]
    call = next((item for item in items if item.id == newest.parent_id), None)
    if call is None:
        return
    answered = {item.parent_id for item in items if item.kind is ItemKind.TOOL_RESULT}
    waiting = [
        item
        for item in items[latest + 1 :]
        if item.kind is ItemKind.TOOL_CALL and item.id not in answered
    ]
    siblings = [item for item in results if item.parent_id == newest.parent_id]
    # A later call with an empty result is newer still, and takes its room first.
    after = items[items.index(newest) + 1 :]
    emptied = {item.parent_id for item in after if item.kind is ItemKind.TOOL_RESULT}
    before = waiting + [item for item in items if item.id in emptied - {call.id}]
    shown = _shown(pack)
    size = sum(_count(texts[item.id]) + _label(shown.get(item.id)) for item in siblings)
    size += 2 * _count(texts[call.id])
    size += sum(2 * _count(texts[item.id]) + LABELS for item in before)
    if size + NOTATION > pack.stats.budget // 2:
        return
    entry = shown.get(newest.id)
    if entry is None:
        yield f"8: {newest.id}: the newest result is left out"
    elif texts[newest.id] not in inner(entry.text) and entry.view != "summary":
        yield f"8: {newest.id}: the newest result is not whole ({entry.view})"


def _newest(pack: ContextPack, items: Sequence[ContextItem]) -> Iterator[str]:
    """2 and 8: what happened last is told, if only its outcome: no mark stands behind it."""
    answered = {item.parent_id for item in items if item.kind is ItemKind.TOOL_RESULT}
    if any(item.kind is ItemKind.TOOL_CALL and item.id not in answered for item in items):
        return  # calls that wait for their results come first
    told = (ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT)
    for newest in items[-1:]:
        if newest.kind in told and newest.id not in _shown(pack):
            yield f"8: {newest.id}: the newest item is left out ({newest.kind.value})"


def _legend(pack: ContextPack) -> Iterator[str]:
    """9: the notation is told."""
    legend = [entry for entry in pack.entries if entry.section == "legend"]
    uses = any(
        entry.omitted_before
        or entry.view in ("parts", "stub")
        or has_data(entry.text)
        or is_message(entry.text)
        for entry in pack.entries
        if entry.item_id
    )
    if uses and not legend:
        yield "9: marks or fences without a legend"
    system = [m for m in openai.messages(pack.entries)["messages"] if m["role"] == "system"]
    if legend and not any(legend[0].text in m["content"] for m in system):
        yield "9: openai: no legend in the system message"


def _roles(pack: ContextPack) -> Iterator[str]:
    """10: data is not instruction."""
    held = [entry.text for entry in pack.entries if entry.section == "header"]
    held += [
        entry.text
        for entry in pack.entries
        if entry.kind is ItemKind.TOOL_RESULT and entry.view != "stub"
    ]
    for message in openai.messages(pack.entries)["messages"]:
        if message["role"] == "system" and any(text in message["content"] for text in held):
            yield "10: openai: data stands in the system message"
        if message["role"] == "user" and message["content"] in held:
            yield "10: openai: data is a user message of its own"
