"""Stage 1: what is looked at, however long the session is."""

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.find import Candidates, find_candidates
from weft.compiler.profiles import LONG_QUERY, PROFILES
from weft.compiler.ranking.question import understand
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.search import MAX_POSTINGS
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
    reach = PROFILES[phase].retrieval
    return find_candidates(ListView(items), understand(query), SelectionRules(), reach, 1_000)


def ids(candidates: Candidates) -> set[str]:
    return {row.id for row in candidates.rows}


def test_a_match_comes_with_what_stands_beside_it() -> None:
    items = talk(at_50=ContextItem("hit", ItemKind.AGENT_MSG, "The zeppelin left."))
    made = found(items, "zeppelins")
    assert {"hit", "a49", "a51", "a48", "a52"} <= ids(made)
    assert list(made.scores) == [101]  # the item at place 50 in a log of items and envelopes


def test_what_stands_beside_a_matching_document_takes_no_match_s_place() -> None:
    texts = [f"Clause {n} of the contract." for n in range(LENGTH)]
    for place in range(3, LENGTH // 2, 7):
        texts[place] = f"The zeppelin {place} left."
    items = [ContextItem(f"d{n}", ItemKind.DOC_SNIPPET, text) for n, text in enumerate(texts)]
    made = ids(found(items, "zeppelins"))
    assert made.issuperset(f"d{place}" for place in range(3, LENGTH // 2, 7))
    assert made.isdisjoint({"d2", "d4", "d51", "d53"})


def test_the_latest_turn_and_plan_and_the_policies_are_looked_at_however_old() -> None:
    items = talk(
        at_1=ContextItem("user", ItemKind.USER_TURN, "Go on."),
        at_2=ContextItem("plan", ItemKind.PLAN_STATE, "1. Go on"),
        at_3=ContextItem("rule", ItemKind.POLICY, "Be brief."),
    )
    made = found(items)
    assert {"user", "plan", "rule"} <= ids(made)
    assert made.latest_user == 3


USER = ItemKind.USER_TURN


def document(name: str, turn_id: str | None = None) -> ContextItem:
    metadata = {"turn_id": turn_id} if turn_id else {}
    return ContextItem(name, ItemKind.DOC_SNIPPET, f"The text of {name}.", metadata=metadata)


def test_the_documents_of_the_users_latest_message_are_always_considered() -> None:
    early = [document("d0", "d0"), ContextItem("u0", ItemKind.USER_TURN, "Read.")]
    asked = ContextItem("u1", ItemKind.USER_TURN, "And this?", metadata={"turn_id": "d1"})
    message = [document("d1", "d1"), document("d2", "d1"), asked]
    library = [document("d3"), document("d4")]
    steps = talk()[:40]

    def pinned(*items: ContextItem) -> list[str]:
        made = found(list(items))
        names = {row.sequence: row.id for row in made.rows}
        return [names[at] for at in made.pinned]

    assert pinned(*early, *steps, *message, *library) == ["u1", "u0", "a39"]
    assert pinned(*message, *steps, *early[:1]) == ["u1", "d0"]  # a message without words
    later = [*message, *talk(at_1=document("d3"))]
    assert {"d1", "d2"} <= ids(
        found([one for one in later if one.kind is not USER or one is asked])
    )


def test_the_newest_are_looked_at_and_the_length_of_the_session_does_not_matter() -> None:
    for phase in Phase:
        made = found(talk(), phase=phase)
        assert f"a{LENGTH - 1}" in ids(made)
        assert len(made.rows) == len(found(talk()[LENGTH // 2 :], phase=phase).rows)


def test_they_come_in_the_order_of_happening() -> None:
    sequences = [row.sequence for row in found(talk(), "step 7 job").rows]
    assert sequences == sorted(set(sequences))


def test_a_long_query_reads_its_common_terms_too() -> None:
    rarer, common = [f"acorn{n}" for n in range(20)], [f"birch{n}" for n in range(20)]
    times = MAX_POSTINGS // len(rarer) + 1
    others = [*rarer * times, *common * (times + 1)]
    texts = [*map("The {} grows.".format, others), " ".join(common)]
    items = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, text) for n, text in enumerate(texts)]
    view = ReadModel.in_memory(records_of(items, "t", "s")).view("t", "s")
    question = understand(" ".join([*rarer, *common]))
    made = find_candidates(
        view, question, SelectionRules(), PROFILES[Phase.ANSWER].retrieval, 1_000
    )
    assert max(made.scores, key=made.scores.__getitem__) == view.recent(1)[0].sequence


def test_what_a_short_query_finds_is_searched_for_more_and_what_a_long_one_finds_is_not() -> None:
    items = talk(
        at_50=ContextItem("hit", ItemKind.AGENT_MSG, "The zeppelin left the gondola."),
        at_90=ContextItem("like", ItemKind.AGENT_MSG, "A gondola is slow."),
    )
    filler = " ".join(f"word{n}" for n in range(LONG_QUERY))
    assert set(found(items, "zeppelin").scores) == {101, 181}
    assert set(found(items, f"zeppelin {filler}").scores) == {101}


def test_what_a_long_query_repeats_counts_more_where_a_question_is_answered() -> None:
    items = talk(
        at_50=ContextItem("once", ItemKind.AGENT_MSG, "The zeppelin left."),
        at_90=ContextItem("often", ItemKind.AGENT_MSG, "The gondola left."),
    )
    long = " ".join(["gondola, zeppelin, gondola", *(f"word{n}" for n in range(LONG_QUERY))])
    answer, call = found(items, long).scores, found(items, long, Phase.CALL).scores
    assert answer[181] == 2 * answer[101]
    assert call[181] == call[101]
    assert found(items, "gondola gondola").scores == found(items, "gondola").scores


def test_an_agents_long_messages_do_not_crowd_out_what_users_said() -> None:
    advice = "\n\n".join(f"{'Each step of a budget. ' * 30}{n}" for n in range(3))

    def users_found(author: str) -> int:
        named = {"author": author} if author else {}
        items = [
            one
            for n in range(9)
            for one in (
                ContextItem(f"u{n}", ItemKind.USER_TURN, f"Step {n} of my budget is lunch."),
                ContextItem(f"a{n}", ItemKind.AGENT_MSG, advice, metadata=named),
            )
        ]
        view = ReadModel.in_memory(records_of(items, "t", "s")).view("t", "s")
        reach = PROFILES[Phase.CALL].retrieval
        made = find_candidates(view, understand("budget step"), SelectionRules(), reach, 1_000)
        kinds = {row.sequence: row.kind for row in made.rows}
        return sum(kinds[at] is ItemKind.USER_TURN for at in made.scores)

    assert users_found("Dana") == 0
    assert users_found("") == 3


def test_of_short_items_more_matches_are_considered() -> None:
    short = [ContextItem(f"s{n}", ItemKind.USER_TURN, f"zeppelin {n}") for n in range(LENGTH)]
    long = [
        ContextItem(f"l{n}", ItemKind.USER_TURN, f"zeppelin {n} " + "and so on " * 99)
        for n in range(LENGTH)
    ]
    assert len(found(short, "zeppelins").passages) > 2 * len(found(long, "zeppelins").passages)


@pytest.mark.parametrize(("author", "matching"), [("Mia", {"cake"}), ("Leo", {"cake", "named"})])
def test_who_wrote_an_item_is_matched_by_name_and_not_by_its_text(
    author: str, matching: set[str]
) -> None:
    items = [
        ContextItem("cake", ItemKind.USER_TURN, "I baked it.", metadata={"author": author}),
        ContextItem("named", ItemKind.USER_TURN, "Ask Mia.", metadata={"author": "Tom"}),
    ]
    made = found(items, "What did Mia bake?")
    assert {row.id for row in made.rows if row.sequence in made.passages} == matching
