"""Facts and episodes: newer ones supersede, and what was in force before stays to be read."""

from __future__ import annotations

import pytest
from tests.folded import envelope, fact, model, result, turn, values

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.events import (
    EpisodeEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    SessionClosedEvent,
)
from weft_schemas.items import ContextItem, ItemKind


def test_a_newer_fact_supersedes_and_the_old_one_stays_for_as_of() -> None:
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), turn("b"), fact(3, "b", "tz", "CET"))
    assert values(read) == {"tz": "CET"}
    assert values(read, 3) == {"tz": "UTC"}
    assert values(read, 1) == {}


def test_which_fact_is_newer_is_a_matter_of_its_source() -> None:
    read = model(turn("a"), turn("b"), fact(2, "b", "tz", "CET"), fact(1, "a", "tz", "UTC"))
    assert values(read) == {"tz": "CET"}


def test_a_rerun_withdraws_what_the_run_before_it_learned() -> None:
    again = FactsEvent(Origin(1, "a", "memory", "2", run="r"), "u", ())
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), again)
    assert values(read) == {}
    assert values(read, 2) == {"tz": "UTC"}


def test_after_a_withdrawal_the_value_before_is_in_force_again() -> None:
    again = FactsEvent(Origin(3, "b", "memory", "2", run="r"), "u", ())
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), turn("b"), fact(3, "b", "tz", "CET"), again)
    assert (values(read, 4), values(read)) == ({"tz": "CET"}, {"tz": "UTC"})


def test_facts_of_a_new_envelope_replace_those_of_the_old_one() -> None:
    read = model(
        result("r"),
        envelope(1, "r", "one"),
        fact(2, "r", "a", "1"),
        envelope(1, "r", "two", "run"),
        fact(4, "r", "b", "2"),
    )
    assert values(read) == {"b": "2"}
    assert values(read, 4) == {"a": "1"}


def test_facts_are_seen_in_their_scope_alone_and_in_all_its_sessions() -> None:
    one = records_of([turn("a"), fact(1, "a", "tz", "UTC", "user:1")], "t", "s")
    read = ReadModel.in_memory(one + records_of([turn("b")], "t", "s2", first_sequence=3))
    assert [f.session for f in read.view("t", "s2").facts(["user:1"])] == ["s"]
    assert read.view("t", "s2").facts(["user:2", "session:s2"]) == []
    assert read.view("other", "s2").facts(["user:1"]) == []


def test_the_scopes_of_a_session_are_its_own_and_those_its_items_name() -> None:
    read = model(turn("a", metadata={"scope": "user:1"}), turn("b", metadata={"scope": "p"}))
    assert read.view("t", "s").scopes() == ["session:s", "user:1", "p"]
    assert read.view("t", "s", 1).scopes() == ["session:s", "user:1"]


def test_the_digest_does_not_know_an_episode_by_its_sequence_numbers() -> None:
    def log(gap: int, names: list[str]) -> ReadModel:
        """Two closed stretches, of which each episode tells."""
        places = [place * gap for place in range(1, 7)]
        episodes = [
            EpisodeEvent(
                Origin(places[at], "", "memory", "1"), name, "u", text, 1, "x", places[first],
                places[first],
            )
            for name, text, at, first in zip(names, ("one", "two"), (1, 4), (0, 3), strict=True)
        ]  # fmt: skip
        stretch = [turn("a"), SessionClosedEvent(), episodes[0]]
        events = [*stretch, turn("b"), SessionClosedEvent(), episodes[1]]
        made = records_of(events, "t", "s")
        return ReadModel.in_memory(
            LogRecord(place, record.subject, 7, record.payload)
            for place, record in zip(places, made, strict=True)
        )

    here = log(1, ["s:1", "s:4"])
    assert [e.text for e in here.view("t", "s").episodes(["u"], 5)] == ["two", "one"]
    # Sorted by name the second comes first there: "s:18" < "s:9".
    assert content_digest(log(3, ["s:9", "s:18"]).db) == content_digest(here.db)
    assert content_digest(log(1, ["s:4", "s:4"]).db) != content_digest(here.db)


def test_the_newest_episodes_come_first() -> None:
    def episode(source: int, id: str) -> EpisodeEvent:
        origin = Origin(source, worker="memory")
        return EpisodeEvent(origin, id, "u", f"text {id}", 2, "cl100k_base", 1, source)

    close = SessionClosedEvent()
    read = model(turn("a"), close, episode(2, "e1"), turn("b"), close, episode(5, "e2"))
    assert [e.episode_id for e in read.view("t", "s").episodes(["u"], 5)] == ["e2", "e1"]
    assert [e.episode_id for e in read.view("t", "s", 4).episodes(["u"], 5)] == ["e1"]
    assert [e.episode_id for e in read.view("t", "s").episodes(["u"], 1)] == ["e2"]


def negation(source: int, id: str, key: str, *negated: str) -> FactsEvent:
    origin = Origin(source, id, "memory", "1")
    return FactsEvent(origin, "u", (MemoryFact(key, "", (id,), negates=negated),))


def test_a_negation_withdraws_the_value_that_it_names() -> None:
    read = model(
        turn("a"), fact(1, "a", "city", "Berlin"), turn("b"), negation(3, "b", "city", "berlin")
    )
    assert (values(read, 3), values(read)) == ({"city": "Berlin"}, {"city": ""})


def test_a_negation_of_something_else_withdraws_nothing() -> None:
    read = model(
        turn("a"), fact(1, "a", "city", "Paris"), turn("b"), negation(3, "b", "city", "Berlin")
    )
    assert values(read) == {"city": "Paris"}
    alone = model(turn("b"), negation(1, "b", "city", "Berlin"))
    assert values(alone) == {}


def test_what_a_negation_is_about_may_arrive_after_it() -> None:
    read = model(
        turn("a"), turn("b"), negation(2, "b", "city", "Berlin"), fact(1, "a", "city", "Berlin")
    )
    assert values(read) == {"city": ""}


def test_each_of_several_negations_is_about_what_was_stated_before_them() -> None:
    events = [
        turn("a"), fact(1, "a", "city", "Rome"),
        turn("b"), fact(3, "b", "city", "Berlin"),
        turn("c"), negation(5, "c", "city", "Berlin", "Bonn"),
        turn("d"), negation(7, "d", "city", "Rome"),
    ]  # fmt: skip
    assert values(model(*events)) == {"city": ""}
    assert values(model(*events, turn("e"), fact(9, "e", "city", "Rome"))) == {"city": "Rome"}


def test_a_negation_that_a_rerun_does_not_find_is_taken_back() -> None:
    again = FactsEvent(Origin(3, "b", "memory", "2", run="r"), "u", ())
    read = model(
        turn("a"), fact(1, "a", "city", "Berlin"), turn("b"), negation(3, "b", "city", "Berlin"),
        again,
    )  # fmt: skip
    assert (values(read, 4), values(read)) == ({"city": ""}, {"city": "Berlin"})


def test_a_value_that_was_withdrawn_is_in_no_negations_past() -> None:
    again = FactsEvent(Origin(3, "b", "memory", "2", run="r"), "u", ())
    read = model(
        turn("a"), fact(1, "a", "city", "Rome"), turn("b"), fact(3, "b", "city", "Berlin"),
        turn("c"), negation(5, "c", "city", "Berlin"), again,
    )  # fmt: skip
    assert (values(read, 6), values(read)) == ({"city": ""}, {"city": "Rome"})


def given(id: str) -> ContextItem:
    return ContextItem(id, ItemKind.MEMORY_FACT, "stated below")


def city(read: ReadModel, as_of: int | None = None) -> tuple[str, ...]:
    """What is known of it: the value and, if it differs, what the user said since."""
    (known,) = read.view("t", "s", as_of).facts(["u"])
    later = known.said_later
    return (known.value,) if later is None else (known.value, later.value, *later.negates)


GIVEN = [given("a"), fact(1, "a", "city", "Berlin")]
SAID = [turn("b"), fact(3, "b", "city", "Munich")]


def test_what_a_user_says_stands_beside_what_the_application_gave() -> None:
    read = model(*GIVEN, *SAID)
    assert city(read) == ("Berlin", "Munich")
    assert city(read, 3) == ("Berlin",)
    (known,) = read.view("t", "s").facts(["u"])
    assert (known.by_user, known.sources) == (False, ("a",))
    assert known.said_later is not None
    assert (known.said_later.by_user, known.said_later.sources) == (True, ("b",))


def test_a_result_and_what_others_derive_count_as_given() -> None:
    for item in (result("a"), given("a"), ContextItem("a", ItemKind.AGENT_MSG, "hello")):
        assert city(model(item, fact(1, "a", "city", "Berlin"), *SAID)) == ("Berlin", "Munich")


def test_a_newer_value_of_the_application_replaces_both() -> None:
    read = model(*GIVEN, *SAID, given("c"), fact(5, "c", "city", "Hamburg"))
    assert (city(read, 5), city(read)) == (("Berlin", "Munich"), ("Hamburg",))
    late = model(given("a"), turn("b"), fact(2, "b", "city", "Munich"), fact(1, "a", "city", "B"))
    assert city(late) == ("B", "Munich")


def test_of_two_users_statements_the_newer_stands() -> None:
    assert city(model(*GIVEN, *SAID, turn("c"), fact(5, "c", "city", "Bonn"))) == (
        "Berlin",
        "Bonn",
    )


def test_a_user_who_says_the_same_changes_nothing() -> None:
    assert city(model(*GIVEN, turn("b"), fact(3, "b", "city", "berlin"))) == ("Berlin",)


def test_a_users_denial_withdraws_only_what_a_user_taught() -> None:
    assert city(model(*GIVEN, turn("b"), negation(3, "b", "city", "Berlin"))) == (
        "Berlin",
        "",
        "Berlin",
    )
    assert city(model(*GIVEN, *SAID, turn("c"), negation(5, "c", "city", "Munich"))) == ("Berlin",)
    assert city(model(*GIVEN, *SAID, turn("c"), negation(5, "c", "city", "Bonn"))) == (
        "Berlin",
        "Munich",
    )


def test_a_user_who_asks_to_forget_withdraws_only_what_a_user_taught() -> None:
    said = [turn("a"), fact(1, "a", "city", "Berlin")]
    assert values(model(*said, turn("b"), fact(3, "b", "city", ""))) == {"city": ""}
    assert city(model(*GIVEN, turn("b"), fact(3, "b", "city", ""))) == ("Berlin", "")


def test_once_the_application_withdraws_its_value_the_users_stands_alone() -> None:
    read = model(*GIVEN, given("x"), fact(3, "x", "city", ""), turn("b"), fact(5, "b", "city", "M"))
    assert city(read) == ("M",)
    negated = [*GIVEN, *SAID, given("c"), negation(5, "c", "city", "Berlin")]
    assert city(model(*negated)) == ("Munich",)


@pytest.mark.parametrize("gone", ["a", "b"])
def test_what_is_derived_no_more_leaves_the_other(gone: str) -> None:
    source = {"a": 1, "b": 3}[gone]
    again = FactsEvent(Origin(source, gone, "memory", "2", run="r"), "u", ())
    read = model(*GIVEN, *SAID, again)
    assert city(read) == {"a": ("Munich",), "b": ("Berlin",)}[gone]
    assert city(read, 4) == ("Berlin", "Munich")


def test_what_is_given_is_found_however_many_facts_there_are() -> None:
    names = [f"k{n}" for n in range(1_200)]
    many = FactsEvent(
        Origin(1, "a", "memory"), "u", tuple(MemoryFact(name, "given", ("a",)) for name in names)
    )
    read = model(given("a"), many, turn("b"), fact(3, "b", names[1_100], "said"))
    known = {one.key: one for one in read.view("t", "s").facts(["u"])}[names[1_100]]
    assert known.value == "given"
    assert known.said_later is not None


@pytest.mark.parametrize(
    ("value", "negated", "is_gone"),
    [
        ("Acme Inc", "acme", True),
        ("Berlin, Germany", "Berlin", True),
        ("Berliner Str. 5", "Berlin", False),
        ("Acme", "Acme Inc", False),
        ("New Acme", "Acme", False),
        ("Acme Inc.", "Acme", True),
        ("Acme, Inc.", "acme", True),
        ("ACME  GmbH & Co. KG", "Acme", True),
        ("Acme S.A.", "Acme", True),
        ("Acme Inc.", "Acme Inc", True),
        ("Acme Health", "Acme", False),
        ("Acme Health Inc", "Acme", False),
        ("Acme Inc Health", "Acme", False),
        ("Acme Ltd", "Acme Inc", False),
        ("New York", "New", False),
        ("5 Elm Street, Springfield", "5 Elm Street", True),
        ("Company", "Acme", False),
    ],
)
def test_a_negation_is_about_its_value_also_with_a_legal_form_or_what_specifies_it(
    value: str, negated: str, is_gone: bool
) -> None:
    read = model(turn("a"), fact(1, "a", "k", value), turn("b"), negation(3, "b", "k", negated))
    assert values(read) == {"k": "" if is_gone else value}
