"""Which of an agent's calls since the user's latest turn a prompt tells."""

from __future__ import annotations

import json

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def called(
    number: int, tool: str, result: str, failed: bool = False, **arguments: str
) -> list[ContextItem]:
    call, answer = f"{tool}{number}", f"{tool}{number}r"
    metadata = {"tool_name": tool, "arguments": {"id": f"PO-{7_000 + number}", **arguments}}
    outcome = {"is_error": True} if failed else {}
    return [
        ContextItem(call, ItemKind.TOOL_CALL, metadata=metadata),
        ContextItem(answer, ItemKind.TOOL_RESULT, result, call, metadata=outcome),
    ]


def paid(number: int) -> list[ContextItem]:
    settled = {"id": f"TR-{number * 7_919}", "scheme": "SCT_INST", "at": f"10:{number:02}:07Z"}
    settled |= {"fee": "0.2", "trace": f"{number * 104_729:032x}"}
    result = json.dumps({"ok": True, "transfer": settled, "status": "paid"})
    return called(number, "pay", result, iban=f"PT50{number * 15_485_863:021}")


LISTED = json.dumps(
    [{"payout": f"PO-{7_000 + n}", "amount": n * 97, "status": "open"} for n in range(60)]
)
ASKED = [
    ContextItem("u0", ItemKind.USER_TURN, "Which payouts are open?"),
    *called(99, "list", LISTED),
    ContextItem("a0", ItemKind.AGENT_MSG, "Sixty of them."),
    ContextItem("u1", ItemKind.USER_TURN, "Pay the first twelve, one after the other."),
]


def told(items: list[ContextItem], budget: int, phase: Phase = Phase.CALL) -> list[str]:
    """The ids of the items in the prompt."""
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=budget)).pack
    assert max(pack.stats.message_tokens.values()) <= budget
    return [entry.item_id for entry in pack.entries]


def payments(found: list[str]) -> list[str]:
    return [name for name in found if name.startswith("pay") and not name.endswith("r")]


def test_what_was_done_since_the_user_s_turn_is_told_before_what_was_listed_earlier() -> None:
    items = [*ASKED, *(item for number in range(12) for item in paid(number))]
    for phase in (Phase.CALL, Phase.ANSWER):
        newest = payments(told(items, 500, phase))
        assert newest == [f"pay{number}" for number in range(12 - len(newest), 12)]
        assert len(newest) >= 7
        assert payments(told(items, 800, phase)) == [f"pay{number}" for number in range(12)]


def test_a_call_that_does_not_fit_does_not_keep_an_older_and_shorter_one_out() -> None:
    reason = "Error: the account is closed, since " + "its owner has asked for it twice; " * 20
    failed = [item for n in (6, 7) for item in called(n, "pay", reason, why="as asked " * 20)]
    done = [item for number in range(10, 12) for item in paid(number)]
    found = payments(told([*ASKED, *called(5, "pay", "paid"), *failed, *done], 500))
    assert found == ["pay5", "pay10", "pay11"]


TIMETABLE = [f"Boat {n} leaves pier {n % 7} at {6 + n % 12}:{n % 60:02}." for n in range(90)]
SECTION = " ".join(TIMETABLE[:24])
REFUSED = "Error 409: page 48 is at version 3, base_version was 2. Nothing was written."


VERSIONS = json.dumps([{"page": 48, "version": n, "by": f"l.brandt{n}"} for n in range(9)])


def append(result: str, markdown: str = SECTION) -> list[ContextItem]:
    failed = result == REFUSED
    return called(9, "append", result, failed, base_version="2", markdown=markdown)


def texts_told(items: list[ContextItem], budget: int) -> dict[str, str]:
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    return {entry.item_id: entry.text for entry in pack.entries}


@pytest.mark.parametrize(
    ("since", "budget"),
    [([], 600), (called(10, "versions", VERSIONS), 860)],
    ids=["the newest", "the one before"],
)
def test_a_call_that_failed_is_told_with_all_that_it_was_given(
    since: list[ContextItem], budget: int
) -> None:
    before = [*ASKED, *(item for number in range(6) for item in paid(number))]
    told = texts_told([*before, *append(REFUSED), *since], budget)
    assert SECTION in told["append9"]
    assert "version 3" in told["append9r"]
    assert since or SECTION not in texts_told([*before, *append("{}")], 600)["append9"]


def test_a_call_that_was_made_good_is_not_told_with_what_it_was_given() -> None:
    before = [*ASKED, *(item for number in range(6) for item in paid(number))]
    again = called(10, "append", '{"page": 48, "version": 4}', base_version="3", markdown=SECTION)
    told = texts_told([*before, *append(REFUSED), *again], 860)
    assert SECTION in told["append10"]
    assert SECTION not in told.get("append9", "")


def test_of_a_failed_call_that_does_not_fit_most_of_the_budget_shows_parts() -> None:
    before = [*ASKED, *(item for number in range(6) for item in paid(number))]
    text = " ".join(TIMETABLE)
    shown = [texts_told([*before, *append(result, text)], 900) for result in (REFUSED, "{}")]
    failed, done = (len(told["append9"]) for told in shown)
    assert len(text) > failed > 1.2 * done


def test_once_not_all_fit_as_written_older_results_are_told_without_quotes() -> None:
    def page(number: int) -> str:
        return json.dumps([{"payout": f"PO-{number}{n}", "amount": n * 97} for n in range(12)])

    read = [item for number in range(1, 7) for item in called(number, "list", page(number))]
    items = [ContextItem("u", ItemKind.USER_TURN, "Read all pages."), *read]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=1_000)).pack
    complete = [entry for entry in pack.entries if entry.text.count("amount") == 12]
    assert [entry.item_id for entry in complete if '"amount"' in entry.text] == ["list6r"]
    assert len(complete) == 4


STEPS = "".join(f"step {n} of the migration was done\n" for n in range(12))
VIOLATED = ", ".join(f"orders.{n} has no customer {n * 7_919}" for n in range(60))


def test_a_failure_of_which_no_part_fits_takes_the_room_that_is_left() -> None:
    """It was cut to a few words, whatever was left."""
    asked = ContextItem("u0", ItemKind.USER_TURN, "Migrate the orders; mend what is refused.")
    failed = called(1, "migrate", f"{STEPS}IntegrityError: {VIOLATED}", failed=True)
    pack = compile_pack(ListView([asked, *failed]), CompileRequest(Phase.CALL, budget=200)).pack
    assert "IntegrityError: orders.0 has no customer 0, orders.1 has no customer" in pack.prompt
    assert "orders.2 has no customer" in pack.prompt
