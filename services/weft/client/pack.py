"""What a compile gives back to an agent."""

from __future__ import annotations

from typing import Any

from weft.messages import writing
from weft.messages.writing import Provider as Provider
from weft_schemas.compile import ContextPack


class Pack(ContextPack, frozen=True):
    """A compiled context: `prompt` as one string, and the same items as a provider's messages.

    `stats` says what was kept and dropped and why, `pending` which items still wait for their
    envelope, `sequence` where the log was read, `digest` what the prompt hashes to; `id` names the
    compile for `stable_from` and reproduction.
    """

    def request(self, provider: Provider) -> dict[str, Any]:
        """Keyword arguments for the provider's call, such as `messages`; `weft.messages.request`
        says which for each.

        Valid in role order and within the budget, which is counted for each of them; reasoning that
        goes back to its provider (docs/agents.md) is in it. Add your own model, tools and system
        prompt:
        `client.messages.create(model=…, tools=…, **pack.request("anthropic"))`. Raises
        `InvalidInput` for another provider.
        """
        return writing.request(self, provider)
