"""What an agent gets from a compile."""

from __future__ import annotations

from typing import Any

from weft.adapters.media import placeholders_in
from weft.messages import writing
from weft.messages.writing import Provider as Provider
from weft_schemas.compile import ContextPack


class Pack(ContextPack, frozen=True):
    """A compiled context: `prompt` as one string, and the same items as a provider's messages.

    `stats` says what was kept and dropped and why, `pending` which items still wait for their
    envelope, `sequence` at which place the log was read, and `digest` is the hash of the prompt;
    `id` names the compile for `stable_from` and for reproduction.
    """

    @property
    def left_out(self) -> dict[str, int]:
        """What the prompt and the requests have only a placeholder for, by kind as in
        `PublishedMessages.left_out`: the model does not see these images, recordings and files,
        unless you put them into the request (docs/agents.md)."""
        return dict(placeholders_in(entry.text for entry in self.entries))

    def request(self, provider: Provider) -> dict[str, Any]:
        """Keyword arguments for the provider's call, such as `messages`; `weft.messages.request`
        says which ones for each provider.

        They have valid roles and order, and are within the budget, which is counted for each
        provider; they include reasoning that goes back to its provider (docs/agents.md). Add your
        own model, tools and system prompt: `client.messages.create(model=…, tools=…,
        **pack.request("anthropic"))`. Raises `InvalidInput` for another provider, and if no
        message for the model fits into the budget.
        """
        return writing.request(self, provider)
