"""The ways to show an item: whole; some of its parts, with every gap marked; its summary; or one
line that says what it was."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import msgspec

from weft.call_text import call_arguments
from weft.compiler.renditions.assembling import assembled_text, unquoted_text
from weft.compiler.renditions.error_parts import error_begins
from weft.compiler.renditions.outdated_facts import without_outdated_facts
from weft.compiler.renditions.part_selector import numbers_in, outdated_of, ranges, without_outdated
from weft.compiler.renditions.stub_line import (
    READ,
    beside_list,
    first_line,
    is_flag,
    record_count,
    verdict_of,
)
from weft.compiler.renditions.summary_statements import summary_statements
from weft.passages.json_unquoted import unquoted
from weft.passages.literals import Decoded, decoded
from weft.readmodel.rows import ItemRow
from weft.secrets.masked_items import MASKED
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ItemKind

WHOLE, PARTS, SUMMARY, STUB = "whole", "parts", "summary", "stub"
COMPACT, REFERENCE, REDACTED = "compact", "reference", "redacted"
CURRENT = "current"


class Rendition(msgspec.Struct, frozen=True):
    """One way to show an item."""

    view: str
    text: str
    arguments: dict[str, Any] | None = None
    """A call's arguments, verbatim; None if not all of them are shown."""
    selector: str = ""
    """Which parts are shown, see `selector`."""


def whole_rendition(row: ItemRow, redacted: bool = False) -> Rendition:
    """The most that a prompt may show of the item: its clean text, or the envelope's summary if the
    clean text is not stored."""
    if redacted:
        return Rendition(REDACTED, row.text)
    if row.stored:
        return _stored_rendition(row)
    if not row.is_complete:
        return Rendition(SUMMARY, _summary_with_facts(row))
    if row.kind is ItemKind.TOOL_RESULT and not row.whole.strip():
        return Rendition(STUB, "(empty)")
    if row.outdated:
        return Rendition(CURRENT, row.whole)
    is_call = row.kind is ItemKind.TOOL_CALL and not row.metadata.get(MASKED)
    return Rendition(WHOLE, row.whole, call_arguments(row.text, row.metadata) if is_call else None)


def _stored_rendition(row: ItemRow) -> Rendition:
    """An item whose text is in the object store: its summary, if there is one. For a call, also all
    arguments beside its text."""
    if row.kind is ItemKind.TOOL_CALL:
        name, given = row.metadata.get("tool_name"), row.metadata.get("arguments")
        if isinstance(given, dict):
            return Rendition(SUMMARY, _with_stored_mark(row, row.whole))
        return Rendition(SUMMARY, f"{name or ''}({_stored_mark(row)})")
    if not row.text:
        return Rendition(STUB, _stored_mark(row))
    return Rendition(SUMMARY, _with_stored_mark(row, row.text))


def _with_stored_mark(row: ItemRow, text: str) -> str:
    """What is shown of an item, with the mark of its text if that is in the object store."""
    if not row.stored:
        return text
    if row.kind is ItemKind.TOOL_CALL:
        return f"{text}\n{_stored_mark(row)}"
    return f"… summary of {row.stored:,} bytes …\n{text}"


def _stored_mark(row: ItemRow) -> str:
    return f"… {row.stored:,} bytes …"


def compact_rendition(row: ItemRow) -> Rendition:
    """Everything that the item says: JSON without unneeded quotes, long strings without escapes."""
    made = whole_rendition(row)
    if made.view != WHOLE or row.kind is ItemKind.TOOL_CALL:
        return made
    outline = row.parts
    if outline is None:
        decoded_text = decoded(row.whole)
        is_decoded = decoded_text.literals or decoded_text.wrapper
        return Rendition(COMPACT, unquoted_text(decoded_text)) if is_decoded else made
    if outline.has_literals:
        return Rendition(COMPACT, assembled_text(row.readable, outline, range(row.part_count)))
    return Rendition(COMPACT, unquoted(row.whole)) if outline.is_json else made


def part_count(row: ItemRow, redacted: bool = False) -> int:
    """How many parts can be chosen from; 1 if the item is shown whole or not at all."""
    return 1 if redacted else row.part_count


def parts_rendition(row: ItemRow, chosen: Collection[int]) -> Rendition:
    """The chosen parts of an item; a stub if none is chosen."""
    if not chosen:
        return stub_rendition(row)
    if row.parts is None:
        return whole_rendition(row)
    text = assembled_text(row.readable, row.parts, chosen)
    text = _with_stored_mark(row, _below_summary(row, text))
    return Rendition(PARTS, text, selector=ranges(chosen))


def _below_summary(row: ItemRow, text: str) -> str:
    """Parts of a result; if they are much longer than its envelope's summary, below what that says
    of all of it: totals, extremes and errors, which no choice of parts shows."""
    summary = row.envelope.summary if row.envelope is not None and row.packed else ""
    is_mostly_shown = len(text) >= MOSTLY_SHOWN * len(row.readable)
    if not summary or is_mostly_shown or len(summary) * SUMMARY_SHARE > len(text):
        return text
    said = summary_statements(summary, text, row.readable)
    return f"{WHOLE_HEADING}\n{said}\n{PARTS_HEADING}\n{text}" if said else text


MOSTLY_SHOWN = 0.75
"""Parts that are this share of a text say what its summary says."""
SUMMARY_SHARE = 5
"""How many times as long as the summary the parts must be."""
WHOLE_HEADING, PARTS_HEADING = "(of all of it:)", "(parts of it:)"


def beginning_rendition(row: ItemRow, limit: int) -> Rendition:
    """About the first `limit` tokens of an item, if not even one part of it fits. Of a failed
    result, these are the tokens about its error. A call also gets the names of the arguments that
    are cut off."""
    start = _error_start(row)
    text = row.readable if start else row.whole
    before = f"… {start:,} characters … " if start else ""
    end = start + max(limit * _CHARACTERS - len(before), 1)
    end = _cut_end(text, start, end, row.kind) if end < len(text) else len(text)
    left = len(text) - end
    if not left:
        return (
            Rendition(PARTS, before + text[start:], selector=f"<{limit}")
            if start
            else whole_rendition(row)
        )
    room = max(limit * _CHARACTERS * NAMES_SHARE, MIN_NAMES_LENGTH)
    names = _fitting_names(_cut_arguments(row, end), room)
    mark = f"… {left:,} characters{': ' * bool(names)}{names} …"
    cut = _with_stored_mark(row, f"{before}{text[start:end].rstrip()} {mark}")
    return Rendition(PARTS, cut, selector=f"<{limit}")


def _error_start(row: ItemRow) -> int:
    """Where a failed result begins to tell of its error; 0 if hardly anything is before that."""
    if row.kind is not ItemKind.TOOL_RESULT or not row.failed or row.outdated:
        return 0
    start = error_begins(row.readable, row.parts)
    return start if start > MIN_PREAMBLE else 0


def _cut_end(text: str, start: int, end: int, kind: ItemKind) -> int:
    """Where a beginning ends that would be cut at `end`: behind a word or a field, if that is in
    its second half. A call never shows half of a short value, which could pass for another."""
    borders = [text.rfind(" ", start, end), text.rfind("\n", start, end)]
    borders += [text.rfind(between, start, end + 1) + 1 for between in (',"', ",{")]
    if max(borders) > start + (end - start) // 2:
        return max(borders)
    opened = text.find("({", 0, end) + 2 if kind is ItemKind.TOOL_CALL else 0
    behind = _VALUE_ENDS.search(text, end)
    found = max(*borders, opened)
    is_short = (behind.start() if behind else len(text)) - found <= SHORT_VALUE
    return found if opened >= 2 and is_short else end


def _cut_arguments(row: ItemRow, end: int) -> list[str]:
    """The names of a call's arguments that begin at `end` or behind it."""
    if row.kind is not ItemKind.TOOL_CALL:
        return []
    at = row.whole.find("({") + 2
    behind = []
    for name, value in (call_arguments(row.text, row.metadata) or {}).items():
        written = f"{_json(name)}:{_json(value)}"
        if not row.whole.startswith(written, at):
            # The agent wrote it in its own way.
            at = max(row.whole.find(f"{_json(name)}:", at), at)
        if at + len(_json(name)) >= end:
            behind.append(name)
        at += len(written) + 1
    return behind


def _fitting_names(names: Sequence[str], room: float) -> str:
    """The names, as many as fit in `room` characters, and how many more there are. What is no plain
    word is quoted as in JSON."""
    written = [name if name.isidentifier() else _json(name) for name in names]
    ends = list(accumulate(len(one) + 2 for one in written))
    count = bisect_right(ends, room)
    more = [f"{len(names) - count} more"] if count < len(names) else []
    return ", ".join((*written[:count], *more))


MIN_PREAMBLE = 40
"""Characters before an error that take more tokens than the mark in their place."""
SHORT_VALUE = 120
"""Characters of a value, with its name, that a call's beginning tells whole or not at all."""
_VALUE_ENDS = re.compile(r'[ \n]|,["{]|\}\)')
_json = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
NAMES_SHARE, MIN_NAMES_LENGTH = 0.2, 40
"""Most of the room of a call's beginning for the names of the arguments behind it, and so many
characters at least."""


AGAIN = "(the same call gives the same again below)"


def reference_rendition() -> Rendition:
    """Replaces a result that a later result of the same call repeats. Each item gets its own, since
    the cost of a rendition is remembered by its identity."""
    return Rendition(REFERENCE, AGAIN)


_CHARACTERS = 3
"""Characters per token: a low estimate for most texts."""


def summary_rendition(row: ItemRow) -> Rendition:
    """The summary: the envelope's, or the summarizer's."""
    if row.stored:
        return _stored_rendition(row)
    if row.envelope is not None:
        return Rendition(SUMMARY, _summary_with_facts(row))
    return Rendition(SUMMARY, row.summary)


def stub_rendition(row: ItemRow) -> Rendition:
    """One line: the item's line that says most, or how many records it lists, and its size."""
    if not row.is_complete and row.envelope is not None and row.envelope.raw_size:
        return Rendition(STUB, f"… {row.envelope.raw_size:,} bytes …")
    if row.stored:
        is_call = row.kind is ItemKind.TOOL_CALL
        return _stored_rendition(row) if is_call else Rendition(STUB, _stored_mark(row))
    text, outline = row.whole, row.parts
    if not text.strip():
        return Rendition(STUB, "(empty)")
    if len(text) <= TINY:
        return whole_rendition(row)
    if outline is None and first_line(decoded(text)) == decoded(text).text.strip():
        return compact_rendition(row)  # it says all that there is
    records = record_count(outline) if outline is not None else 0
    lines = text.count("\n") + (not text.endswith("\n"))
    count = f"{records} records, " if records else f"{lines} lines, " if lines > 1 else ""
    mark = f"… {count}{len(text):,} characters …"
    if records and outline is not None:
        first = beside_list(row.readable, outline)
    else:
        first = _verdict_of(row) or first_line(_decoded_beginning(row))
    if len(text) <= max(SHORT, HARDLY_LONGER * len(first + mark)):
        return compact_rendition(row)
    if not first or is_flag(first):
        return Rendition(STUB, f"{first} {mark}".strip())
    return Rendition(PARTS, f"{first} {mark}")


def is_stub(shown: Rendition) -> bool:
    """Whether a rendition shows no part of its item, at most one line of it."""
    return shown.view == STUB or (shown.view == PARTS and not shown.selector)


def _verdict_of(row: ItemRow) -> str:
    """How a printed text says that its call ended; empty for other texts."""
    outline = row.parts
    return "" if outline is None or outline.is_json else verdict_of(row.readable, outline)


def _decoded_beginning(row: ItemRow) -> Decoded:
    """Its text with long strings decoded, without what cannot be in its first line."""
    outline = row.parts
    if outline is None or outline.has_literals:
        return decoded(row.whole)
    return Decoded(row.whole[:READ], "json" if outline.is_json else "text")


HARDLY_LONGER = 4
"""A text that is at most this many times as long as its stub is shown whole."""
TINY, SHORT = 24, 140
"""Characters of a text that takes no more tokens than its stub would, and of one that takes so few
more that its outcome is told whole."""


def reproduced_rendition(row: ItemRow, view: str, selector: str) -> Rendition:
    """The rendition that was shown before, made again from the same row.

    Raises `InvalidInput` for a view that this release does not make.
    """
    outdated = outdated_of(selector)
    if outdated != row.outdated:
        row = without_outdated_facts(row, outdated)
    selector = without_outdated(selector)
    match view:
        case "whole" | "current":
            return whole_rendition(row)
        case "redacted":
            return whole_rendition(row, True)
        case "compact":
            return compact_rendition(row)
        case "reference":
            return reference_rendition()
        case "parts" if selector.startswith("<"):
            return beginning_rendition(row, int(selector[1:]))
        case "parts":
            return parts_rendition(row, numbers_in(selector))
        case "summary":
            return summary_rendition(row)
        case "stub":
            return stub_rendition(row)
    raise InvalidInput(f"item {row.id!r}: view {view!r} is unknown; reproduce it with its release")


def _summary_with_facts(row: ItemRow) -> str:
    """A summary, and the facts that it does not state."""
    facts = row.envelope.facts if row.envelope is not None else ()
    more = [f"{fact.name}={fact.value}" for fact in facts if fact.value not in row.text]
    return "\n".join([row.text, "; ".join(more)]) if more else row.text


def shown_parts(row: ItemRow, shown: Rendition) -> frozenset[int]:
    """Which of an item's parts a rendition holds, whole or begun."""
    if shown.view != PARTS:
        return frozenset(range(part_count(row)))
    if shown.selector.startswith("<"):
        # A failed result begins with its error, which every form of it shows.
        return frozenset() if row.failed else frozenset({0})
    return numbers_in(shown.selector)
