"""OpenHands event streams and histories: actions become calls, observations become their results.

Newer streams have the model's tool call with each action (`tool_call_metadata`), and the id of the
action that caused an observation (`cause`). Older ones have neither: there an observation answers
the action before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from weft.adapters.drafting import Draft, Reading
from weft.adapters.media import block_text
from weft.adapters.records import Record, TranscriptSource
from weft_schemas.items import ItemKind

_SILENT = {"change_agent_state", "agent_state_changed", "null", "recall", "system_prompt"}
"""Internal events: nobody said or did anything. (The results of a recall are read.)"""


class _Metadata(msgspec.Struct, frozen=True):
    function_name: str = ""
    tool_call_id: str | None = None
    model_response: dict[str, Any] | None = None


class _Event(msgspec.Struct, frozen=True):
    id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    action: str | None = None
    observation: str | None = None
    content: str | None = None
    args: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    cause: int | None = None
    tool_call_metadata: _Metadata | None = None


def read(source: TranscriptSource) -> Reading:
    """The items of a run. Raises `InvalidInput` with file, line and field."""
    draft = Draft()
    caused: dict[int, str] = {}
    for record in source.records:
        event = record.to(_Event)
        if event.action is not None:
            _action(draft, record, event, caused)
        elif event.observation is not None:
            _observation(draft, record, event, caused)
        else:
            record.fail("$: an event needs `action` or `observation`")
    return draft.reading()


def _action(draft: Draft, record: Record, event: _Event, caused: dict[int, str]) -> None:
    arguments = event.args or _flat_arguments(record.value)
    match event.action:
        case "message" | "system":
            text = str(arguments.get("content") or event.content or "")
            text = _pictured(draft, text, arguments.get("image_urls"))
            _message(draft, record, event, text)
        case "finish" | "reject":
            text = arguments.get("final_thought") or arguments.get("thought") or ""
            _add(draft, record, event, ItemKind.AGENT_MSG, str(text))
        case str(name) if name not in _SILENT:
            item_id = _call(draft, record, event, name, arguments)
            if event.id is not None:
                caused[event.id] = item_id


def _message(draft: Draft, record: Record, event: _Event, text: str) -> None:
    if event.action == "system":
        kind = ItemKind.POLICY
    elif event.source in (None, "user"):
        kind = ItemKind.USER_TURN
    else:
        kind = ItemKind.AGENT_MSG
    author = event.source if event.source not in (None, "user", "agent") else None
    _add(draft, record, event, kind, text, author=author)


def _call(
    draft: Draft, record: Record, event: _Event, action: str, arguments: dict[str, Any]
) -> str:
    meta = event.tool_call_metadata or _Metadata()
    thought = arguments.get("thought")
    rest = {key: value for key, value in arguments.items() if key not in _BOOKKEEPING}
    turn_id = f"m{record.index}"
    said = None
    if isinstance(thought, str) and thought.strip() and action != "think":
        said = _add(draft, record, event, ItemKind.AGENT_MSG, thought, turn_id=turn_id)
    if action == "think":
        rest["thought"] = thought
    return draft.call(
        record,
        meta.function_name or action,
        _original_arguments(meta) or rest,
        meta.tool_call_id,
        said,
        turn_id=turn_id,
        occurred_at=_time(event),
    )


def _observation(draft: Draft, record: Record, event: _Event, caused: dict[int, str]) -> None:
    text = _pictured(draft, event.content or "", [event.extras.get("screenshot")])
    parent = caused.get(event.cause) if event.cause is not None else None
    answers = parent is not None or (event.id is None and event.cause is None)
    if event.observation == "recall":
        _add(draft, record, event, ItemKind.DOC_SNIPPET, _recalled(event))
    elif event.observation in _SILENT:
        return
    elif answers:
        draft.result(
            record,
            text,
            event.tool_call_metadata.tool_call_id if event.tool_call_metadata else None,
            parent_id=parent,
            is_error=True if event.observation == "error" else None,
            exit_code=_exit_code(event, record.value),
            occurred_at=_time(event),
        )
    else:
        _add(draft, record, event, ItemKind.DOC_SNIPPET, text)


def _pictured(draft: Draft, text: str, urls: Any) -> str:
    """A text, and a placeholder for each picture in it."""
    found = [url for url in urls if url] if isinstance(urls, list) else []
    placeholders = (
        block_text({"type": "image_url", "image_url": url}, draft.left_out) for url in found
    )
    return "\n".join(filter(None, [text, *placeholders]))


def _add(
    draft: Draft, record: Record, event: _Event, kind: ItemKind, text: str, **metadata: Any
) -> str | None:
    if not text.strip():
        return None
    return draft.add(record, kind, text, occurred_at=_time(event), **metadata)


_BOOKKEEPING = {
    "thought", "impl_source", "translated_ipython_code", "confirmation_state", "is_confirmed",
    "security_risk", "action_risk", "keep_prompt", "hidden", "blocking", "kernel_init_code",
    "is_input", "action", "id", "timestamp", "source", "message", "timeout",
}  # fmt: skip
"""Arguments that the harness adds to those of the agent."""


def _flat_arguments(value: dict[str, Any]) -> dict[str, Any]:
    """Old histories have the arguments in the event itself."""
    return {key: held for key, held in value.items() if key not in ("action", "observation")}


def _original_arguments(meta: _Metadata) -> dict[str, Any] | None:
    """The arguments as the model wrote them, from its stored response."""
    for choice in _objects(meta.model_response, "choices"):
        for call in _objects(choice.get("message"), "tool_calls"):
            if call.get("id") == meta.tool_call_id:
                try:
                    parsed = json.loads(call["function"]["arguments"])
                except (ValueError, KeyError, TypeError, RecursionError):
                    return None
                return parsed if isinstance(parsed, dict) else None
    return None


def _objects(held: Any, key: str) -> Iterator[dict[str, Any]]:
    """The objects in the list under a key, in what a stream has beside its own fields."""
    found = held.get(key) if isinstance(held, dict) else None
    return (one for one in (found if isinstance(found, list) else ()) if isinstance(one, dict))


def _recalled(event: _Event) -> str:
    """What a recall showed the agent: text from the repository and the knowledge base."""
    known = _objects(event.extras, "microagent_knowledge")
    texts = [event.extras.get("repo_instructions"), *(entry.get("content") for entry in known)]
    return "\n\n".join(str(text) for text in texts if text)


def _exit_code(event: _Event, value: dict[str, Any]) -> int | None:
    metadata = event.extras.get("metadata")
    code = value.get("exit_code")
    if isinstance(metadata, dict):
        code = metadata.get("exit_code", code)
    return code if isinstance(code, int) else None


def _time(event: _Event) -> str | None:
    """The stream's times have no zone; its writers use UTC."""
    stamp = event.timestamp
    if not stamp:
        return None
    return stamp if stamp.endswith("Z") or "+" in stamp else f"{stamp}Z"
