"""A compiled context as the request of a provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from weft.adapters import anthropic, gemini, openai, responses
from weft_schemas.compile import BuildStats, ContextPack, PackEntry
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

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

    The reasoning that came with calls of the current turn goes back to the provider that it is of.
    Raises `InvalidInput` for another provider, and if the session has messages but
    the prompt has none: a model that gets its instructions alone makes up a question.
    """
    nothing = why_nothing(pack.stats)
    if nothing:
        raise InvalidInput(f"session {pack.session!r}: {nothing}")
    return request_of_entries(pack.entries, provider)


def why_nothing(stats: BuildStats) -> str:
    """Why a pack has no message that a model could answer; empty if it has one."""
    if not stats.no_message:
        return ""
    if stats.no_message == "empty":
        return "its messages have no text, so there is nothing to answer; publish one that has"
    if stats.no_message == "budget":
        if not stats.budget:
            return stats.notes[0]
        return f"no message for the model fits into {_too_small(stats)}"
    reasons = ", ".join(f"{reason}: {count}" for reason, count in stats.dropped_reasons.items())
    told = f"every message is dropped ({reasons or stats.no_message}); `weft explain` says why"
    if "budget" in stats.dropped_reasons:
        # What the latest message stands on, such as its call, may be what did not fit.
        told += f". Some do not fit into {_too_small(stats)}"
    return told


def _too_small(stats: BuildStats) -> str:
    return (
        f"a budget of {stats.budget} tokens, `reserve` taken off: raise `budget` or lower `reserve`"
    )


def request_of(items: Sequence[ContextItem], provider: Provider) -> dict[str, Any]:
    """The same from items as they are: whole, not scanned, nothing left out."""
    return request_of_entries([_entry(item) for item in items], provider)


def request_of_entries(entries: Sequence[PackEntry], provider: Provider) -> dict[str, Any]:
    """The same from the entries of a pack."""
    make = _MESSAGES.get(provider)
    if make is None:
        raise InvalidInput(f"provider {provider!r} is unknown; use {', '.join(PROVIDERS)}")
    return make(entries)


def _entry(item: ContextItem) -> PackEntry:
    said = item.reserved
    return PackEntry(
        item.id,
        item.kind,
        item.text,
        "policy" if item.kind is ItemKind.POLICY else "context",
        parent_id=item.parent_id,
        author=said.author,
        tool_name=said.tool_name,
        call_id=said.call_id,
        arguments=said.arguments,
        turn_id=said.turn_id,
        occurred_at=said.occurred_at,
        is_error=bool(said.is_error),
        reasoning=said.provider_reasoning,
    )
