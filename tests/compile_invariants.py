"""What holds of every pack: checked by property tests and on real sessions alike."""

from collections.abc import Collection, Sequence

from weft import tokens
from weft.adapters import anthropic, openai
from weft.compiler.rendering import render
from weft_schemas.compile import REASONS, ContextPack, PackEntry
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, SensitivityAction


def check_pack(
    pack: ContextPack,
    items: Sequence[ContextItem],
    pending: Collection[str] = (),
    policy: ContextPolicy | None = None,
) -> None:
    policy = policy or ContextPolicy()
    check_budget(pack)
    check_totals(pack)
    check_pairs(pack, items)
    check_order(pack)
    check_sensitivity(pack, items, policy)
    assert not set(pending) & set(pack.stats.included_items)
    assert {waiting.item_id for waiting in pack.pending} >= set(pending)


def check_budget(pack: ContextPack) -> None:
    stats = pack.stats
    exact = tokens.count(pack.prompt, stats.encoding)
    assert exact == stats.prompt_tokens <= max(stats.budget, 0)
    if pack.entries:
        assert message_tokens(openai.messages(pack.entries), stats.encoding) <= stats.budget
        assert message_tokens(anthropic.messages(pack.entries), stats.encoding) <= stats.budget
    assert sum(stats.tokens_per_section.values()) == exact or not pack.entries
    assert pack.prompt == render(pack.entries)


def message_tokens(value: object, encoding: str) -> int:
    """Every string that a provider reads, three tokens a message beside them."""
    if isinstance(value, str):
        return tokens.count(value, encoding)
    if isinstance(value, list):
        return sum(message_tokens(one, encoding) for one in value)
    if not isinstance(value, dict):
        return 0
    skipped = {"role", "type", "input"}
    total = sum(message_tokens(one, encoding) for key, one in value.items() if key not in skipped)
    if "role" in value:
        total += 3
    if "input" in value:
        from weft.adapters.drafting import compact

        total += tokens.count(compact(value["input"]), encoding)
    return total


def check_totals(pack: ContextPack) -> None:
    stats = pack.stats
    assert stats.included_count + stats.dropped_count == stats.total_candidates
    assert stats.dropped_count == len(stats.dropped_items) == sum(stats.dropped_reasons.values())
    assert set(stats.dropped_reasons) <= set(REASONS)
    told = [*stats.included_items, *(drop.item_id for drop in stats.dropped_items)]
    assert len(told) == len(set(told))
    assert stats.included_items == tuple(entry.item_id for entry in pack.entries if entry.item_id)
    assert stats.deduplicated_count == stats.dropped_reasons.get("duplicate", 0)
    if not pack.entries and stats.total_candidates > stats.dropped_count:
        assert stats.notes


def check_pairs(pack: ContextPack, items: Sequence[ContextItem]) -> None:
    """Each call stands with all results that the session has of it, or neither does."""
    shown = set(pack.stats.included_items)
    kinds = {item.id: item.kind for item in items}
    for item in items:
        if item.kind is ItemKind.TOOL_RESULT and item.id in shown:
            assert item.parent_id in shown
            assert kinds[item.parent_id or ""] is ItemKind.TOOL_CALL
    for call in items:
        if call.kind is ItemKind.TOOL_CALL and call.id in shown:
            after = items[items.index(call) + 1 :]
            answers = [
                item.id
                for item in after
                if item.kind is ItemKind.TOOL_RESULT and item.parent_id == call.id
            ]
            assert answers
            assert set(answers) <= shown


def check_order(pack: ContextPack) -> None:
    sequences = [entry.sequence for entry in pack.entries if entry.item_id]
    assert sequences == sorted(set(sequences))
    place = 0
    for entry in pack.entries:
        place = pack.prompt.index(entry.text, place)


def check_sensitivity(
    pack: ContextPack, items: Sequence[ContextItem], policy: ContextPolicy
) -> None:
    entries = {entry.item_id: entry for entry in pack.entries}
    for item in items:
        if item.sensitivity.reaches(policy.sensitivity_floor):
            if policy.sensitivity_action is SensitivityAction.DROP:
                assert item.id not in entries
            elif item.id in entries:
                assert_redacted(entries[item.id], item.sensitivity)


def assert_redacted(entry: PackEntry, level: Sensitivity) -> None:
    assert f"[REDACTED: {level.value}]" in entry.text
    assert entry.view == "redacted"
