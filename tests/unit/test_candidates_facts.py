"""Facts of which a newer value is known leave the prompt, wherever they stand."""

import json

import msgspec
import pytest
from tests.folded import fact, model, turn
from tests.session_view import ListView

from weft.audit.reproduce import SAME, reproduce
from weft.compiler.compile import compile_pack
from weft.messages.writing import PROVIDERS, request
from weft.readmodel.rows import FactRow
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack
from weft_schemas.events import FactsEvent, MemoryFact, Origin
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase


def remembered(item_id: str, text: str, **metadata: object) -> ContextItem:
    return ContextItem(item_id, ItemKind.MEMORY_FACT, text, metadata=metadata)


def known(key: str, value: str, sequence: int, source: str, by_user: bool = False) -> FactRow:
    return FactRow(
        "session:s", key, value, sequence, sequence, (source,), Sensitivity.PUBLIC, "s",
        by_user=by_user,
    )  # fmt: skip


def compiled(items: list[ContextItem], *facts: FactRow) -> ContextPack:
    return compile_pack(ListView(items, facts=facts), CompileRequest(Phase.ANSWER)).pack


def reasons(pack: ContextPack) -> dict[str, tuple[str, str]]:
    return {drop.item_id: (drop.reason, drop.detail) for drop in pack.stats.dropped_items}


def texts(pack: ContextPack) -> dict[str, tuple[str, str]]:
    return {entry.item_id: (entry.text, entry.view) for entry in pack.entries}


ASKED = ContextItem("u", ItemKind.USER_TURN, "When do we meet?")


def test_of_two_items_that_state_a_fact_the_newer_stands() -> None:
    pack = compiled([remembered("old", "tz=UTC"), remembered("new", '{"tz": "CET"}'), ASKED])
    assert reasons(pack) == {"old": ("superseded", "by what new says")}
    assert "UTC" not in pack.prompt


def test_an_item_gives_way_to_a_fact_that_the_application_gave_since() -> None:
    items = [remembered("old", "UTC", key="user_timezone"), ASKED]
    pack = compiled(items, known("user_timezone", "CET", 3, "u"))
    assert reasons(pack) == {"old": ("superseded", "by what u says")}
    assert "UTC" not in pack.prompt


def test_an_item_never_gives_way_to_what_a_user_said() -> None:
    items = [remembered("old", "UTC", key="user_timezone"), ASKED]
    pack = compiled(items, known("user_timezone", "CET", 3, "u", by_user=True))
    assert reasons(pack) == {}
    assert "UTC" in pack.prompt
    assert "user_timezone=CET" not in pack.prompt


def test_an_item_stays_that_is_as_new_says_the_same_or_is_of_another_scope() -> None:
    items = [
        remembered("own", "seat=12A"),
        remembered("same", "tz=CET"),
        remembered("other", "tz=UTC", scope="user:1"),
        ASKED,
    ]
    facts = (known("tz", "CET", 7, "u"), known("seat", "12A", 1, "own"))
    assert reasons(compiled(items, *facts)) == {}


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ("tz=UTC; seat=12A", "… 1 outdated: tz …; seat=12A"),
        ("seat=12A; tz=UTC", "seat=12A; … 1 outdated: tz …"),
        ("tz=UTC\nseat=12A", "… 1 outdated: tz …\nseat=12A"),
        ("Seat: 12A\n\nTZ: UTC\n", "Seat: 12A\n\n… 1 outdated: tz …\n"),
        ('{"tz": "UTC", "seat": "12A"}', '{… 1 outdated: tz …, "seat": "12A"}'),
        (
            '{"seat": ["a,}", {"tz": 1}],"tz":"UTC"}',
            '{"seat": ["a,}", {"tz": 1}],… 1 outdated: tz …}',
        ),
        ("tz=UTC; meal=veg; seat=12A", "… 2 outdated: tz, meal …; seat=12A"),
        ("tz=UTC; seat=12A; meal=veg", "… 1 outdated: tz …; seat=12A; … 1 outdated: meal …"),
    ],
)
def test_of_an_item_that_states_several_facts_those_with_newer_values_leave(
    stated: str, shown: str
) -> None:
    pack = compiled([remembered("some", stated), remembered("new", "tz=CET; meal=fish"), ASKED])
    assert reasons(pack) == {}
    assert texts(pack)["some"] == (shown, "current")
    assert f"fact: {shown}" in pack.prompt
    assert "UTC" not in pack.prompt
    assert pack.stats.shortened_count == 1


def test_outdated_facts_leave_the_messages_of_every_provider() -> None:
    items = [remembered("some", "tz=UTC; seat=12A"), remembered("new", "tz=CET"), ASKED]
    pack = compiled(items)
    for provider in PROVIDERS:
        sent = json.dumps(request(pack, provider), ensure_ascii=False)
        assert "UTC" not in sent
        assert "… 1 outdated: tz …; seat=12A" in sent
        assert "tz=CET" in sent


def test_a_fact_that_was_given_since_makes_one_line_of_an_item_outdated() -> None:
    items = [remembered("some", "user_timezone=UTC\nseat=12A"), ASKED]
    pack = compiled(items, known("user_timezone", "CET", 3, "u"))
    assert texts(pack)["some"][0] == "… 1 outdated: user_timezone …\nseat=12A"


def test_an_item_leaves_whole_once_all_that_it_states_is_outdated() -> None:
    items = [
        remembered("some", "tz=UTC; seat=12A"),
        remembered("zone", "tz=CET"),
        remembered("seat", "seat=1C"),
        ASKED,
    ]
    pack = compiled(items)
    assert reasons(pack) == {"some": ("superseded", "by what zone says")}


def test_of_two_values_within_one_item_the_later_stands() -> None:
    pack = compiled([remembered("some", "tz=UTC\nseat=12A\ntz=CET"), ASKED])
    assert texts(pack)["some"][0] == "… 1 outdated: tz …\nseat=12A\ntz=CET"


def test_the_item_that_withdraws_a_fact_says_so() -> None:
    items = [
        remembered("old", '{"tz": "UTC", "seat": "12A"}'),
        remembered("gone", '{"tz": null, "meal": "veg"}'),
        ASKED,
    ]
    pack = compiled(items, known("tz", "", 3, "gone"))
    assert texts(pack)["old"][0] == '{… 1 outdated: tz …, "seat": "12A"}'
    assert texts(pack)["gone"] == ('{"tz": null, "meal": "veg"}', "whole")


def test_a_withdrawal_is_outdated_once_there_is_a_value_again() -> None:
    items = [remembered("gone", "tz=null; seat=12A"), remembered("new", "tz=CET"), ASKED]
    assert texts(compiled(items))["gone"][0] == "… 1 outdated: tz …; seat=12A"


def test_what_is_no_fact_stays_beside_outdated_ones() -> None:
    more = "".join(f"; k{n}=old" for n in range(60))
    newer = "; ".join(f"k{n}=new" for n in range(60))
    items = [remembered("some", f"door code token: none{more}"), remembered("new", newer), ASKED]
    shown = texts(compiled(items))["some"][0]
    assert shown.startswith("door code token: none; … 60 outdated: k0, k1, ")
    assert "old" not in shown


def test_an_item_stays_of_which_not_all_is_read() -> None:
    items = [remembered("some", "a=1\nb=2\n" * 3_000), remembered("new", "a=3; b=4"), ASKED]
    assert texts(compiled(items))["some"][1] == "parts"


def test_long_values_that_differ_at_their_ends_are_other_values() -> None:
    same = "x" * 300
    items = [remembered("some", f"a={same}1; b=2"), remembered("new", f"a={same}2"), ASKED]
    assert texts(compiled(items))["some"][0] == "… 1 outdated: a …; b=2"
    statements = known("a", same[:200], 9, "new")
    pack = compiled([remembered("some", f"a={same}; b=2"), ASKED], statements)
    assert texts(pack)["some"][1] == "whole"


def test_an_item_that_is_cut_states_only_what_is_in_force() -> None:
    """What of it is shown in a small budget is chosen of what is left."""
    lines = [f"key_{n}=value {n} of a long list of settings" for n in range(80)]
    newer = remembered("new", "\n".join(f"key_{n}=other" for n in range(0, 80, 2)))
    items = [remembered("some", "\n".join(lines)), newer, ASKED]
    request = CompileRequest(Phase.ANSWER, "key_3 and key_41 settings", budget=900)
    view = ListView(items)
    made = compile_pack(view, request)
    text, shown_as = texts(made.pack)["some"]
    assert shown_as == "parts"
    assert not any(f"key_{n}=value" in text for n in range(0, 80, 2))
    assert any(f"key_{n}=value" in text for n in range(1, 80, 2))
    again = reproduce(made.audit, view)
    assert again.identical, again.reasons
    assert again.selection == SAME


def test_a_prompt_without_outdated_facts_is_reproduced_from_its_record() -> None:
    view = ListView([remembered("some", "tz=UTC; seat=12A"), remembered("new", "tz=CET"), ASKED])
    made = compile_pack(view, CompileRequest(Phase.ANSWER))
    stored = msgspec.json.decode(msgspec.json.encode(made.audit), type=CompileAudit)
    again = reproduce(stored, view)
    assert again.identical, again.reasons
    assert again.selection == SAME


@pytest.mark.parametrize("value", ["", "The customer was called on Wednesday"])
def test_a_remark_leaves_that_is_forgotten_or_corrected_by_its_key(value: str) -> None:
    said = remembered("a", "The customer waits for a long call until Monday")
    mended = remembered("b", f"note={value}", key="note_customer_waits_long_call", value=value)
    assert reasons(compiled([said, mended, ASKED])) == {"a": ("superseded", "by what b says")}


def test_a_remark_leaves_that_was_forgotten_elsewhere() -> None:
    said = remembered("a", "The customer waits for a long call until Monday")
    key = "note_customer_waits_long_call"
    assert reasons(compiled([said, ASKED], known(key, "", 5, "x"))) == {
        "a": ("superseded", "by what x says")
    }
    other = known(key, "The customer waits for a long call until Friday", 5, "x")
    assert reasons(compiled([said, ASKED], other)) == {}


def test_a_remark_is_no_newer_value_of_one_that_begins_like_it() -> None:
    text = "The customer waits for a long call until"
    items = [remembered("a", f"{text} Monday"), remembered("b", f"{text} Tuesday"), ASKED]
    assert reasons(compiled(items)) == {}


def test_the_header_never_states_an_older_value_than_an_item() -> None:
    pack = compiled([remembered("new", "tz=CET"), ASKED], known("tz", "UTC", 0, "before"))
    assert "UTC" not in pack.prompt
    assert "tz=CET" in pack.prompt


def test_a_withdrawn_fact_is_neither_in_the_header_nor_in_an_item() -> None:
    items = [remembered("old", "tz=UTC"), ASKED]
    pack = compiled(items, known("tz", "", 3, "u"))
    assert reasons(pack) == {"old": ("superseded", "by what u says")}
    assert "tz" not in pack.prompt


def test_a_newer_empty_value_is_the_one_in_force() -> None:
    gone = FactsEvent(Origin(3, "b", "memory", "1"), "session:s", (MemoryFact("tz", "", ("b",)),))
    read = model(turn("a"), fact(1, "a", "tz", "UTC", "session:s"), turn("b"), gone)

    def prompt(as_of: int) -> str:
        view = read.view("t", "s", as_of)
        return compile_pack(view, CompileRequest(Phase.ANSWER)).pack.prompt

    assert "tz=UTC" in prompt(3)
    assert "tz=" not in prompt(4)


def test_a_stable_prompt_states_no_fact_that_has_another_value_since() -> None:
    read = model(
        turn("a"), fact(1, "a", "tz", "UTC", "session:s"),
        turn("b"), fact(3, "b", "tz", "CET", "session:s"),
    )  # fmt: skip
    first = compile_pack(read.view("t", "s", 2), CompileRequest(Phase.ANSWER))
    request = CompileRequest(Phase.ANSWER, stable_from=first.audit.id)
    again = compile_pack(read.view("t", "s"), request, base=first.audit).pack
    assert "tz=UTC" in first.pack.prompt
    assert "tz=UTC" not in again.prompt
    assert "tz=CET" in again.prompt


def test_the_prefix_of_a_stable_prompt_ends_before_a_fact_that_became_outdated() -> None:
    items = [
        turn("first", "Good morning."), remembered("some", "tz=UTC; seat=12A"), turn("then", "Go."),
    ]  # fmt: skip
    before = model(*items)
    first = compile_pack(before.view("t", "s"), CompileRequest(Phase.ANSWER))
    assert "tz=UTC" in first.pack.prompt
    request = CompileRequest(Phase.ANSWER, stable_from=first.audit.id)
    since = model(*items, remembered("new", "tz=CET"))
    second = compile_pack(since.view("t", "s"), request, base=first.audit)
    assert "tz=UTC" not in second.pack.prompt
    assert "… 1 outdated: tz …; seat=12A" in second.pack.prompt

    later = model(*items, remembered("new", "tz=CET"), turn("last", "And now?"))
    request = CompileRequest(Phase.ANSWER, stable_from=second.audit.id)
    third = compile_pack(later.view("t", "s"), request, base=second.audit).pack
    assert third.prompt.startswith(second.pack.prompt)
