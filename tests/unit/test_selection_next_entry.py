"""A list that the agent works through is shown with the entry that comes next."""

from __future__ import annotations

import json

from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.selection.next_entry import with_next_entry
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

VOYAGES = [f"{n}W{chr(65 + n)}L3{n}" for n in range(16)]
PROFILE = json.dumps(
    {
        "name": {"first": "Daiki", "last": "Muller"},
        "address": {"street": "594 Chestnut Street", "city": "Indianapolis", "zip": "46254"},
        "email": "daiki@example.com",
        "cards": {f"card_{n}44093{n}": {"brand": "visa", "last_four": f"213{n}"} for n in range(6)},
        "voyages": VOYAGES,
    }
)


def call_and_result(
    name: str, arguments: dict[str, str], text: str, number: int
) -> list[ContextItem]:
    metadata = {"tool_name": name, "arguments": arguments}
    call = ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata)
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, call.id)]


def voyage(name: str) -> str:
    legs = [
        {"from": f"P{n}", "to": f"P{n + 1}", "ship": f"{name}-{n}", "price": 99 + n}
        for n in range(9)
    ]
    return json.dumps({"voyage": name, "legs": legs, "paid_by": "card_2408938", "insured": "no"})


def reading(count: int) -> list[ContextItem]:
    """The agent reads the first of the voyages that a profile lists, after other work."""
    plan = "This is what I would do, if you agree: " + "one voyage is moved to a later day. " * 25
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "I must move some voyages. " + "It is urgent. " * 30),
        ContextItem("a1", ItemKind.AGENT_MSG, plan),
        ContextItem("u2", ItemKind.USER_TURN, "Yes. And which voyages do I have, at what price?"),
    ]
    for number in range(3):
        done = {"from": f"Q{number}", "class": "first", "note": "as agreed on the phone"}
        items += call_and_result("update", done, voyage(f"OLD{number}K{number}"), number)
    items += call_and_result("profile", {"user": "daiki_1116"}, PROFILE, 10)
    for number, name in enumerate(VOYAGES[:count], 20):
        items += call_and_result("read", {"voyage": name}, voyage(name), number)
    return items


def test_the_next_entry_is_shown_however_little_room_is_left() -> None:
    for budget in range(1_050, 1_400, 100):
        for count in range(2, 8):
            request = CompileRequest(Phase.CALL, budget=budget)
            pack = compile_pack(ListView(reading(count)), request).pack
            (shown,) = (entry.text for entry in pack.entries if entry.item_id == "r10")
            assert VOYAGES[count] in shown, (budget, count)


def test_behind_the_last_entry_nothing_is_claimed() -> None:
    request = CompileRequest(Phase.CALL, budget=1_050)
    pack = compile_pack(ListView(reading(len(VOYAGES))), request).pack
    assert VOYAGES[-1] in pack.prompt
    assert pack.stats.prompt_tokens <= 1_050


def test_what_a_stable_prompt_has_kept_stays_as_it_was() -> None:
    choice = choice_of(reading(3), 2_000, Phase.CALL)
    listed = next(
        at for at, item_renditions in choice.renditions.items() if item_renditions.row.id == "r10"
    )
    shown = {
        row.sequence: choice.renditions[row.sequence].choose(())
        for group in choice.groups
        for row in group.rows
        if listed in {one.sequence for one in group.rows}
    }
    assert with_next_entry(choice, shown)[listed] != shown[listed]
    assert with_next_entry(choice, shown, {listed}) == shown


def ticket(number: int) -> dict[str, object]:
    lines = [
        {"part": f"PT-{number}{at}", "count": at + 2, "price": f"{number}.{at}0"} for at in (1, 2)
    ]
    by = {"mail": f"someone.{number}@post.example", "hall": f"hall {number} on the north side"}
    return {"ticket": f"T-{500 + number * 13}", "opened": by, "lines": lines, "state": "open"}


def test_the_records_that_come_next_are_shown_with_all_that_they_hold() -> None:
    text = json.dumps({"tickets": [ticket(number) for number in range(40)]})
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Close the tickets of which a line is delivered."),
        *call_and_result("tickets", {"state": "open"}, text, 0),
    ]
    for number in (20, 22):
        name = str(ticket(number)["ticket"])
        items += call_and_result("close", {"ticket": name, "reason": "delivered"}, "{}", number)
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=700)).pack
    (shown,) = (entry.text for entry in pack.entries if entry.item_id == "r0")
    for number in (23, 24):
        assert all(str(line["part"]) in shown for line in ticket(number)["lines"])
