"""Spans to items of sessions, in the order in which the spans ended.

A span's session is its `gen_ai.conversation.id`, otherwise `session.id`, otherwise its trace. An
item's id is made from its content and the number of equal messages before it in the span's list: so
the same message in a later span is the same item, and a second "yes" is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from weft.adapters.drafting import compact
from weft.adapters.roles import SYSTEM, USERS
from weft.traces.chat_messages import ChatMessage, TracedCall, TracedResult
from weft.traces.genai_attributes import SpanContent, span_content
from weft.traces.otlp import Span
from weft_schemas.errors import InvalidInput
from weft_schemas.events import encode_event
from weft_schemas.ids import digest, encode_token
from weft_schemas.items import ContextItem, ItemKind, check_item

HASH_DIGITS = 20
_KINDS = {
    **dict.fromkeys(SYSTEM, ItemKind.POLICY),
    **dict.fromkeys(USERS, ItemKind.USER_TURN),
}
"""By role. Any other speaks for an agent: what a model says passes for no user's words because an
instrumentation calls it `model`, `ai` or `unknown`."""
_SESSION = ("gen_ai.conversation.id", "session.id")


class Converted(msgspec.Struct, frozen=True):
    """The result for a number of spans."""

    sessions: dict[str, list[ContextItem]]
    """Items by session, each once, in order."""
    spans: dict[str, int]
    """Session → how many spans they come from."""
    rejected: int = 0
    """Spans that could not be read."""
    why: str = ""
    """The reason for the first of them."""


def converted(spans: Iterable[Span]) -> Converted:
    """The items of all spans, except of those that cannot be read."""
    sessions: dict[str, dict[str, ContextItem]] = {}
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for span in sorted(spans, key=lambda one: one.end_ns):
        try:
            said = span_content(span)
            found = items(said, span) if said.inputs or said.outputs else []
            if not found:
                continue
            session = session_of(span)
            encode_token(session)
            for item in found:
                encode_event(check_item(item))
        except InvalidInput as error:
            faults.append(str(error))
            continue
        counts[session] += 1
        known = sessions.setdefault(session, {})
        for item in found:
            known.setdefault(item.id, item)
    made = {session: list(known.values()) for session, known in sessions.items()}
    return Converted(made, dict(counts), len(faults), faults[0] if faults else "")


def session_of(span: Span) -> str:
    """The session to which a span's items belong. Raises `InvalidInput`."""
    for held in (span.attributes, span.resource):
        for name in _SESSION:
            if held.get(name):
                return str(held[name])
    if not span.trace_id:
        raise InvalidInput(
            f"{span.name:.60}: it has neither a trace nor gen_ai.conversation.id, so no session; "
            "set one of them"
        )
    return f"trace-{span.trace_id}"


def items(said: SpanContent, span: Span) -> list[ContextItem]:
    """The items of one span."""
    # A span without input may have the same output as another one: then its own id is part of the
    # items' ids.
    draft = _Draft("" if said.inputs or _is_tool(said) else span.span_id)
    for message in said.inputs:
        draft.take(message, None)
    author = span.attributes.get("gen_ai.agent.name")
    for message in said.outputs:
        draft.take(message, str(author) if author else None)
    return draft.items


def _is_tool(said: SpanContent) -> bool:
    return any(message.role == "tool" for message in said.outputs)


class _Draft:
    """Collects the items of one list of messages."""

    def __init__(self, salt: str) -> None:
        self.items: list[ContextItem] = []
        self._salt = salt
        self._times: Counter[str] = Counter()
        self._turn: str | None = None
        self._calls: dict[str, tuple[str, str]] = {}
        """Call id → item id and tool of its latest call."""

    def take(self, message: ChatMessage, author: str | None) -> None:
        kind = _KINDS.get(message.role, ItemKind.AGENT_MSG)
        documents = [text for text in message.documents if text.strip()]
        told = self._add_documents(documents, is_users=kind is ItemKind.USER_TURN)
        said = self._say(kind, message, author, told) if message.text.strip() else None
        turn_id = None
        for call in message.calls:
            turn_id = self._call(call, said, turn_id, author)
        for result in message.results:
            self._result(result)

    def _add_documents(self, documents: Iterable[str], is_users: bool) -> str | None:
        """Returns the id of the turn that they share with the words of the user, that of the
        first."""
        turn_id: str | None = None
        for text in documents:
            name = self._id(ItemKind.DOC_SNIPPET, (text,))
            if is_users:
                turn_id = turn_id or name
                self._turn = name
            shared = _known(turn_id=turn_id)
            self.items.append(ContextItem(name, ItemKind.DOC_SNIPPET, text, metadata=shared))
        return turn_id

    def _say(
        self, kind: ItemKind, message: ChatMessage, author: str | None, turn_id: str | None
    ) -> str:
        same = (message.text,)
        item_id = self._add(kind, same, message.text, author=author, turn_id=turn_id)
        if kind is ItemKind.USER_TURN:
            self._turn = item_id
        return item_id

    def _call(
        self, call: TracedCall, said: str | None, turn_id: str | None, author: str | None
    ) -> str:
        """Returns the id of the turn: that of the first of its parallel calls."""
        shown = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
        same = (call.id, call.name, _canonical(call.arguments))
        item_id = self._id(ItemKind.TOOL_CALL, same)
        self.items.append(
            ContextItem(
                item_id,
                ItemKind.TOOL_CALL,
                f"{call.name}({shown})",
                said or self._turn,
                metadata=_known(
                    tool_name=call.name or None,
                    call_id=call.id or None,
                    arguments=call.arguments if isinstance(call.arguments, dict) else None,
                    turn_id=turn_id or item_id,
                    author=author,
                ),
            )
        )
        self._calls[call.id] = item_id, call.name
        return turn_id or item_id

    def _result(self, result: TracedResult) -> None:
        """From its call's id alone, so that a tool's span and the model's next span give the same
        item."""
        parent, name = self._calls.get(result.id, (None, ""))
        same = (result.id,) if result.id else ("", result.text)
        self._add(
            ItemKind.TOOL_RESULT,
            same,
            result.text,
            parent,
            tool_name=result.name or name or None,
            call_id=result.id or None,
            is_error=result.is_error or None,
        )

    def _add(
        self,
        kind: ItemKind,
        same: tuple[str, ...],
        text: str,
        parent: str | None = None,
        **metadata: Any,
    ) -> str:
        item_id = self._id(kind, same)
        self.items.append(ContextItem(item_id, kind, text, parent, metadata=_known(**metadata)))
        return item_id

    def _id(self, kind: ItemKind, same: tuple[str, ...]) -> str:
        name = f"t-{digest(kind, self._salt, *same)[:HASH_DIGITS]}"
        self._times[name] += 1
        times = self._times[name]
        return name if times == 1 else f"{name}.{times}"


def _known(**metadata: Any) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if value is not None}


def _canonical(arguments: Any) -> str:
    """Equal for arguments as text and as an object, in any order of keys."""
    return msgspec.json.encode(arguments, order="sorted").decode()
