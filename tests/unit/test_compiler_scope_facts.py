"""The facts of a scope with their sources: those that a compile may show, and no others."""

from __future__ import annotations

import pytest
from tests.folded import model

from weft import testing
from weft.compiler.scope_facts import facts_of
from weft_schemas.errors import Forbidden
from weft_schemas.events import Event, FactsEvent, MemoryFact, Origin
from weft_schemas.grants import Grant, ScopeGrants
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy

ADA = "user:ada"


def told(
    at: int, key: str, value: str, sensitivity: Sensitivity = Sensitivity.PUBLIC
) -> list[Event]:
    """An item at a sequence, and the fact that it says."""
    item = ContextItem(
        f"u{at}", ItemKind.USER_TURN, value, sensitivity=sensitivity, metadata={"scope": ADA}
    )
    fact = MemoryFact(key, value, (item.id,), sensitivity=sensitivity)
    return [item, FactsEvent(Origin(at, item.id, "memory"), ADA, (fact,))]


def test_each_fact_is_told_with_its_newest_value_and_who_said_it() -> None:
    read = model(*told(1, "city", "Oslo"), *told(3, "diet", "vegan"), *told(5, "city", "Rome"))
    found = facts_of(read.view("t", "else"), ADA, "")
    assert [(one.key, one.value, one.sequence, one.sources, one.session) for one in found] == [
        ("city", "Rome", 5, ("u5",), "s"),
        ("diet", "vegan", 3, ("u3",), "s"),
    ]
    assert facts_of(read.view("t", "else"), "user:bob", "") == ()


def given(at: int, key: str, value: str) -> list[Event]:
    """A fact of the application."""
    item = ContextItem(f"m{at}", ItemKind.MEMORY_FACT, f"{key}={value}", metadata={"scope": ADA})
    fact = MemoryFact(key, value, (item.id,))
    return [item, FactsEvent(Origin(at, item.id, "memory"), ADA, (fact,))]


def test_what_a_user_said_later_stands_beside_what_the_application_gave() -> None:
    read = model(*given(1, "city", "Oslo"), *told(3, "city", "Rome"), *told(5, "diet", "vegan"))
    found = facts_of(read.view("t", "else"), ADA, "")
    assert [(one.key, one.value, one.by_user, one.said_later) for one in found] == [
        ("city", "Oslo", False, "Rome"),
        ("diet", "vegan", True, ""),
    ]
    later = told(3, "city", "Rome", Sensitivity.INTERNAL)
    strict = ContextPolicy(session="x", sensitivity_floor=Sensitivity.INTERNAL)
    read = model(*given(1, "city", "Oslo"), *later, strict)
    assert facts_of(read.view("t", "y"), ADA, "")[0].said_later == "Rome"
    assert facts_of(read.view("t", "x"), ADA, "")[0].said_later == ""


def test_what_is_too_sensitive_to_show_is_left_out() -> None:
    events = [*told(1, "city", "Oslo"), *told(3, "salary", "9", Sensitivity.INTERNAL)]
    keys = [one.key for one in facts_of(model(*events).view("t", "x"), ADA, "")]
    assert keys == ["city", "salary"]
    strict = ContextPolicy(session="x", sensitivity_floor=Sensitivity.INTERNAL)
    read = model(*events, strict)
    assert [one.key for one in facts_of(read.view("t", "x"), ADA, "")] == ["city"]
    assert len(facts_of(read.view("t", "y"), ADA, "")) == 2


def test_a_scope_must_be_granted() -> None:
    grants = ScopeGrants((Grant("*", ("user:{principal}",)),))
    read = model(*told(1, "city", "Oslo"), grants)
    assert len(facts_of(read.view("t", "x"), ADA, "ada")) == 1
    for principal, scope in (("bob", ADA), ("", ADA), ("ada", "session:s")):
        with pytest.raises(Forbidden, match=f"scope '{scope}' is not granted"):
            facts_of(read.view("t", "x"), scope, principal)


async def test_a_client_in_memory_lists_them_too() -> None:
    async with testing.in_memory() as client:
        async with client.session("s1", scope=ADA) as s:
            s.add({"role": "user", "content": "My name is Ada Obi."})
        [fact] = await client.facts(ADA)
        assert (fact.value, fact.session) == ("Ada Obi", "s1")
        assert await client.facts("session:s1", session="s1") == ()
        with pytest.raises(Forbidden):
            await client.facts("session:s1")
