"""What holds of every pack: checked by property tests and on real sessions alike."""

from collections.abc import Collection, Sequence

from weft import tokens
from weft.adapters.drafting import compact
from weft.adapters.gemini import UNSIGNED
from weft.compiler.candidates.sensitivity import WITHHELD
from weft.compiler.rendering.prompt import render
from weft.messages import PROVIDERS, request
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
    check_pairs(pack, items, policy)
    check_order(pack)
    check_sensitivity(pack, items, policy)
    assert not set(pending) & set(pack.stats.included_items)
    assert {waiting.item_id for waiting in pack.pending} >= set(pending)


def check_budget(pack: ContextPack) -> None:
    stats = pack.stats
    exact = tokens.count(pack.prompt, stats.encoding)
    assert exact == stats.prompt_tokens <= max(stats.budget, 0)
    if pack.entries:
        assert set(stats.message_tokens) == set(PROVIDERS)
        for provider in () if stats.no_message else PROVIDERS:
            sent = message_tokens(request(pack, provider), stats.encoding)
            assert sent <= stats.message_tokens[provider] <= stats.budget, provider
    assert sum(stats.tokens_per_section.values()) == exact or not pack.entries
    assert pack.prompt == render(pack.entries)


def message_tokens(value: object, encoding: str) -> int:
    """Every string that a provider reads, three tokens a message beside them."""
    if isinstance(value, bytes):
        return -(-len(value) // 3)
    if isinstance(value, str):
        return tokens.count(value, encoding)
    if isinstance(value, list):
        return sum(message_tokens(one, encoding) for one in value)
    if not isinstance(value, dict):
        return 0
    total = 3 if "role" in value or value.get("type") in RESPONSES_ITEMS else 0
    for key, one in value.items():
        if key in SEALED and isinstance(one, str):
            total += -(-len(one) // 4)
        elif key in ARGUMENTS and isinstance(one, dict):
            total += tokens.count(compact(one), encoding)
        elif key not in ("role", "type") and one != UNSIGNED:
            total += message_tokens(one, encoding)
    return total


SEALED = ("signature", "data", "encrypted_content")
"""What only its provider reads counts by its length: three bytes a token."""
RESPONSES_ITEMS = ("function_call", "function_call_output", "reasoning")
"""Messages of their own, though they have no role."""
ARGUMENTS = ("input", "args")
"""Objects that a model reads as JSON."""


def check_totals(pack: ContextPack) -> None:
    stats = pack.stats
    assert stats.included_count + stats.dropped_count == stats.total_candidates
    assert stats.dropped_count == len(stats.dropped_items) == sum(stats.dropped_reasons.values())
    assert set(stats.dropped_reasons) <= set(REASONS)
    told = [*stats.included_items, *(drop.item_id for drop in stats.dropped_items)]
    assert len(told) == len(set(told))
    assert stats.included_items == tuple(entry.item_id for entry in pack.entries if entry.item_id)
    references = sum(entry.view == "reference" for entry in pack.entries)
    assert stats.deduplicated_count == references
    if not pack.entries and stats.total_candidates > stats.dropped_count:
        assert stats.notes


def check_pairs(pack: ContextPack, items: Sequence[ContextItem], policy: ContextPolicy) -> None:
    """No result stands without its call. Each call stands with all results that the session has of
    it, or says what is known of them."""
    entries = {entry.item_id: entry for entry in pack.entries if entry.item_id}
    kinds = {item.id: item.kind for item in items}
    waiting = {one.item_id for one in pack.pending}
    floor = policy.sensitivity_floor
    withheld = {item.id for item in items if item.sensitivity.reaches(floor)}
    results = [item for item in items if item.kind is ItemKind.TOOL_RESULT]
    for item in results:
        if item.id in entries:
            call = entries[item.id].parent_id or ""
            assert call in entries
            assert kinds[call] is ItemKind.TOOL_CALL
    for call in entries.values():
        if call.kind is ItemKind.TOOL_CALL:
            answers = {item.id for item in results if item.parent_id == call.item_id}
            shown = answers & entries.keys()
            assert answers - shown <= waiting | (withheld if call.answer == WITHHELD else set())
            told = {entry.parent_id for entry in entries.values() if entry.item_id != call.item_id}
            assert bool(call.answer) is (call.item_id not in told or bool(answers - shown))


def check_order(pack: ContextPack) -> None:
    """Entries are in the order of happening, but for a result that came before its call: it stands
    behind. So is the prompt, but for results of calls that were made together."""
    at = {entry.item_id: entry.sequence for entry in pack.entries if entry.item_id}
    assert len(at) == sum(bool(entry.item_id) for entry in pack.entries)
    places = [
        max(entry.sequence, at.get(entry.parent_id or "", 0))
        if entry.kind is ItemKind.TOOL_RESULT
        else entry.sequence
        for entry in pack.entries
        if entry.item_id
    ]
    assert places == sorted(places)
    place = 0
    calls: dict[str, int] = {}
    for entry in pack.entries:
        if entry.kind is ItemKind.TOOL_RESULT:
            assert entry.text in pack.prompt[calls[entry.parent_id or ""] :]
            continue
        place = calls[entry.item_id] = pack.prompt.index(entry.text, place)


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
