"""ADK's contents as weft publishes them, and weft's as a model of ADK takes them.

ADK shows an agent what other agents of its session did in words, as content of the user. These
words are replaced by what they were made from: a tool's result is never taken for a user's turn,
nor is what code printed.
Models behind LiteLLM and Anthropic's pair a result with its call by its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

import weft
from weft.adapters.conversation import conversation
from weft.integrations.adk_words import (
    ELIDED,
    RETOLD,
    Retold,
    is_gemini,
    is_of_google,
    retold,
    with_code,
)
from weft.integrations.media import Media, with_media

OF_ADK = "adk-"
"""Prefix of the call ids that ADK makes if the model gives none, and removes before most models see
them."""


def history_of(
    contents: Sequence[types.Content], events: Sequence[Event] = ()
) -> list[dict[str, Any]]:
    """Contents in the API's form, without the ids that ADK itself gives to calls; what other agents
    did as in the session's `events`."""
    left = list(events)
    told = [one for content in contents for one in _as_it_was(content, left)]
    return with_code([_as_dict(content) for content in told])


def _as_dict(content: types.Content) -> dict[str, Any]:
    plain: dict[str, Any] = content.model_dump(mode="json", exclude_none=True)
    for part in plain.get("parts") or ():
        for key in ("function_call", "function_response"):
            if str(part.get(key, {}).get("id", "")).startswith(OF_ADK):
                del part[key]["id"]
    return plain


def _as_it_was(content: types.Content, left: list[Event]) -> list[types.Content]:
    """The contents that this one retells; itself if it retells nothing. The event that it retells
    is taken from those that are `left`, with all before it."""
    parts = content.parts or []
    if content.role != "user" or not parts or not (parts[0].text or "").startswith(RETOLD):
        return [content]
    told = [retold(part.text or "") for part in parts[1:]]
    found = [one for one in told if one is not None]
    if not found:
        return [content]
    at = next((at for at, event in enumerate(left) if _retells(found, event)), None)
    if at is None:  # ADK was given it by somebody else
        return [_from_words(one) for one in found]
    event = left[at]
    del left[: at + 1]
    return [event.content] if event.content is not None else []


def _retells(told: Sequence[Retold], event: Event) -> bool:
    """Whether this is what ADK told of the event."""
    parts = (event.content.parts or []) if event.content is not None else []
    shown = [part for part in parts if part.function_call or part.function_response or _says(part)]
    words = [one for one in told if one.verb != "thought"]
    return (
        {one.author for one in told} <= {event.author}
        and len(shown) == len(words) > 0
        and all(_is_of(one, part) for one, part in zip(words, shown, strict=True))
    )


def _says(part: types.Part) -> bool:
    return bool(part.text and part.text.strip() and not part.thought)


def _is_of(told: Retold, part: types.Part) -> bool:
    if part.function_call is not None:
        arguments = part.function_call.args
        text = str(dict(sorted(arguments.items())) if arguments else arguments)
        return told.tool == part.function_call.name and _is_quote(told.quoted, text)
    if part.function_response is not None:
        answer = part.function_response
        return told.tool == answer.name and _is_quote(told.quoted, str(answer.response))
    return told.verb == "said" and _is_quote(told.quoted, part.text or "")


def _is_quote(quoted: str, text: str) -> bool:
    return quoted == text or (ELIDED in text and bool(quoted))


def _from_words(told: Retold) -> types.Content:
    """The content that comes nearest to what happened, from the words alone."""
    if told.verb == "returned":
        answer = types.FunctionResponse(name=told.tool, response={"result": told.quoted})
        return types.Content(role="user", parts=[types.Part(function_response=answer)])
    text = f"called {told.tool}: {told.quoted}" if told.verb == "called" else told.quoted
    return types.Content(role="model", parts=[types.Part(text=text)])


def contents_of(
    pack: weft.Pack, model: str | None, media: Media
) -> tuple[list[types.Content], str]:
    """The pack's contents and system instruction for the model of this name; with ADK's own media
    in the places of their placeholders."""
    request = pack.request("gemini")
    parts = [part for content in request["contents"] for part in content["parts"]]
    if not is_of_google(model):
        ids = [call.id for step in conversation(pack.entries).steps for call in step.calls]
        for key in ("function_call", "function_response"):
            # Gemini's form has the calls, and their results, in the order of the steps.
            for part, call_id in zip([one for one in parts if key in one], ids, strict=True):
                part[key]["id"] = call_id
    if not is_gemini(model):
        for part in parts:
            part.pop("thought_signature", None)
    for content in request["contents"]:
        if content["role"] == "user":
            content["parts"] = [one for part in content["parts"] for one in _seeing(part, media)]
    contents = [types.Content.model_validate(content) for content in request["contents"]]
    return contents, request["config"].get("system_instruction", "")


def _seeing(part: dict[str, Any], media: Media) -> list[dict[str, Any]]:
    parts = with_media(part.get("text"), media, lambda text: {"text": text})
    return parts if isinstance(parts, list) else [part]
