"""What a compile gives back to an agent."""

from __future__ import annotations

from typing import Any, Literal

from weft.adapters import anthropic, openai
from weft_schemas.compile import ContextPack
from weft_schemas.errors import InvalidInput

Provider = Literal["openai", "anthropic"]

_MESSAGES = {"openai": openai.messages, "anthropic": anthropic.messages}


class Pack(ContextPack, frozen=True):
    """A compiled context: `prompt` as one string, and the same items as a provider's messages.

    `stats` says what was kept and dropped and why, `pending` which items still wait for their
    envelope, `sequence` where the log was read, `digest` what the prompt hashes to; `id` names the
    compile for `stable_from` and reproduction.
    """

    def request(self, provider: Provider) -> dict[str, Any]:
        """Keyword arguments for the provider's call: `messages`, and for Anthropic `system`.

        Within the budget, valid in role order. Add your own model, tools and system prompt:
        `client.messages.create(model=…, tools=…, **pack.request("anthropic"))`. Raises
        `InvalidInput` for another provider.
        """
        make = _MESSAGES.get(provider)
        if make is None:
            raise InvalidInput(f"provider {provider!r} is unknown; use openai or anthropic")
        return make(self.entries)
