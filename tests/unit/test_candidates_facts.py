"""Facts of which a newer value is known leave the prompt, wherever they stand."""

from tests.folded import fact, model, turn
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.readmodel.rows import FactRow
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.events import FactsEvent, MemoryFact, Origin
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase


def remembered(item_id: str, text: str, **metadata: object) -> ContextItem:
    return ContextItem(item_id, ItemKind.MEMORY_FACT, text, metadata=metadata)


def known(key: str, value: str, sequence: int, source: str) -> FactRow:
    return FactRow(
        "session:s", key, value, sequence, sequence, (source,), Sensitivity.PUBLIC, "s"
    )  # fmt: skip


def compiled(items: list[ContextItem], *facts: FactRow) -> ContextPack:
    return compile_pack(ListView(items, facts=facts), CompileRequest(Phase.ANSWER)).pack


def reasons(pack: ContextPack) -> dict[str, tuple[str, str]]:
    return {drop.item_id: (drop.reason, drop.detail) for drop in pack.stats.dropped_items}


ASKED = ContextItem("u", ItemKind.USER_TURN, "When do we meet?")


def test_of_two_items_that_state_a_fact_the_newer_stands() -> None:
    pack = compiled([remembered("old", "tz=UTC"), remembered("new", '{"tz": "CET"}'), ASKED])
    assert reasons(pack) == {"old": ("superseded", "by what new says")}
    assert "UTC" not in pack.prompt


def test_an_item_gives_way_to_a_fact_that_was_said_since() -> None:
    items = [remembered("old", "UTC", key="user_timezone"), ASKED]
    pack = compiled(items, known("user_timezone", "CET", 3, "u"))
    assert reasons(pack) == {"old": ("superseded", "by what u says")}
    assert "UTC" not in pack.prompt


def test_an_item_stays_that_is_as_new_says_the_same_or_is_of_another_scope() -> None:
    items = [
        remembered("own", "seat=12A"),
        remembered("same", "tz=CET"),
        remembered("other", "tz=UTC", scope="user:1"),
        ASKED,
    ]
    facts = (known("tz", "CET", 7, "u"), known("seat", "12A", 1, "own"))
    assert reasons(compiled(items, *facts)) == {}


def test_an_item_with_a_fact_still_in_force_stays() -> None:
    items = [remembered("two", "tz=UTC; seat=12A"), remembered("new", "tz=CET"), ASKED]
    assert reasons(compiled(items)) == {}


def test_a_remark_is_no_newer_value_of_one_that_begins_like_it() -> None:
    text = "The customer waits for a call on"
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
