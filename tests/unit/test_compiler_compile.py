"""The compile as a whole: pins, limits, reasons, phases, and what may not matter."""

import hashlib
import json

import msgspec
import pytest
from msgspec import UNSET
from tests.firewall_made import enveloped
from tests.provider_rules import check_anthropic, check_openai
from tests.session_view import ListView

from weft.adapters import anthropic, openai
from weft.compiler.compile import compile_pack
from weft.messages.writing import request
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Event
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, PhaseRule, SelectionRules
from weft_schemas.routing import Catalog, SelectableItem

FILLER = "Nothing of note was said about the weather, the harbour and the long road home."


def said(item_id: str, kind: ItemKind, text: str = FILLER, **metadata: object) -> ContextItem:
    return ContextItem(item_id, kind, text, metadata=metadata)


def compiled(
    items: list[ContextItem], phase: Phase = Phase.ANSWER, *, policy: ContextPolicy | None = None,
    **more: object,
) -> ContextPack:  # fmt: skip
    view = ListView(items, policy=policy)
    return compile_pack(view, CompileRequest(phase, **more)).pack


def reasons(pack: ContextPack) -> dict[str, str]:
    return {drop.item_id: drop.reason for drop in pack.stats.dropped_items}


def test_the_latest_user_turn_stands_however_long_ago_and_once() -> None:
    items = [said("u", ItemKind.USER_TURN, "Which dock?")]
    items += [said(f"a{n}", ItemKind.AGENT_MSG, f"{FILLER} {n}") for n in range(300)]
    pack = compiled(items, budget=200)
    assert pack.prompt.count("Which dock?") == 1
    assert [entry.section for entry in pack.entries if entry.item_id == "u"] == ["latest"]


def test_a_policy_stands_whole_in_half_the_budget_and_is_shortened_beyond() -> None:
    items = [said("p", ItemKind.POLICY, FILLER * 6), said("u", ItemKind.USER_TURN, "Hi")]
    assert compiled(items, budget=400).stats.notes == ()
    pack = compiled(items, budget=90)
    assert pack.stats.included_items == ("p", "u")
    assert pack.stats.notes == ("policy p is shortened to fit the budget",)


def test_a_pin_that_is_unknown_or_dropped_is_told_and_the_prompt_is_the_same() -> None:
    items = [
        said("u", ItemKind.USER_TURN, "Hi"),
        said("one", ItemKind.PLAN_STATE, "step 1"),
        said("two", ItemKind.PLAN_STATE, "step 2"),
        ContextItem("s", ItemKind.AGENT_MSG, "Hush", sensitivity=Sensitivity.RESTRICTED),
    ]
    pack = compiled(items, pin=("nobody", "one", "s", "u", "two", "nobody"))
    assert pack.stats.notes == (
        "pinned item 'nobody' is not in the prompt: the session has no such item at or before "
        "sequence 7",
        "pinned item 'one' is not in the prompt: dropped (superseded: by plan two)",
        "pinned item 's' is not in the prompt: dropped (sensitivity: restricted, "
        "floor confidential)",
    )
    assert pack.prompt == compiled(items).prompt


def test_the_query_ranks_and_is_never_rendered() -> None:
    items = [said(f"a{n}", ItemKind.AGENT_MSG, f"{FILLER} {n}") for n in range(50)]
    items[7] = said("hit", ItemKind.AGENT_MSG, "The zeppelin leaves at dawn.")
    pack = compiled(items, budget=120, query="zeppelins xylophone")
    assert "hit" in pack.stats.included_items
    assert "xylophone" not in pack.prompt


def test_one_token_gives_an_empty_prompt_and_says_why() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN, "Hi there")], budget=1)
    assert pack.prompt == ""
    assert pack.stats.notes[-1] == "a budget of 1 tokens is too small for any item"


@pytest.mark.parametrize("why", ["sensitivity", "pending", "kind_limit", "limits"])
def test_a_budget_is_called_too_small_only_where_that_is_why(why: str) -> None:
    level = Sensitivity.RESTRICTED if why == "sensitivity" else Sensitivity.PUBLIC
    kind = ItemKind.TOOL_RESULT if why == "pending" else ItemKind.USER_TURN
    item = ContextItem("u", kind, "Hi there", sensitivity=level)
    rules = {
        "kind_limit": PhaseRule((ItemKind.POLICY,)),
        "limits": PhaseRule(tuple(ItemKind), limits={ItemKind.USER_TURN: 0}),
    }
    phases = dict.fromkeys(Phase, rules[why]) if why in rules else ContextPolicy().phases
    view = ListView([item], policy=ContextPolicy(phases=phases), pending=["u"])
    pack = compile_pack(view, CompileRequest(Phase.ANSWER, budget=1)).pack
    assert (pack.prompt, pack.stats.notes) == ("", ())
    assert reasons(pack) == {"u": "kind_limit" if why == "limits" else why}


@pytest.mark.parametrize("policy", [False, True])
def test_a_reserve_that_leaves_nothing_is_named_first(policy: bool) -> None:
    items = [said("u", ItemKind.USER_TURN)]
    items += [said("p", ItemKind.POLICY)] if policy else []
    pack = compiled(items, budget=100, reserve=5_000)
    assert (pack.prompt, pack.stats.budget) == ("", 0)
    assert pack.stats.notes[0] == (
        "a reserve of 5000 tokens leaves nothing of the budget of 100: lower `reserve` or raise "
        "`budget`"
    )
    assert not [note for note in pack.stats.notes if "budget of 0" in note]
    default = compiled(items, reserve=1_000_000).stats.notes[0]
    assert default.startswith("a reserve of 1000000 tokens leaves nothing of the budget of ")


def test_a_budget_that_a_reserve_makes_too_small_is_told_with_it() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN, "Hi there")], budget=500, reserve=499)
    assert pack.stats.notes[-1] == (
        "a budget of 1 tokens (500 less a reserve of 499) is too small for any item"
    )


def test_reserve_comes_off_the_budget() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN)], budget=500, reserve=490)
    assert pack.stats.budget == 10
    assert pack.stats.prompt_tokens <= 10


def test_an_empty_session_compiles_to_nothing() -> None:
    pack = compiled([])
    assert (pack.prompt, pack.stats.total_candidates) == ("", 0)


def test_kinds_and_limits_of_the_phase_hold() -> None:
    items = [said("d", ItemKind.DOC_SNIPPET, "Manual"), said("u", ItemKind.USER_TURN, "Hi")]
    items += [said(f"a{n}", ItemKind.AGENT_MSG, f"Word {n} is new") for n in range(5)]
    rule = PhaseRule((ItemKind.USER_TURN, ItemKind.AGENT_MSG), limits={ItemKind.AGENT_MSG: 2})
    pack = compiled(items, policy=ContextPolicy(phases={Phase.ANSWER: rule}))
    assert reasons(pack) == {"d": "kind_limit"} | {f"a{n}": "kind_limit" for n in range(3)}
    assert pack.stats.included_items == ("u", "a3", "a4")


def test_only_the_newest_plan_stands() -> None:
    items = [said("one", ItemKind.PLAN_STATE, "step 1"), said("two", ItemKind.PLAN_STATE, "step 2")]
    items.append(said("bo", ItemKind.PLAN_STATE, "another's", author="Bo"))
    pack = compiled(items)
    assert reasons(pack) == {"one": "superseded"}
    assert pack.stats.included_items == ("two", "bo")


def test_nothing_is_dropped_for_resembling_something_else() -> None:
    items = [said("old", ItemKind.AGENT_MSG), said("new", ItemKind.AGENT_MSG)]
    items.append(said("doc", ItemKind.DOC_SNIPPET))
    pack = compiled(items)
    assert reasons(pack) == {}
    assert pack.prompt.count(FILLER) == 3


def test_the_same_answer_to_another_question_is_no_repetition() -> None:
    items = []
    for n in range(2):
        items.append(said(f"c{n}", ItemKind.TOOL_CALL, "", tool_name="f", arguments={"n": n}))
        items.append(ContextItem(f"r{n}", ItemKind.TOOL_RESULT, FILLER, f"c{n}"))
    assert reasons(compiled(items)) == {}


def test_a_favoured_kind_wins_a_tie_for_the_budget() -> None:
    """Two items alike but for kind and place: the favoured one stays, though it is older."""
    text = "Crate R17X goes to dock D25 with forty boxes of salt, of pepper and of fine cinnamon."
    other = "Crate R18X goes to dock D26 with thirty boxes of tea, of ginger and of old saffron."
    items = [
        said("favoured", ItemKind.PLAN_STATE, f"{text} Ask Mia about it before the ship leaves."),
        said("other", ItemKind.MEMORY_FACT, f"{other} Ask Tom about it before the ship leaves."),
        said("last", ItemKind.USER_TURN, "Go on"),
    ]
    shown = compiled(items, Phase.ROUTE, budget=75).stats.included_items
    assert shown == ("favoured", "last")


def test_interpret_favours_the_result_just_received() -> None:
    items = [said(f"a{n}", ItemKind.AGENT_MSG, f"{FILLER} Case {n}.") for n in range(30)]
    items.append(said("c", ItemKind.TOOL_CALL, "", tool_name="f", arguments={"id": "R7"}))
    result = '{"state": "late", "dock": "D25", "note": "waiting for the tide to turn"}'
    items.append(ContextItem("r", ItemKind.TOOL_RESULT, result, "c"))
    pack = compiled(items, Phase.INTERPRET, budget=120)
    assert result in pack.prompt


def test_all_eight_kinds_go_through_every_phase() -> None:
    kinds = enumerate(ItemKind)
    items = [said(kind.value, kind, f"About {kind.value} R{at}X") for at, kind in kinds]
    call = next(at for at, item in enumerate(items) if item.kind is ItemKind.TOOL_CALL)
    result = next(at for at, item in enumerate(items) if item.kind is ItemKind.TOOL_RESULT)
    items[result] = msgspec.structs.replace(items[result], parent_id=items[call].id)
    for phase in Phase:
        assert set(compiled(items, phase).stats.included_items) == {kind.value for kind in ItemKind}


def test_how_much_is_looked_at_does_not_grow_with_the_session() -> None:
    policy = ContextPolicy(selection=SelectionRules(recent=50, matches=20))
    totals = []
    for size in (300, 3_000):
        items = [said(f"a{n}", ItemKind.AGENT_MSG, f"Crate R{n}X holds salt") for n in range(size)]
        pack = compiled(items, policy=policy, budget=1_000, query="salt")
        totals.append(pack.stats.total_candidates)
    assert totals[1] <= totals[0] + 10


def test_pending_items_are_named_and_their_text_is_nowhere() -> None:
    items = [said("c", ItemKind.TOOL_CALL, "", tool_name="f", arguments={})]
    items.append(ContextItem("r", ItemKind.TOOL_RESULT, "raw swordfish", "c"))
    made = compile_pack(ListView(items, pending=["r"]), CompileRequest(Phase.CALL))
    assert "swordfish" not in repr(made)
    assert [waiting.item_id for waiting in made.pack.pending] == ["r"]
    assert reasons(made.pack) == {"r": "pending"}
    assert made.pack.prompt == "call: f({})\nresult: (its result is not worked on yet)"


def test_a_sequence_that_the_log_has_not_reached_is_told() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN)], as_of=99)
    assert pack.stats.notes == (f"as of 99: what is read ends at {pack.sequence}",)


def test_where_every_message_is_dropped_all_reasons_are_named_and_what_helps() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN, "so " * 50)], budget=5)
    several = {"orphan": 1, "budget": 3}
    stats = msgspec.structs.replace(pack.stats, no_message="orphan", dropped_reasons=several)
    told = r"dropped \(orphan: 1, budget: 3\).*into a budget of 5 tokens.*: raise `budget`"
    with pytest.raises(InvalidInput, match=told):
        request(msgspec.structs.replace(pack, stats=stats), "openai")


def test_a_turn_without_text_alone_is_no_message() -> None:
    pack = compiled([said("u", ItemKind.USER_TURN, " ")])
    assert pack.stats.no_message == "empty"
    with pytest.raises(InvalidInput, match="its messages have no text"):
        request(pack, "openai")
    assert compiled([said("c", ItemKind.TOOL_CALL, "", tool_name="f")]).stats.no_message is UNSET
    more = [said("u", ItemKind.USER_TURN, ""), said("a", ItemKind.AGENT_MSG, "Yes?")]
    assert compiled(more).stats.no_message is UNSET


def stored_results(text: str, count: int) -> tuple[list[Event], dict[str, bytes]]:
    """A question and results of which the text is in the object store, and that."""
    body = BodyRef(hashlib.sha256(text.encode()).hexdigest(), len(text))
    events: list[Event] = [said("u", ItemKind.USER_TURN, "Which orders are there?")]
    for n in range(count):
        events.append(said(f"c{n}", ItemKind.TOOL_CALL, "", tool_name="f", arguments={"n": n}))
        large = ContextItem(f"r{n}", ItemKind.TOOL_RESULT, "", f"c{n}", body=body)
        events += [large, enveloped(large, text, len(events) + 1)]
    return events, {body.sha256: text.encode()}


def compiled_of(events: list[Event], store: dict[str, bytes], budget: int) -> ContextPack:
    view = ReadModel.in_memory(records_of(events, "t", "s"), stored=store).view("t", "s")
    return compile_pack(view, CompileRequest(Phase.ANSWER, budget=budget)).pack


ORDERS = json.dumps([{"id": f"O-{n}", "city": f"city {n}"} for n in range(9_000)])


def test_a_result_in_the_object_store_is_shown_whole_if_it_fits_and_fills_a_smaller_budget() -> (
    None
):
    events, store = stored_results(ORDERS, 1)
    pack = compiled_of(events, store, 300_000)
    assert all(f"O-{n}" in pack.prompt for n in range(9_000))
    assert pack.stats.notes == ()
    pack = compiled_of(events, store, 20_000)
    assert pack.stats.prompt_tokens > 18_000
    assert pack.stats.notes == ()


def test_results_that_prompts_show_no_more_of_are_noted_with_the_reason() -> None:
    events, _ = stored_results(ORDERS, 5)
    size = f"{len(ORDERS):,}"
    stats = compiled_of(events, {}, 64_000).stats
    assert stats.notes == (
        *(
            f"result 'r{n}' of {size} bytes is shown as its summary: its envelope has no more of "
            "it, as it is no text, by policy, or since an earlier release made it "
            "(`weft rederive firewall`); read it by its handle"
            for n in range(3)
        ),
        "2 more results in the object store are shown as their summaries",
    )
    huge = ORDERS * 13
    events, store = stored_results(huge, 1)
    (note,) = compiled_of(events, store, 64_000).stats.notes
    assert note.endswith("prompts show no more of a result over 4 MiB; read it by its handle")
    small = compiled([said("r", ItemKind.TOOL_RESULT, ORDERS[:9_000])], budget=1_000)
    assert small.stats.notes == ()


@pytest.mark.parametrize("phase", Phase)
def test_a_catalogue_that_is_not_in_the_log_is_told_in_every_phase(phase: Phase) -> None:
    shop = Catalog("shop", (SelectableItem("pay", "pay"),))
    events = [said("u", ItemKind.USER_TURN), shop]
    view = ReadModel.in_memory(records_of(events, "t", "s")).view("t", "s")
    for name, noted in (("nope", True), ("shop", False)):
        for tool in (None, "pay"):
            asked = CompileRequest(phase, catalog=name, tool=tool)
            notes = " ".join(compile_pack(view, asked).pack.stats.notes)
            assert (f"catalogue '{name}' is not in the log" in notes) is noted


@pytest.mark.parametrize("order", ["call first", "result first"])
@pytest.mark.parametrize("tied_by", ["parent", "call_id"])
def test_a_result_joins_its_call_in_both_providers_messages(order: str, tied_by: str) -> None:
    metadata = {"tool_name": "get_order", "call_id": "call_1"}
    call = ContextItem("c", ItemKind.TOOL_CALL, 'get_order(id="R7")', metadata=metadata)
    parent = "c" if tied_by == "parent" else None
    result = ContextItem("r", ItemKind.TOOL_RESULT, "shipped today", parent, metadata=metadata)
    pair = [call, result] if order == "call first" else [result, call]
    pack = compiled([said("u", ItemKind.USER_TURN, "Where is it?"), *pair])
    assert pack.stats.dropped_items == ()
    assert pack.prompt.index("get_order(") < pack.prompt.index("shipped today")
    for messages, check in (
        (openai.messages(pack.entries), check_openai),
        (anthropic.messages(pack.entries), check_anthropic),
    ):
        check(messages)
        sent = str(messages)
        assert "no result is in the log" not in sent
        assert 0 <= sent.find("get_order") < sent.find("shipped today")
