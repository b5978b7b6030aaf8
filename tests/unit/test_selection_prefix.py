"""Cache-stable prompts: what stays, what is said about it, and when it cannot stay."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.compile import Compilation, compile_pack
from weft.readmodel.rows import FactRow
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase


def turns(count: int) -> list[ContextItem]:
    """A talk in which every turn says something new."""
    return [
        ContextItem(
            f"i{place}",
            ItemKind.AGENT_MSG if place % 2 else ItemKind.USER_TURN,
            f"Order R{place:04d}X of {place + 3} boxes goes to dock D{place * 7:03d}, as agreed.",
        )
        for place in range(count)
    ]


def compiled(
    items: list[ContextItem], base: CompileAudit | None = None, budget: int = 300
) -> Compilation:
    request = CompileRequest(Phase.CALL, budget=budget, stable_from=base.id if base else None)
    return compile_pack(ListView(items), request, base=base)


def chain(items: list[ContextItem], budget: int) -> Iterator[tuple[Compilation, Compilation]]:
    """Each pack of a growing session, with the one before."""
    before = compiled(items[:6], budget=budget)
    for count in range(8, len(items) + 1, 2):
        after = compiled(items[:count], before.audit, budget)
        yield before, after
        before = after


def repeated(before: Compilation, after: Compilation) -> float:
    """Share of the later prompt that begins as the earlier one does, in characters."""
    old, new = before.pack.prompt, after.pack.prompt
    pairs = enumerate(zip(old, new, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))
    return same / len(new)


def test_while_all_fits_a_prompt_only_grows() -> None:
    for before, after in chain(turns(20), budget=2_000):
        assert after.pack.prompt.startswith(before.pack.prompt)


def test_over_the_budget_most_of_a_prompt_still_stays() -> None:
    shares = []
    for before, after in chain(turns(80), budget=400):
        assert after.pack.stats.prompt_tokens <= 400
        shares.append(repeated(before, after))
    assert sum(shares) / len(shares) > 0.6
    assert any(share > 0.85 for share in shares)


def test_the_latest_user_turn_is_there_however_much_stays() -> None:
    for _, after in chain(turns(60), budget=300):
        users = [entry for entry in after.pack.entries if entry.section == "latest"]
        assert len(users) == 1


def test_an_item_that_became_sensitive_ends_what_stays() -> None:
    items = turns(8)
    before = compiled(items)
    items[3] = msgspec.structs.replace(items[3], sensitivity=Sensitivity.RESTRICTED)
    after = compiled(items, before.audit)
    assert "R0003X" in before.pack.prompt
    assert "R0003X" not in after.pack.prompt
    assert before.pack.prompt.split("agent: Order R0003X")[0] in after.pack.prompt


def test_an_unknown_base_compiles_fresh_and_says_so() -> None:
    request = CompileRequest(Phase.CALL, stable_from="nowhere")
    stats = compile_pack(ListView(turns(4)), request).pack.stats
    assert stats.included_count == 4
    assert stats.notes[0].startswith("compiled fresh: the base is not known: ")


def test_a_base_of_another_session_or_from_the_future_is_refused() -> None:
    items = turns(8)
    base = compiled(items).audit
    other = compiled(items, msgspec.structs.replace(base, session="elsewhere"))
    assert "compiled fresh: the base is of another session" in other.pack.stats.notes
    future = compiled(items[:4], base)
    assert "compiled fresh: the base is newer than what is read" in future.pack.stats.notes


def test_the_audit_names_the_base() -> None:
    base = compiled(turns(6)).audit
    assert compiled(turns(8), base).audit.request.stable_from == base.id


def test_a_header_that_a_smaller_budget_cannot_hold_does_not_stay() -> None:
    items = turns(12)
    facts = [
        FactRow("session:s", f"setting_{n}", f"value {n}", n, 1, ("i0",), Sensitivity.PUBLIC, "o")
        for n in range(40)
    ]
    base = compile_pack(ListView(items, facts=facts), CompileRequest(Phase.CALL, budget=2_000))
    assert base.pack.entries[0].section == "header"
    for budget in (0, 1, 20, 60, 120):
        request = CompileRequest(Phase.CALL, budget=budget, stable_from=base.pack.id)
        pack = compile_pack(ListView(items, facts=facts), request, base=base.audit).pack
        assert pack.stats.prompt_tokens <= budget


def test_what_happened_last_is_shown_as_afresh_though_it_states_no_value() -> None:
    words = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in ("ano", "eri", "ulo")]
    items = [
        ContextItem(
            f"i{place}",
            ItemKind.AGENT_MSG if place % 2 else ItemKind.USER_TURN,
            " ".join(words[(place * step + step) % len(words)] for step in range(1, 9)),
        )
        for place in range(40)
    ]
    shown = 0
    for count, (_, after) in enumerate(chain(items, budget=200)):
        fresh = compiled(items[: 8 + 2 * count], budget=200).pack.entries[-1]
        if fresh.sequence == after.pack.sequence:
            assert after.pack.entries[-1].text == fresh.text
            shown += 1
    assert shown


def readings(count: int) -> list[ContextItem]:
    """After one question, calls whose results are prose that states nothing to copy."""
    text = "the quay was closed for most of this week since its crane had to be taken apart"
    words = text.split()
    items = [ContextItem("u", ItemKind.USER_TURN, "Please read all of it to me.")]
    for place in range(count):
        call = {"tool_name": "read", "arguments": {"page": place}}
        items.append(ContextItem(f"c{place}", ItemKind.TOOL_CALL, "read()", metadata=call))
        said = " ".join(words[(at * (place + 2) + at // 7) % len(words)] for at in range(60))
        items.append(ContextItem(f"r{place}", ItemKind.TOOL_RESULT, f"{said}.", f"c{place}"))
    return items


@pytest.mark.parametrize(
    ("phase", "stays"), [(Phase.ROUTE, 0.4), (Phase.INTERPRET, 0.4), (Phase.ANSWER, 0.2)]
)
def test_the_latest_result_is_shown_as_a_compile_afresh_shows_it(
    phase: Phase, stays: float
) -> None:
    items, shares = readings(24), []
    before = compile_pack(ListView(items[:9]), CompileRequest(phase, budget=500))
    for count in range(11, len(items) + 1, 2):
        request = CompileRequest(phase, budget=500)
        afresh = compile_pack(ListView(items[:count]), request)
        request = msgspec.structs.replace(request, stable_from=before.pack.id)
        after = compile_pack(ListView(items[:count]), request, base=before.audit)
        assert after.pack.entries[-1].text == afresh.pack.entries[-1].text
        assert after.pack.stats.prompt_tokens <= 500
        shares.append(repeated(before, after))
        before = after
    assert sum(shares) / len(shares) > stays


@pytest.mark.parametrize("berths", [10, 16, 22])
def test_the_newest_result_stays_while_the_agent_goes_on_speaking(berths: int) -> None:
    look = {"tool_name": "look", "arguments": {}}
    docks = (f"Order R{place:04d}X goes to dock D{place * 7:03d}." for place in range(19))
    listed = [{"id": at, "note": f"berth {at} of the inner harbour"} for at in range(berths)]
    items = [
        ContextItem("a0", ItemKind.AGENT_MSG, "\n".join(docks)),
        ContextItem("c1", ItemKind.TOOL_CALL, metadata=look),
        ContextItem("c2", ItemKind.TOOL_CALL, metadata=look),
        ContextItem("r2", ItemKind.TOOL_RESULT, "", "c2"),
        ContextItem(
            "r1", ItemKind.TOOL_RESULT, "\n\n".join(["No dock is free on Monday."] * 5), "c1"
        ),
        ContextItem("d", ItemKind.DOC_SNIPPET, json.dumps(listed), metadata={"pin": True}),
        ContextItem("a1", ItemKind.AGENT_MSG, "\n\n".join(["Let us look at the tides."] * 12)),
    ]
    made = compiled(items[:1], budget=500)
    for count in range(2, len(items) + 1):
        made = compiled(items[:count], made.audit, budget=500)
    assert {"r1", "a1"} <= {entry.item_id for entry in made.pack.entries}


def test_a_result_that_the_base_cut_is_whole_where_it_is_interpreted() -> None:
    items = readings(8)
    base = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=100))
    request = CompileRequest(Phase.INTERPRET, budget=300, stable_from=base.pack.id)
    after = compile_pack(ListView(items), request, base=base.audit)
    latest = after.pack.entries[-1]
    assert items[-1].text not in base.pack.prompt
    assert (latest.item_id, latest.view) == ("r7", "whole")
    assert items[-1].text in after.pack.prompt


def test_a_base_that_was_cut_for_a_smaller_budget_does_not_keep_what_fits_whole_now() -> None:
    items = readings(6)
    base = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=120))
    request = CompileRequest(Phase.CALL, budget=4_000, stable_from=base.pack.id)
    after = compile_pack(ListView(items), request, base=base.audit)
    assert all(item.text in after.pack.prompt for item in items if item.kind != "tool_call")


def refunds(count: int) -> list[ContextItem]:
    """Orders that were read one after another, then refunded in their order."""
    items = [ContextItem("u", ItemKind.USER_TURN, "Please refund all of my orders.")]
    for place in range(count):
        arguments = {"order_id": f"ORD-{1000 + 137 * place}"}
        lines = [
            {"sku": f"SKU-{place}{line}", "shelf": f"hall {line}-{place * 31 + line}"}
            for line in range(4)
        ]
        said = {**arguments, "lines": lines, "refund_to": f"card_{place}77{place}"}
        items += call_and_result("get_order", arguments, json.dumps(said), f"read{place}")
    for place in range(count):
        arguments = {"order_id": f"ORD-{1000 + 137 * place}", "to": f"card_{place}77{place}"}
        items += call_and_result("refund", arguments, '{"status": "refunded"}', f"refund{place}")
    return items


def call_and_result(
    tool: str, arguments: dict[str, str], result: str, name: str
) -> list[ContextItem]:
    call = {"tool_name": tool, "arguments": arguments}
    return [
        ContextItem(f"c-{name}", ItemKind.TOOL_CALL, json.dumps(arguments), metadata=call),
        ContextItem(f"r-{name}", ItemKind.TOOL_RESULT, result, f"c-{name}"),
    ]


def test_what_repeats_gives_way_to_the_next_entry_of_a_loop() -> None:
    count = 12
    items = refunds(count)
    before = compiled(items[: 1 + 2 * count + 2], budget=1_000)
    for done in range(2, 10):
        after = compiled(items[: 1 + 2 * count + 2 * done], before.audit, budget=1_000)
        before = after
    assert "card_9779" in after.pack.prompt
