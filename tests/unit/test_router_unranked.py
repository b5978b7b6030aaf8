"""Where no tool has a word of the query, some are shown, and nothing pretends that they fit."""

from __future__ import annotations

from typing import Any

import pytest

from weft import testing
from weft.router.router import Router
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.routing import Catalog, RouteReply, RouteRequest, SelectableItem

ITEMS = tuple(
    SelectableItem(f"{space}.{name}", name, f"{name} of {space}", namespace=space, tags=tags)
    for space, name, tags in [
        ("billing.pay", "refund", ("money",)),
        ("billing.pay", "charge", ("money",)),
        ("billing.tax", "declare", ()),
        ("weather", "forecast", ()),
        ("", "search", ()),
        ("weather", "alerts", ("urgent",)),
    ]
)
ORDER = ["billing.pay.refund", "weather.forecast", ".search", "billing.pay.charge"]
QUERY = "Wie wird es morgen?"


def answer(query: str = QUERY, items: Any = ITEMS, **fields: Any) -> RouteReply:
    return Router(items).answer(RouteRequest(query, "c", **fields))


def ids(reply: RouteReply) -> list[str]:
    return [card.id for card in reply.cards]


def test_one_tool_of_each_namespace_is_shown_in_turn_in_the_catalogues_order() -> None:
    assert ids(answer(top_k=4)) == ORDER
    assert ids(answer(top_k=2)) == ORDER[:2]
    assert set(ids(answer(top_k=50))) == {item.id for item in ITEMS}


def test_it_abstains_with_scores_of_nothing_and_says_what_to_do() -> None:
    reply = answer(top_k=2)
    assert (reply.abstain, reply.ambiguous, reply.is_unranked) == (True, False, True)
    assert [card.score for card in reply.cards] == [0.0, 0.0]
    assert all(card.note == "not ranked, has no word of the query" for card in reply.cards)
    assert "none of 6 tools has a word of the query; 2 are shown, not ranked" in reply.reason
    assert "WEFT_ROUTER_ENCODER" in reply.reason


def test_the_same_query_is_answered_alike_by_a_router_that_was_updated() -> None:
    router = Router(ITEMS[::-1])
    router.update(ITEMS)
    assert router.answer(RouteRequest(QUERY, "c")) == answer()


def test_what_the_session_used_comes_first_and_what_failed_last() -> None:
    reply = answer(top_k=6, used=("weather.alerts", "gone"), failed=("billing.pay.refund",))
    assert ids(reply)[0] == "weather.alerts"
    assert ids(reply)[-1] == "billing.pay.refund"
    assert reply.cards[-1].note == "not ranked, has no word of the query; failed just now"
    assert len(set(ids(reply))) == 6


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"namespaces": ("weather",)}, {"weather.forecast", "weather.alerts"}),
        ({"tags": ("money",), "exclude": ("billing.pay.charge",)}, {"billing.pay.refund"}),
    ],
)
def test_only_tools_that_pass_the_filters_are_shown(
    fields: dict[str, Any], found: set[str]
) -> None:
    assert set(ids(answer(**fields))) == found


def test_what_no_tool_can_answer_is_said() -> None:
    none = answer(tags=("nowhere",))
    assert (none.cards, none.abstain, none.is_unranked) == ((), True, False)
    assert none.reason == "nothing fits: no tool passes the filters (namespaces, tags, exclude)"
    assert answer(items=()).reason == "nothing fits: the catalogue is empty"


@pytest.mark.parametrize("blank", ["", " ", "\0", "\u200b\n", "\u2060\ufeff"])
def test_where_nothing_is_asked_nothing_is_shown(blank: str) -> None:
    reply = answer(blank)
    assert (reply.cards, reply.abstain) == ((), True)
    assert reply.reason == "nothing is asked: query is empty; say what a tool is wanted for"


@pytest.mark.parametrize("wordless", ["👍", "?!…", "--- *** ---", "what is this?", "_"])
def test_a_query_without_a_word_that_says_what_is_wanted_is_told_so(wordless: str) -> None:
    reply = answer(wordless, top_k=2)
    assert (len(reply.cards), reply.abstain, reply.is_unranked) == (2, True, True)
    assert reply.reason == (
        "nothing fits: query has no word that says what is wanted; 2 of 6 tools are shown, not "
        "ranked: say in words what a tool is wanted for"
    )


def test_what_a_word_finds_is_as_it_was() -> None:
    request = RouteRequest("a weather forecast", "c")
    router = Router(ITEMS)
    assert router.answer(request) == router.route(request)
    assert not router.answer(request).is_unranked


async def test_a_prompt_says_that_its_tools_are_not_ranked() -> None:
    async with testing.in_memory() as client:
        await client.publish_catalog(Catalog("all", ITEMS))
        ack = await client.publish("s1", ContextItem("u1", ItemKind.USER_TURN, QUERY))
        pack = await client.compile("s1", "route", query=QUERY, catalog="all", after=ack.sequence)
        assert "- weather.forecast (forecast): not ranked, has no word of the quer" in pack.prompt
        [note] = pack.stats.notes
        assert note.startswith("catalogue 'all': no tool has a word of the query; some are shown")
        fits = await client.compile("s1", "route", query="weather forecast", catalog="all")
        assert fits.stats.notes == ()
