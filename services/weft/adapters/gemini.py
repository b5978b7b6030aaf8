"""Gemini's contents to items and back: parts, function calls and their responses.

Keys may be written as in the API (`functionCall`) or as in its Python library (`function_call`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from weft.adapters.conversation import Conversation, conversation
from weft.adapters.conversation import steps_between_users as steps_of
from weft.adapters.drafting import Draft, Reading, compact
from weft.adapters.media import block_text, unknown_block
from weft.adapters.reasoning import of_call, reasoning_metadata
from weft.adapters.records import Record, TranscriptSource
from weft.adapters.steps import AnsweredCall, Step
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

_KINDS = {"user": ItemKind.USER_TURN, "model": ItemKind.AGENT_MSG, "system": ItemKind.POLICY}
_ANSWERED_AS = ("output", "result")
"""A response that is only a text has it under one of these keys."""
UNSIGNED = "skip_thought_signature_validator"
"""Put on the first call of each step, where Gemini 3 requires the signature of its own thoughts:
the documented value for calls from elsewhere (ai.google.dev, thought signatures, FAQ)."""
_FIRST = re.compile(r"[^A-Za-z_]")


def read(source: TranscriptSource) -> Reading:
    """The items of a conversation; `system_instruction` becomes the first, a policy item.

    Thoughts are left out and counted; in a live loop, the signature of thoughts that led to a call
    is kept with it. A response without an id answers the oldest waiting call of its name. Raises
    `InvalidInput` with the place and the field.
    """
    draft = Draft(source.is_live)
    system = _key(source.around, "system_instruction")
    if system:
        file = source.records[0].file if source.records else "-"
        record = Record(-1, 0, _as_content(system), file)
        _read(draft, record, ItemKind.POLICY)
    for record in source.records:
        role = record.to(dict[str, Any]).get("role") or "user"
        # Older examples give a response the role `function`.
        role = "user" if role in ("function", "tool") else role
        if not isinstance(role, str) or role not in _KINDS:
            record.fail(f"$.role: {role!r} is unknown; use user or model")
        _read(draft, record, _KINDS[role])
    return draft.reading()


def _as_content(system: Any) -> dict[str, Any]:
    """An instruction may be a content, one part or several, or a text."""
    if isinstance(system, Mapping) and "parts" in system:
        return dict(system)
    parts = system if isinstance(system, list) else [system]
    return {"parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def _read(draft: Draft, record: Record, kind: ItemKind) -> None:
    parts = _parts_in(record, record.value, "$")
    used = any(_key(part, "function_call") for part in parts)
    turn_id = f"m{record.index}" if used else None
    said: str | None = None
    texts: list[str] = []

    def say() -> None:
        nonlocal said
        text = "\n".join(texts)
        texts.clear()
        if text.strip():
            said = draft.add(record, kind, text, turn_id=turn_id)

    for at, part in enumerate(parts):
        path = f"$.parts[{at}]"
        called = _object(record, part, "function_call", path)
        answered = _object(record, part, "function_response", path)
        if called:
            say()
            keeps = draft.keeps_reasoning
            signature = _word(record, part, "thought_signature", path) if keeps else None
            reasoning = reasoning_metadata(
                "gemini", (), {"thought_signature": signature} if signature else {}
            )
            _call(draft, record, called, f"{path}.functionCall", said, turn_id, reasoning)
        elif answered:
            say()
            _result(draft, record, answered, f"{path}.functionResponse")
        elif part.get("thought"):
            draft.left_out["reasoning"] += 1
        else:
            text = _text(record, part, path, draft)
            if text:
                texts.append(text)
    say()


def _call(
    draft: Draft,
    record: Record,
    called: dict[str, Any],
    path: str,
    said: str | None,
    turn_id: str | None,
    reasoning: dict[str, Any] | None,
) -> None:
    name, call_id = _name(record, called, path), _word(record, called, "id", path)
    draft.call(
        record,
        name,
        called.get("args") or {},
        call_id,
        said,
        waits_as=_waits(name, call_id),
        turn_id=turn_id,
        provider_reasoning=reasoning,
    )


def _result(draft: Draft, record: Record, answered: dict[str, Any], path: str) -> None:
    name, call_id = _name(record, answered, path), _word(record, answered, "id", path)
    response = answered.get("response")
    failed = isinstance(response, dict) and set(response) == {"error"}
    text, content_type = _response(response)
    texts = [text] if text else []
    for at, part in enumerate(_parts_in(record, answered, path)):
        texts.append(_text(record, part, f"{path}.parts[{at}]", draft))
    draft.result(
        record,
        "\n".join(texts),
        call_id,
        name,
        waits_as=_waits(name, call_id),
        content_type=content_type,
        is_error=True if failed else None,
    )


def _waits(name: str, call_id: str | None) -> str:
    """The key that a response finds its call by: the id, otherwise the name in a form that no id
    has."""
    return call_id or f"\0{name}"


def _response(response: Any) -> tuple[str, str | None]:
    """A response's text; JSON if it is more than one text."""
    if isinstance(response, dict) and len(response) == 1:
        ((key, value),) = response.items()
        if key in (*_ANSWERED_AS, "error") and isinstance(value, str):
            return value, None
    return ("", None) if not response else (compact(response), "application/json")


def _name(record: Record, called: dict[str, Any], path: str) -> str:
    name = called.get("name")
    if not isinstance(name, str) or not name:
        record.fail(f"{path}.name: a call needs the name of its function")
    return name


def _text(record: Record, part: dict[str, Any], path: str, draft: Draft) -> str:
    """A part's text; media as placeholders, code and its output unchanged."""
    if isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    inline = _object(record, part, "inline_data", path)
    held = inline or _object(record, part, "file_data", path)
    if held:
        media_type = _key(held, "mime_type") or ""
        block = {"type": "resource", "resource": _resource(held, media_type)}
        return block_text(block, draft.left_out) or unknown_block({"type": "file"}, draft.left_out)
    code = _object(record, part, "executable_code", path)
    if code:
        return str(code.get("code") or "")
    outcome = _object(record, part, "code_execution_result", path)
    if outcome:
        return str(outcome.get("output") or "")
    named = next((key for key, value in part.items() if isinstance(value, dict)), None)
    return unknown_block({"type": named}, draft.left_out) if named else ""


def _resource(held: dict[str, Any], media_type: str) -> dict[str, Any]:
    name = _key(held, "display_name") or ""
    data, uri = held.get("data"), _key(held, "file_uri") or ""
    where = {"blob": data} if isinstance(data, str) else {"uri": uri}
    return {"mimeType": media_type, "name": name, **where}


def _parts_in(record: Record, held: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    parts = held.get("parts") or []
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        record.fail(f"{path}.parts: expected an array of objects")
    return parts


def _object(record: Record, held: Mapping[str, Any], name: str, path: str) -> dict[str, Any] | None:
    """The object under a name; None if there is nothing."""
    value = _key(held, name) or None
    if value is not None and not isinstance(value, dict):
        record.fail(f"{path}.{_in_api(name)}: expected an object, got `{type(value).__name__}`")
    return value


def _word(record: Record, held: Mapping[str, Any], name: str, path: str) -> str | None:
    """The text under a name; None if there is nothing."""
    value = _key(held, name) or None
    if value is not None and not isinstance(value, str):
        record.fail(f"{path}.{_in_api(name)}: expected a text, got `{type(value).__name__}`")
    return value


def _key(held: Mapping[str, Any], name: str) -> Any:
    """The value under a name, which the API writes without underscores."""
    return held[name] if name in held else held.get(_in_api(name))


def _in_api(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def messages(entries: Sequence[PackEntry]) -> dict[str, Any]:
    """A pack's entries as keyword arguments for `models.generate_content`: `contents`, and `config`
    with `system_instruction` if there is one.

    Roles alternate, beginning with the user; all responses follow right after the calls of their
    turn, in the same order. Put your own `tools` into `config`.
    """
    return conversation_messages(conversation(entries))


def conversation_messages(talk: Conversation) -> dict[str, Any]:
    """`messages` for entries that are a conversation already."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for step in steps_of(talk):
        for role, parts in _parts(step):
            if turns and turns[-1][0] == role:
                turns[-1][1].extend(parts)
            else:
                turns.append((role, parts))
    return {
        "contents": [{"role": role, "parts": parts} for role, parts in turns],
        "config": {"system_instruction": talk.system} if talk.system else {},
    }


def _parts(step: Step) -> list[tuple[str, list[dict[str, Any]]]]:
    if not step.calls:
        return [("user" if step.role == "user" else "model", [{"text": step.text}])]
    calls: list[dict[str, Any]] = [
        {
            "function_call": {"name": function_name(call.name), "args": call.arguments},
            **_signature(call),
        }
        for call in step.calls
    ]
    calls[0].setdefault("thought_signature", UNSIGNED)
    return [("model", calls), ("user", [_answer(call) for call in step.calls])]


def _signature(call: AnsweredCall) -> dict[str, Any]:
    """As bytes, which the library wants; in the API it is base64."""
    signed: str | None = of_call("gemini", call.reasoning).get("thought_signature")
    if not signed:
        return {}
    try:
        return {"thought_signature": b64decode(signed.translate(_URL_SAFE), validate=True)}
    except ValueError:  # it was not base64
        return {}


_URL_SAFE = str.maketrans("-_", "+/")


def _answer(call: AnsweredCall) -> dict[str, Any]:
    response = {"error" if call.is_error else "output": call.result}
    return {"function_response": {"name": function_name(call.name), "response": response}}


def function_name(name: str) -> str:
    """A name that Gemini accepts: it begins with a letter or an underscore."""
    return f"_{name}"[:64] if _FIRST.match(name) else name
