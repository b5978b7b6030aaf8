"""A compiled context as the request of a provider."""

from __future__ import annotations

from typing import Any, Literal, get_args

from weft.adapters import anthropic, gemini, openai, responses
from weft_schemas.compile import ContextPack
from weft_schemas.errors import InvalidInput

Provider = Literal["openai", "openai-responses", "anthropic", "gemini"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)

_MESSAGES = {
    "openai": openai.messages,
    "openai-responses": responses.messages,
    "anthropic": anthropic.messages,
    "gemini": gemini.messages,
}


def request(pack: ContextPack, provider: Provider) -> dict[str, Any]:
    """Keyword arguments for the provider's call, valid in role order, that hold the pack's items
    and nothing else:

    - `openai`: `messages`, for `chat.completions.create`
    - `openai-responses`: `input` and, where there is a system prompt, `instructions`, for
      `responses.create`
    - `anthropic`: `messages` and, where there is a system prompt, `system`, for `messages.create`
    - `gemini`: `contents`, and `config` with `system_instruction` where there is one, for
      `models.generate_content`

    Raises `InvalidInput` for another provider.
    """
    make = _MESSAGES.get(provider)
    if make is None:
        raise InvalidInput(f"provider {provider!r} is unknown; use {', '.join(PROVIDERS)}")
    return make(pack.entries)
