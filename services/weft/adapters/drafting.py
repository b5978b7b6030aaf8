"""Collects the items of one transcript: ids by place, results tied to their calls.

An id depends only on the record's place. So the same file gives the same items, and a file that
grew at its end gives the same items and some more.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from weft.adapters.media import UNREAD, LeftOut
from weft.adapters.records import Record
from weft.whole_characters import whole_characters
from weft_schemas.errors import InvalidInput
from weft_schemas.events import encode_event
from weft_schemas.items import (
    MAX_DEPTH,
    ContextItem,
    ItemKind,
    check_new_item,
    is_deeper,
    is_users_document,
)


class Reading(msgspec.Struct, frozen=True):
    """What a reader found in a transcript."""

    items: tuple[ContextItem, ...]
    left_out: dict[str, int] = {}
    """How many media of each kind are left out, see `weft.adapters.media`."""
    unread: dict[str, int] = {}
    """How many parts of reasoning there were, and references to data that only the provider has: no
    item contains either."""


class Said(NamedTuple):
    """What is said in a message."""

    text: str
    documents: tuple[str, ...] = ()
    """Text that came with it and that others wrote: files, pages, search results."""


class Draft:
    """Filled by the readers of chat formats."""

    def __init__(self, keeps_reasoning: bool = False) -> None:
        """`keeps_reasoning` with the calls that it led to: for a running loop, not for a
        transcript."""
        self.keeps_reasoning = keeps_reasoning
        self.items: list[ContextItem] = []
        self.left_out: LeftOut = Counter()
        self._parts: dict[int, int] = {}
        self._open: dict[str, list[str]] = {}
        self._answered: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._last_turn: str | None = None

    def reading(self) -> Reading:
        """Everything that was read."""
        unread = {kind: self.left_out[kind] for kind in UNREAD if self.left_out[kind]}
        media = {kind: count for kind, count in self.left_out.items() if kind not in UNREAD}
        return Reading(tuple(self.items), media, unread)

    def add(
        self,
        record: Record,
        kind: ItemKind,
        text: str,
        parent_id: str | None = None,
        **metadata: Any,
    ) -> str:
        """Append an item and return its id. Metadata that is None is left out."""
        item_id = self._id(record)
        kept = {key: value for key, value in metadata.items() if value is not None}
        item = ContextItem(item_id, kind, text, parent_id, metadata=kept)
        self.items.append(checked(record, item))
        if kind is ItemKind.USER_TURN or is_users_document(item):
            self._last_turn = item_id
        return item_id

    def say(self, record: Record, kind: ItemKind, said: Said, **metadata: Any) -> str | None:
        """Append what was said, after the documents that came with it: they are not the speaker's
        words, so each is an item of its own. Returns the id of what was said, unless it is blank.
        """
        documents = [text for text in said.documents if text.strip()]
        if documents and kind is ItemKind.USER_TURN:
            metadata["turn_id"] = self.message_id(record)
        for text in documents:
            self.add_document(record, kind, text)
        return self.add(record, kind, said.text, **metadata) if said.text.strip() else None

    def add_document(self, record: Record, kind: ItemKind, text: str) -> None:
        """Append a document from a message of a speaker of this kind."""
        turn_id = self.message_id(record) if kind is ItemKind.USER_TURN else None
        self.add(record, ItemKind.DOC_SNIPPET, text, turn_id=turn_id)

    @staticmethod
    def message_id(record: Record) -> str:
        """The id of the first item of a record, by which those of one turn name it."""
        return f"m{record.index}"

    def call(
        self,
        record: Record,
        name: str,
        arguments: Any,
        call_id: str | None,
        said: str | None = None,
        waits_as: str | None = None,
        **metadata: Any,
    ) -> str:
        """Append a tool call. `said` is the id of the message that contained it, if any; `waits_as`
        is the key that its result finds it by, if that is not the call id.

        `arguments` may be an object or its JSON text, and an empty text is no arguments. What is
        not an object, or is nested too deep for an item, is kept only in the item's text.
        """
        parsed, shown = _arguments(arguments)
        item_id = self.add(
            record,
            ItemKind.TOOL_CALL,
            f"{name}({shown})",
            said or self._last_turn,
            tool_name=name,
            call_id=call_id,
            arguments=parsed,
            **metadata,
        )
        self._open.setdefault(waits_as or call_id or "", []).append(item_id)
        self._names[item_id] = name
        return item_id

    def result(
        self,
        record: Record,
        text: str,
        call_id: str | None,
        tool_name: str | None = None,
        parent_id: str | None = None,
        waits_as: str | None = None,
        **metadata: Any,
    ) -> str:
        """Append a result under the oldest call with its `call_id` that still waits for one.

        Providers' call ids repeat within long sessions, so an id alone does not identify a call.
        """
        parent = parent_id or self._answer(waits_as or call_id)
        if parent is not None and tool_name is None:
            tool_name = self._names.get(parent)
        return self.add(
            record,
            ItemKind.TOOL_RESULT,
            text,
            parent,
            tool_name=tool_name,
            call_id=call_id,
            **metadata,
        )

    def _answer(self, call_id: str | None) -> str | None:
        key = call_id or ""
        waiting = self._open.get(key)
        if waiting:
            self._answered[key] = waiting.pop(0)
        # A second result of one call belongs to it too.
        return self._answered.get(key)

    def next_id(self, record: Record) -> str:
        """The id of the next item of a record."""
        part = self._parts.get(record.index, 0)
        return f"m{record.index}.{part}" if part else f"m{record.index}"

    def _id(self, record: Record) -> str:
        item_id = self.next_id(record)
        self._parts[record.index] = self._parts.get(record.index, 0) + 1
        return item_id


def checked(record: Record, item: ContextItem) -> ContextItem:
    """The item, if it can be published as it is. Raises `InvalidInput` with file and line."""
    try:
        encode_event(check_new_item(item))
    except InvalidInput as error:
        record.fail(str(error))
    return item


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact(value: Any) -> str:
    """JSON in as few characters as possible without becoming hard to read."""
    return _compact(value)


def _arguments(arguments: Any) -> tuple[dict[str, Any] | None, str]:
    if not isinstance(arguments, str):
        shown = compact(arguments)
        return _valid(arguments, shown) if _fits(arguments) else (None, shown)
    if not arguments.strip():
        return {}, arguments
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return None, arguments
    return _valid(parsed, compact(parsed)) if _fits(parsed) else (None, arguments)


def _fits(arguments: Any) -> bool:
    """Whether an item's metadata can contain them."""
    return isinstance(arguments, dict) and not is_deeper(arguments, MAX_DEPTH - 1)


def _valid(arguments: dict[str, Any], shown: str) -> tuple[dict[str, Any], str]:
    """The arguments and `shown`, their text, without what models write but JSON cannot contain:
    with null for numbers that are none, and whole characters for halves."""
    whole = whole_characters(shown)
    if "NaN" in shown or "Infinity" in shown or whole != shown:
        arguments = dict(json.loads(whole, parse_constant=lambda _: None))
        whole = compact(arguments)
    return arguments, whole
