"""Gemini's contents to items and back: parts, function calls and their responses.

Keys may be written as in the API (`functionCall`) or as in its Python library (`function_call`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from weft.adapters.content import check_content
from weft.adapters.conversation import Conversation, conversation
from weft.adapters.conversation import steps_between_users as steps_of
from weft.adapters.drafting import Draft, Reading, Said, compact
from weft.adapters.media import BlockText, read_block, unknown_block
from weft.adapters.reasoning import of_call, reasoning_metadata
from weft.adapters.records import Record, TranscriptSource
from weft.adapters.roles import TOOLS
from weft.adapters.steps import AnsweredCall, Step
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

_KINDS = {
    "user": ItemKind.USER_TURN,
    "model": ItemKind.AGENT_MSG,
    "system": ItemKind.POLICY,
    **dict.fromkeys(TOOLS, ItemKind.DOC_SNIPPET),
}
"""Older examples give a response the role `function`. A text beside it is nobody's words."""
_SPEAKERS = (ItemKind.USER_TURN, ItemKind.AGENT_MSG)
_ANSWERED_AS = ("output", "result")
"""A response that is only a text has it under one of these keys."""
CODE_EXECUTION = "code_execution"
"""The tool of Gemini's that runs the code in a model's answer; the API gives the name to no part.
"""
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
        if not isinstance(role, str) or role not in _KINDS:
            record.fail(f"$.role: {role!r} is unknown; use user or model")
        check_content(record, record.value, ("parts",))
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
    message = _Message(draft, record, kind, parts)
    for at, part in enumerate(parts):
        message.take(part, f"$.parts[{at}]")
    message.say()


class _Message:
    """One message, part by part. Texts are said together, up to the next call or result."""

    def __init__(
        self, draft: Draft, record: Record, kind: ItemKind, parts: list[dict[str, Any]]
    ) -> None:
        self._draft = draft
        self._record = record
        self._kind = kind
        calls = ("function_call", "executable_code")
        self._has_calls = any(_key(part, name) for part in parts for name in calls)
        self._turn_id = draft.message_id(record) if self._has_calls else None
        self._said: str | None = None
        self._texts: list[str] = []
        self._documents: list[str] = []

    def take(self, part: dict[str, Any], path: str) -> None:
        draft, record = self._draft, self._record
        called = _object(record, part, "function_call", path)
        answered = _object(record, part, "function_response", path)
        code = _object(record, part, "executable_code", path)
        outcome = _object(record, part, "code_execution_result", path)
        if called or answered or code or outcome:
            self.say()
        if called:
            of = self._said, self._turn_id, self._reasoning(part, path)
            _call(draft, record, called, f"{path}.functionCall", *of)
        elif answered:
            _result(draft, record, answered, f"{path}.functionResponse")
        elif code:
            _code(draft, record, code, f"{path}.executableCode", self._said, self._turn_id)
        elif outcome:
            _outcome(draft, record, outcome, f"{path}.codeExecutionResult")
            if self._has_calls:  # what follows was not said or run together with it
                self._said, self._turn_id = None, draft.next_id(record)
        elif part.get("thought"):
            draft.left_out["reasoning"] += 1
        else:
            self._take_text(part, path)

    def say(self) -> None:
        """What was said since the last call or result."""
        text, documents = "\n".join(self._texts), tuple(self._documents)
        is_document = self._kind is ItemKind.DOC_SNIPPET
        part = Said("", (text,)) if is_document else Said(text, documents)
        self._texts.clear()
        self._documents.clear()
        said = self._draft.say(self._record, self._kind, part, turn_id=self._turn_id)
        self._said = said or self._said

    def _take_text(self, part: dict[str, Any], path: str) -> None:
        text, is_document = _text(self._record, part, path, self._draft)
        if text:
            is_beside = is_document and self._kind in _SPEAKERS
            (self._documents if is_beside else self._texts).append(text)

    def _reasoning(self, part: dict[str, Any], path: str) -> dict[str, Any] | None:
        keeps = self._draft.keeps_reasoning
        signature = _word(self._record, part, "thought_signature", path) if keeps else None
        signed = {"thought_signature": signature} if signature else {}
        return reasoning_metadata("gemini", (), signed)


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


def _code(
    draft: Draft,
    record: Record,
    code: dict[str, Any],
    path: str,
    said: str | None,
    turn_id: str | None,
) -> None:
    """Code that the model wrote and Gemini runs: a call, which the next result answers. It has no
    arguments, so that no request shows it as the call of a function, which nobody offered."""
    call_id = _word(record, code, "id", path)
    draft.call(
        record,
        CODE_EXECUTION,
        str(code.get("code") or ""),
        call_id,
        said,
        waits_as=_waits(CODE_EXECUTION, call_id),
        turn_id=turn_id,
    )


def _outcome(draft: Draft, record: Record, outcome: dict[str, Any], path: str) -> None:
    """What the code printed, which nobody wrote: a result."""
    call_id = _word(record, outcome, "id", path)
    failed = code_failed(outcome.get("outcome"))
    draft.result(
        record,
        str(outcome.get("output") or (outcome["outcome"] if failed else "")),
        call_id,
        CODE_EXECUTION,
        waits_as=_waits(CODE_EXECUTION, call_id),
        is_error=True if failed else None,
    )


def code_failed(outcome: Any) -> bool:
    """Whether the outcome that Gemini gives says that the code failed or was stopped."""
    return isinstance(outcome, str) and outcome not in ("", "OUTCOME_OK", "OUTCOME_UNSPECIFIED")


def _result(draft: Draft, record: Record, answered: dict[str, Any], path: str) -> None:
    name, call_id = _name(record, answered, path), _word(record, answered, "id", path)
    response = answered.get("response")
    failed = isinstance(response, dict) and set(response) == {"error"}
    text, content_type = _response(response)
    texts = [text] if text else []
    for at, part in enumerate(_parts_in(record, answered, path)):
        texts.append(_text(record, part, f"{path}.parts[{at}]", draft).text)
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


def _text(record: Record, part: dict[str, Any], path: str, draft: Draft) -> BlockText:
    """A part's text, and whether it is a document; media as placeholders."""
    if isinstance(part.get("text"), str):
        return BlockText(part["text"], False)
    inline = _object(record, part, "inline_data", path)
    held = inline or _object(record, part, "file_data", path)
    if held:
        media_type = _key(held, "mime_type") or ""
        block = {"type": "resource", "resource": _resource(held, media_type)}
        found = read_block(block, draft.left_out)
        return found or BlockText(unknown_block({"type": "file"}, draft.left_out), False)
    named = next((key for key, value in part.items() if isinstance(value, dict)), None)
    return BlockText(unknown_block({"type": named}, draft.left_out) if named else "", False)


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
