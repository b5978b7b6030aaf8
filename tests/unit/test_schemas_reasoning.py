"""What of a model's reasoning is read, scanned and counted."""

from __future__ import annotations

from weft.secrets.masked_items import masked_item
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules
from weft_schemas.reasoning import (
    METADATA,
    Reasoning,
    clear_texts,
    counted_texts,
    opaque_tokens,
    reasoning_of,
)

SECRET = "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


def test_what_a_provider_alone_reads_counts_by_its_length_and_all_else_as_text() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "A" * 401, "id": "rs_1"}
    reasoning = Reasoning("anthropic", (block,), {"thought_signature": "B" * 4})
    assert list(clear_texts(reasoning)) == ["hm"]
    assert list(counted_texts(reasoning)) == ["hm", "rs_1"]
    assert opaque_tokens(reasoning) == 101 + 1


def test_nothing_long_hides_where_words_of_the_form_stand() -> None:
    block = {"type": "t" * 41, "k" * 41: {"list": ["one", ["two"]]}}
    reasoning = Reasoning("anthropic", (block,))
    assert list(clear_texts(reasoning)) == ["t" * 41, "k" * 41, "one", "two"]


def call(reasoning: object) -> ContextItem:
    metadata = {"tool_name": "look", "arguments": {"n": 1}, METADATA: reasoning}
    return ContextItem("c1", ItemKind.TOOL_CALL, 'look({"n":1})', metadata=metadata)


def test_reasoning_with_a_secret_is_not_kept_and_a_signature_is_never_taken_for_one() -> None:
    thought = {"type": "thinking", "thinking": f"the key is {SECRET}", "signature": "c2lnbmVk"}
    masked = masked_item(call({"format": "anthropic", "before": [thought]}), FirewallRules())
    assert SECRET not in str(masked.metadata)
    found = reasoning_of(masked.metadata)
    assert found is not None
    assert "secret" in found.withheld

    signed = {"format": "gemini", "call": {"thought_signature": SECRET}}
    assert masked_item(call(signed), FirewallRules()) == call(signed)


def test_what_stands_under_its_name_and_is_none_goes() -> None:
    masked = masked_item(call({"text": f"the key is {SECRET}"}), FirewallRules())
    assert METADATA not in masked.metadata
