"""The messages of a provider's whole answer, as its library returns it."""

from __future__ import annotations

from typing import Any

from weft.messages.plain_json import as_plain_json
from weft_schemas.errors import InvalidInput


def messages_in(answer: Any) -> list[Any]:
    """Of a chat completion its message, of a response of OpenAI's Responses API its output, of an
    answer of Gemini its content; anything else is a message itself, as an answer of Anthropic is.
    Gemini's answer may have no content, since it was blocked or cut off: it has no messages.

    Raises `InvalidInput` for an answer with several choices: only its user knows which one it took.
    """
    made = as_plain_json(answer)
    if not isinstance(made, dict) or "role" in made:
        return [made]
    if made.get("object") == "response" and isinstance(made.get("output"), list):
        return list(made["output"])
    for choices, message in (("choices", "message"), ("candidates", "content")):
        found = made.get(choices)
        if isinstance(found, list) and found and _have(found, message):
            if len(found) > 1:
                raise InvalidInput(
                    f"an answer with {len(found)} {choices}; add the {message} of the one you took"
                )
            return [found[0][message]] if _says_something(found[0], message) else []
    is_blocked = not made.get("candidates") and any(made.get(key) for key in _WHY_BLOCKED)
    return [] if is_blocked else [made]


_WHY_BLOCKED = ("promptFeedback", "prompt_feedback")
"""What Gemini answers with instead of candidates."""
_WHY_ENDED = ("finishReason", "finish_reason")


def _have(choices: list[Any], message: str) -> bool:
    """Whether they are a provider's: chat completions always have a message, even if it is empty,
    and a candidate of Gemini's that ended early may have no content."""
    return all(
        isinstance(one, dict)
        and (isinstance(one.get(message), dict) or (message == "content" and _has_ended(one)))
        for one in choices
    )


def _has_ended(candidate: dict[str, Any]) -> bool:
    return candidate.get("content") is None and any(candidate.get(key) for key in _WHY_ENDED)


def _says_something(choice: dict[str, Any], message: str) -> bool:
    return message != "content" or bool((choice.get("content") or {}).get("parts"))
