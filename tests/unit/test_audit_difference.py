"""Two compiles side by side: what came, what went, what reads otherwise, each with its reason."""

from tests.audited import KEY, answer, call, envelope, log_of, turn

from weft.audit.difference import Difference, difference
from weft.audit.history import fresh_model
from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.events import FactsEvent, MemoryFact, Origin
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, PhaseRule


def compared(records, before: tuple[int, dict], after: tuple[int, dict]) -> Difference:
    model = fresh_model(records, records[-1].sequence, "o200k_base")
    sides = []
    for sequence, request in (before, after):
        view = model.view("default", "session", sequence)
        asked = CompileRequest(Phase.ANSWER, **request)
        sides.append((compile_pack(view, asked, key=KEY).pack, view))
    (was, was_view), (now, now_view) = sides
    found = difference(was, now, was_view, now_view)
    model.close()
    return found


def changes(found: Difference) -> dict[str, tuple[str, str]]:
    return {one.item_id: (one.change, one.why) for one in found.changes}


def test_a_compile_and_itself_do_not_differ():
    found = compared(log_of(), (5, {}), (5, {}))
    assert found.changes == ()
    assert found.same > 0


def test_a_later_sequence_tells_what_was_published_and_what_was_settled():
    found = compared(log_of(), (3, {}), (5, {}))
    assert changes(found)["r1"] == ("came", "its envelope had not come yet, event 4")
    assert changes(found)["u2"] == ("came", "published later, event 5")


def test_back_in_time_the_same_goes():
    found = compared(log_of(), (5, {}), (3, {}))
    assert changes(found)["r1"] == ("went", "its envelope has not come yet")
    assert changes(found)["u2"] == ("went", "not in the log at that sequence")


def test_another_policy_tells_which_rule_dropped_it():
    rule = PhaseRule(kinds=(ItemKind.USER_TURN,))
    policy = ContextPolicy(phases={**ContextPolicy().phases, Phase.ANSWER: rule})
    found = compared(log_of(), (5, {}), (5, {"policy": policy}))
    change, why = changes(found)["r1"]
    assert change == "went"
    assert why.startswith(("kind_limit", "no candidate"))
    back = compared(log_of(), (5, {"policy": policy}), (5, {}))
    assert changes(back)["r1"][0] == "came"


def test_a_lower_floor_names_sensitivity():
    secret = turn("u3", "My password hint is the dog.")
    records = log_of(
        type(secret)(secret.id, secret.kind, secret.text, sensitivity=Sensitivity.INTERNAL),
        turn("u4", "And now?"),
    )
    policy = ContextPolicy(sensitivity_floor=Sensitivity.INTERNAL)
    found = compared(records, (7, {}), (7, {"policy": policy}))
    assert changes(found)["u3"][1].startswith("sensitivity")


def test_a_result_that_was_derived_again_is_changed():
    records = log_of(envelope(3, "r1", "two open invoices: INV-4711, INV-9", "firewall/2/0"))
    found = compared(records, (5, {}), (6, {}))
    assert changes(found) == {"r1": ("changed", "derived again: its text is that of event 6")}


def test_a_smaller_budget_names_the_budget():
    long = "word " * 400
    records = log_of(call("c2", "u2", n=1), answer("r2", "c2", "RAW"), envelope(7, "r2", long))
    found = compared(records, (8, {"budget": 4_000}), (8, {"budget": 90}))
    whys = {why for _, why in changes(found).values()}
    assert whys & {"budget", "shown as shortened instead of whole"}
    assert found.after.prompt_tokens <= 90 < found.before.prompt_tokens


def learned(sequence: int, value: str) -> FactsEvent:
    """A fact of the item with this sequence."""
    fact = MemoryFact("city", value, ("u1",))
    return FactsEvent(Origin(sequence, worker="memory"), "session:session", (fact,))


def test_the_header_goes_where_there_is_no_room_for_it():
    found = compared(log_of(learned(1, "Oslo")), (6, {}), (6, {"budget": 20}))
    assert changes(found)["facts"] == ("went", "no room for it within the budget and the policy")
    back = compared(log_of(learned(1, "Oslo")), (6, {"budget": 20}), (6, {}))
    assert changes(back)["facts"] == ("came", "the first had no room for it")


def test_the_header_comes_when_something_is_remembered():
    records = log_of(learned(1, "Oslo"))
    assert changes(compared(records, (5, {}), (6, {})))["facts"] == ("came", "remembered since")
    back = changes(compared(records, (6, {}), (5, {})))
    assert back["facts"] == ("went", "nothing was remembered at that sequence")


def test_a_new_value_changes_the_header():
    found = compared(log_of(learned(1, "Oslo"), learned(5, "Rome")), (6, {}), (7, {}))
    assert changes(found)["facts"] == ("changed", "other facts are shown, or other values")
