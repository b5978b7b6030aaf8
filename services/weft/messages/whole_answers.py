"""The messages of a provider's whole answer, as its library returns it."""

from __future__ import annotations

from typing import Any

from weft.messages.plain_json import as_plain_json
from weft_schemas.errors import InvalidInput


def messages_in(answer: Any) -> list[Any]:
    """Of a chat completion its message, of a response of OpenAI's Responses API its output, of an
    answer of Gemini its content; anything else is a message itself, as an answer of Anthropic is.

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
            return [found[0][message]]
    return [made]


def _have(choices: list[Any], message: str) -> bool:
    return all(isinstance(one, dict) and isinstance(one.get(message), dict) for one in choices)
