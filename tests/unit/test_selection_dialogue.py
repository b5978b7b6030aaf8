"""What the user and the agent agreed on stays beside large results, and says what is relevant."""

from __future__ import annotations

import json
from itertools import chain

import msgspec
import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import CHAT, DIALOGUE
from weft.compiler.selection.dialogue import with_dialogue
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase

PLAN = (
    "Gladly. I would do it like this: you keep the boots and get a discount for the scratch, the "
    "jacket comes back and goes out in slate before the old one arrives, and the cap is refunded "
    "to the card with which you paid. Nothing of it costs you anything, and no label is needed."
)
CHARACTERS = 6
"""More than a token has of any text here."""
RECORDS = json.dumps(
    [{"id": f"ORD-{n:03}", "card": f"card_{n:03}", "total": 10 * n} for n in range(90)]
)


def said(*texts: str) -> list[ContextItem]:
    """Turns of the user and the agent, by turns."""
    kinds = (ItemKind.USER_TURN, ItemKind.AGENT_MSG)
    return [ContextItem(f"m{n}", kinds[n % 2], text) for n, text in enumerate(texts)]


def fetched(name: str, text: str) -> list[ContextItem]:
    call = ContextItem(f"c-{name}", ItemKind.TOOL_CALL, metadata={"tool_name": name})
    return [call, ContextItem(f"r-{name}", ItemKind.TOOL_RESULT, text, call.id)]


def prompt_of(items: list[ContextItem], budget: int) -> str:
    return compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack.prompt


def session(confirmed: str) -> list[ContextItem]:
    opening, *rest = said(
        "My order came with the wrong things.", PLAN, "Good.", "Shall I go ahead?", confirmed
    )
    return [opening, *fetched("orders", RECORDS), *rest[:2], *fetched("stock", RECORDS), *rest[2:]]


def test_a_plan_that_an_earlier_turn_agreed_to_is_shown_beside_results() -> None:
    assert PLAN in prompt_of(session("Yes please."), 1_500)


def test_a_document_before_what_the_user_answers_does_not_part_it_from_the_question() -> None:
    handed = ContextItem("d", ItemKind.DOC_SNIPPET, "The receipt.", metadata={"turn_id": "d"})
    items = session("Yes please.")
    agreed = next(at for at, item in enumerate(items) if item.text == "Good.")
    assert PLAN in prompt_of([*items[:agreed], handed, *items[agreed:]], 1_500)


def test_messages_take_no_more_than_their_share() -> None:
    long = [f"Message {n}: " + "I think about it and tell you later. " * 30 for n in range(1, 9)]
    items = [*said("First.", *long, "Next."), *fetched("orders", RECORDS)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=2_000)).pack
    messages = [
        entry for entry in pack.entries
        if entry.kind in (ItemKind.USER_TURN, ItemKind.AGENT_MSG) and entry.view == "whole"
    ]  # fmt: skip
    pinned = ("m0", "m7", "m8")
    others = [entry for entry in messages if entry.item_id not in pinned]
    assert sum(map(len, (entry.text for entry in others))) < 0.2 * 1_500 * CHARACTERS
    assert sum(entry.text.count("ORD-") for entry in pack.entries) > 40


CORRECTION = (
    "No, not on Sunday after all, since my mother wants us to stay for her party and would be sad "
    "if we left. So take a train on Monday, in the quiet part of it if that can be had, and please "
    "make no reservation for Lea, who sits with one of us."
)


def corrected() -> list[ContextItem]:
    """A correction by the user stands between large results."""
    long = "We are three: two adults and Lea, who was born on 14 February 2016. " * 12
    opening, *rest = said(long, "Which train?", CORRECTION, "Shall I look?", "Yes, look for it.")
    trains = [
        fetched(f"trains{day}", json.dumps([{"train": f"ICE {day}{n}", "day": f"2026-12-{day}",
                "offer_id": f"of_{day}{n:03}", "price": 39 + n} for n in range(20)]))
        for day in range(10, 28)
    ]  # fmt: skip
    booked = [
        ContextItem("c-book", ItemKind.TOOL_CALL, metadata={"tool_name": "book", "arguments":
            {"train": "ICE 1010", "day": "2026-12-10", "offer_id": "of_10000", "price": 39}}),
        ContextItem("r-book", ItemKind.TOOL_RESULT, "booked", "c-book"),
    ]  # fmt: skip
    return [opening, *booked, *rest[:2], *chain(*trains), *rest[2:]]


def test_what_the_user_corrected_is_shown_beside_a_long_first_turn_and_large_results() -> None:
    assert CORRECTION in prompt_of(corrected(), 1_500)


def asked(query: str, items: list[ContextItem]) -> str:
    request = CompileRequest(Phase.CALL, budget=1_000, query=query)
    return compile_pack(ListView(items), request).pack.prompt


def test_a_query_that_repeats_the_latest_turn_is_none() -> None:
    items = corrected()
    assert asked("Yes,  look for it.\n", items) == asked("", items)


def test_a_query_that_is_only_a_part_of_the_latest_turn_is_one() -> None:
    assert asked("look", corrected()) != asked("", corrected())


def test_a_query_tells_nothing_of_a_latest_turn_that_is_withheld() -> None:
    *items, latest = corrected()
    secret = msgspec.structs.replace(latest, sensitivity=Sensitivity.RESTRICTED)
    assert asked(latest.text, [*items, secret]) != asked("", [*items, secret])


def test_a_short_confirmation_is_about_what_was_said_before() -> None:
    topics = ("cadmium", "selenium", "copper", "lead", "zinc", "iron")
    pages = [
        f"{topic}\n\n" + f"Something else about {topic} that nobody asked for. " * 30
        for topic in topics
    ]
    limit = (
        "The limit for nitrate in wells is 50 mg a litre, " + "as the water works measure it. " * 9
    )
    turns = said(
        "Is nitrate a problem in our wells?",
        "I read the report.",
        "Good.",
        "Shall I?",
        "Please do.",
    )
    items = [*turns[:1], *fetched("report", "\n\n".join([*pages, limit, *pages])), *turns[1:]]
    assert limit[:48] in prompt_of(items, 600)


@pytest.mark.parametrize(
    ("called", "share"), [((), CHAT), (fetched("orders", "[]"), DIALOGUE)], ids=["chat", "calls"]
)
def test_a_chat_without_calls_gives_its_newest_turns_more(
    called: list[ContextItem], share: tuple[float, int]
) -> None:
    turns = [f"Change {n}: " + "we keep what we said before, " * 5 for n in range(60)]
    choice = choice_of([*called, *said(*turns)], 2_500, Phase.ANSWER)
    most = share[0] * (2_500 - share[1])
    assert 0.85 * most <= choice.cost.block_tokens(with_dialogue(choice, {})) <= most
