"""Stage 1: what is looked at, however long the session is."""

from tests.session_view import ListView

from weft.compiler.candidates import Candidates, find_candidates
from weft.compiler.phases import LOOKS
from weft.compiler.query import understand
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase, SelectionRules

LENGTH = 400


def talk(**placed: ContextItem) -> list[ContextItem]:
    """Turns of an agent, some replaced: `at_7` is the eighth."""
    items = [
        ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Step {n} of the long job is done by now.")
        for n in range(LENGTH)
    ]
    for place, item in placed.items():
        items[int(place.removeprefix("at_"))] = item
    return items


def found(items: list[ContextItem], query: str = "", phase: Phase = Phase.ANSWER) -> Candidates:
    reach = LOOKS[phase].reach
    return find_candidates(ListView(items), understand(query), SelectionRules(), reach, 1_000)


def ids(candidates: Candidates) -> set[str]:
    return {row.id for row in candidates.rows}


def test_a_match_comes_with_what_stands_beside_it() -> None:
    items = talk(at_50=ContextItem("hit", ItemKind.AGENT_MSG, "The zeppelin left."))
    made = found(items, "zeppelins")
    assert {"hit", "a49", "a51", "a48", "a52"} <= ids(made)
    assert list(made.scores) == [101]  # the item at place 50 in a log of items and envelopes


def test_the_latest_turn_and_plan_and_the_policies_are_looked_at_however_old() -> None:
    items = talk(
        at_1=ContextItem("user", ItemKind.USER_TURN, "Go on."),
        at_2=ContextItem("plan", ItemKind.PLAN_STATE, "1. Go on"),
        at_3=ContextItem("rule", ItemKind.POLICY, "Be brief."),
    )
    made = found(items)
    assert {"user", "plan", "rule"} <= ids(made)
    assert made.latest_user == 3


def test_the_newest_are_looked_at_and_the_length_of_the_session_does_not_matter() -> None:
    for phase in Phase:
        made = found(talk(), phase=phase)
        assert f"a{LENGTH - 1}" in ids(made)
        assert len(made.rows) == len(found(talk()[LENGTH // 2 :], phase=phase).rows)


def test_they_come_in_the_order_of_happening() -> None:
    sequences = [row.sequence for row in found(talk(), "step 7 job").rows]
    assert sequences == sorted(set(sequences))
