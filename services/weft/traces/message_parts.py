"""The parts of a message in one form, whichever one an instrumentation wrote them in.

That form is Anthropic's blocks for texts, calls and results, and for media the blocks that
`weft.adapters.media` reads. Read are the parts of the GenAI conventions, OpenInference's
`message_content`, the blocks of Bedrock's Converse API and Gemini's parts, which name their kind by
their only key; and lists of any of them as JSON text, which OpenLLMetry and Strands write.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from weft.adapters.anthropic import CALLS, readable
from weft.adapters.content import is_thought, result_text
from weft.adapters.drafting import compact
from weft.adapters.gemini import CODE_EXECUTION, code_failed
from weft.adapters.media import BlockText, block_text, read_block, unknown_block
from weft.part_kind import part_kind

Part = Mapping[str, Any]

_TEXTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "compaction": "content",
}
"""Types of parts that are text, and where it is."""
_ADDRESSES = {
    "image-url": "image",
    "audio-url": "audio",
    "video-url": "video",
    "document-url": "document",
}
"""PydanticAI's parts that are an address, and what is there."""
_BLOBS = frozenset({"blob", "uri", "file", "file_data", "binary"})
"""The conventions' parts that are media, with their kind in `modality`."""


def typed(part: Part) -> Part:
    """The part in this module's form; as it is if its form is unknown."""
    inner = part.get("message_content")
    if isinstance(inner, dict):
        return _of_openinference(inner, part)
    kind = part_kind(part)
    held = part.get("content")
    if kind in _TEXTS:
        text = part.get(_TEXTS[kind], held)
        return _text(text if isinstance(text, str) else "")
    if kind in ("tool_call", "server_tool_call"):
        return {**part, "type": "tool_use", "input": _arguments(part)}
    if kind in ("tool_call_response", "server_tool_call_response"):
        content = part.get("response", part.get("result", part.get(kind, held)))
        return {**part, "type": "tool_result", "tool_use_id": part.get("id"), "content": content}
    if kind in _BLOBS and not isinstance(part.get("file"), dict):
        return _medium(part)
    if kind in _ADDRESSES:
        return _medium({"modality": _ADDRESSES[kind], "uri": part.get("url")})
    if kind and isinstance(held, dict):
        return _keyed({kind: held}) or part  # Strands makes the key of a Converse block its type
    return part if kind else _keyed(part) or part


def is_call(part: Part) -> bool:
    """Whether a typed part calls a tool."""
    return part_kind(part) in CALLS


def is_result(part: Part) -> bool:
    """Whether a typed part is what a tool returned, the agent's own or one of the provider's."""
    kind = part_kind(part)
    return kind == "tool_result" or kind.endswith("_tool_result")


def part_text(part: Part) -> BlockText:
    """The text of a typed part that is neither a call nor a result, and whether it is a document:
    media as placeholders, a model's reasoning not at all."""
    if part_kind(part) == "text":
        return BlockText(str(part.get("text") or ""), False)
    if not part_kind(part):
        return BlockText(compact(part), False)
    if is_thought(dict(part)):
        return BlockText("", False)
    found = read_block(part, Counter())
    return found if found and found.text else BlockText(unknown_block(part, Counter()), False)


def parts_in(text: str, calls: bool = False, results: bool = False) -> list[Part] | None:
    """The typed parts of a list that was written as JSON text; None if it is not one, or if there
    is anything in it that is not certainly a part, or a call or result where there can be none."""
    if text.lstrip()[:1] != "[":
        return None
    listed = parsed(text)
    if not isinstance(listed, list) or not listed:
        return None
    parts = [typed(one) for one in listed if isinstance(one, dict)]
    if len(parts) < len(listed):
        return None
    return parts if all(_is_known(part, calls, results) for part in parts) else None


def _is_known(part: Part, calls: bool, results: bool) -> bool:
    """Whether it has what its type needs: somebody may also speak of objects with a `type`."""
    if is_call(part):
        return calls and isinstance(part.get("name"), str)
    if is_result(part):
        return results and isinstance(part.get("tool_use_id"), str)
    if part_kind(part) == "text":
        return isinstance(part.get("text"), str)
    return is_thought(dict(part)) or block_text(part, Counter()) is not None


_RESULT = re.compile(r'"type"\s*:\s*"tool_result"|"toolResult"\s*:')


def is_cut(text: str) -> bool:
    """Whether it is the first half of a list with a tool's result: as text, it would pass for the
    words of the user."""
    is_list = text.lstrip()[:1] == "["
    return is_list and _RESULT.search(text) is not None and parsed(text) is text


def shown_result(value: Any) -> str:
    """The text of a tool's result: of parts their texts, with placeholders for media, which are
    also left out of a container of parts."""
    listed = value
    if isinstance(value, str) and parts_in(value) is not None:
        listed = parsed(value)
    if isinstance(listed, list) and listed and all(isinstance(one, dict) for one in listed):
        return result_text([_result_part(one) for one in listed], Counter())[0]
    return result_text(text_of(value), Counter())[0]


def _result_part(one: dict[str, Any]) -> dict[str, Any]:
    """A part of a result, or an object as it is: a tool may return rows that have a `type`."""
    if part_kind(one) == "text" and "text" in one:
        return one
    part = typed(one)
    return dict(part) if _is_known(part, calls=False, results=False) else one


def parsed(value: Any) -> Any:
    """JSON if it can be parsed, otherwise the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def text_of(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return "" if value is None else value if isinstance(value, str) else compact(value)


def result_of(part: Part) -> str:
    """The text of a typed part that is a result, without what only the provider can read."""
    content = part.get("content")
    is_of_provider = part_kind(part) != "tool_result" and not isinstance(content, str)
    return shown_result(readable(content, Counter()) if is_of_provider else content)


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _arguments(part: Part) -> Any:
    held = part.get("server_tool_call")
    if isinstance(held, dict):
        rest = {key: value for key, value in held.items() if key != "type"}
        return rest.get("arguments", rest)
    return part.get("arguments", {})


def _of_openinference(inner: Part, around: Part) -> Part:
    """A part whose fields are in `message_content`, and those of a call next to it."""
    kind = part_kind(inner)
    text = inner.get("text")
    if kind in ("text", ""):
        return _text(text if isinstance(text, str) else "")
    if kind == "tool_use":
        called = around.get("tool_call")
        return {"type": kind, **called} if isinstance(called, dict) else _text("")
    if isinstance(inner.get(kind), dict):
        held = inner[kind].get(kind, inner[kind])
        return _linked(kind, held) if isinstance(held, dict) else inner
    # A block without fields of its own in the convention is its text, as JSON.
    block = parsed(text)
    return typed(block) if isinstance(block, dict) and part_kind(block) == kind else inner


def _linked(kind: str, held: Part) -> Part:
    said = held.get("transcript", held.get("content"))
    if isinstance(said, str) and said:
        if kind == "audio" and not held.get("name"):
            return _text(said)  # somebody spoke it, and no file was handed over
        source = {"type": "text", "data": said}
        return {"type": "document", "title": held.get("name"), "source": source}
    described = {"modality": kind, "uri": held.get("url"), "file_id": held.get("id")}
    return _medium({**described, "mime_type": held.get("mime_type"), "name": held.get("name")})


def _medium(part: Part) -> Part:
    """A block for `weft.adapters.media`."""
    media_type = str(part.get("mime_type") or part.get("media_type") or "")
    kind = part.get("modality") or media_type.partition("/")[0]
    data, uri = part.get("content", part.get("data")), part.get("uri")
    if kind == "video":
        is_inline = isinstance(uri, str) and uri[:5].casefold() == "data:"
        held = {"mimeType": media_type or kind, "blob": uri if is_inline else data, "uri": uri}
        return {"type": "resource", "resource": held}
    return {
        "type": kind if kind in ("image", "audio") else "document",
        "mimeType": media_type,
        "title": part.get("name"),
        "data": data,
        "url": uri,
        "file_id": part.get("file_id"),
    }


def _keyed(part: Part) -> Part | None:
    """A part that names its kind by its only key; None if that is no kind of Converse or Gemini."""
    held = {key: value for key, value in part.items() if value is not None}
    if len(held) != 1:
        return None
    ((key, value),) = held.items()
    if key == "text" and isinstance(value, str):
        return _text(value)
    if key == "json" and isinstance(value, dict | list):
        return _text(compact(value))
    read = _KEYED.get(key)
    return read(key, value) if read is not None and isinstance(value, dict) else None


def _converse_call(_: str, held: Part) -> Part:
    return {**held, "type": "tool_use", "id": held.get("toolUseId")}


def _converse_result(_: str, held: Part) -> Part:
    failed = held.get("status") == "error"
    return {
        "type": "tool_result",
        "tool_use_id": held.get("toolUseId"),
        "content": held.get("content"),
        "is_error": failed,
    }


def _converse_medium(kind: str, held: Part) -> Part:
    source = held.get("source")
    source = source if isinstance(source, dict) else {}
    place = source.get("s3Location")
    form = str(held.get("format") or "")
    return _medium(
        {
            "modality": kind,
            "mime_type": f"{'application' if kind == 'document' else kind}/{form}" if form else "",
            "name": held.get("name"),
            "content": source.get("bytes"),
            "uri": place.get("uri") if isinstance(place, dict) else None,
        }
    )


def _thought(_: str, held: Part) -> Part:
    return {"type": "thinking"}


def _gemini_call(_: str, held: Part) -> Part:
    return {**held, "type": "tool_use", "input": held.get("args")}


def _gemini_result(_: str, held: Part) -> Part:
    response = held.get("response")
    failed = isinstance(response, dict) and set(response) == {"error"}
    return {
        "type": "tool_result",
        "tool_use_id": held.get("id") or "",
        "name": held.get("name"),
        "content": response,
        "is_error": failed,
    }


def _gemini_code(_: str, held: Part) -> Part:
    call = {"type": "tool_use", "id": held.get("id") or "", "name": CODE_EXECUTION}
    return {**call, "input": str(held.get("code") or "")}


def _gemini_outcome(_: str, held: Part) -> Part:
    return {
        "type": "tool_result",
        "tool_use_id": held.get("id") or "",
        "name": CODE_EXECUTION,
        "content": held.get("output"),
        "is_error": code_failed(held.get("outcome")),
    }


def _gemini_medium(_: str, held: Part) -> Part:
    return _medium(
        {
            "mime_type": held.get("mime_type") or held.get("mimeType"),
            "name": held.get("display_name"),
            "content": held.get("data"),
            "uri": held.get("file_uri") or held.get("fileUri"),
        }
    )


_KEYED = {
    "toolUse": _converse_call,
    "toolResult": _converse_result,
    "image": _converse_medium,
    "audio": _converse_medium,
    "video": _converse_medium,
    "document": _converse_medium,
    "reasoningContent": _thought,
    "cachePoint": _thought,
    "function_call": _gemini_call,
    "functionCall": _gemini_call,
    "function_response": _gemini_result,
    "functionResponse": _gemini_result,
    "executable_code": _gemini_code,
    "executableCode": _gemini_code,
    "code_execution_result": _gemini_outcome,
    "codeExecutionResult": _gemini_outcome,
    "inline_data": _gemini_medium,
    "inlineData": _gemini_medium,
    "file_data": _gemini_medium,
    "fileData": _gemini_medium,
}
