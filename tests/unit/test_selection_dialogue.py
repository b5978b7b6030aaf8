"""What the user and the agent agreed on stays beside large results, and says what is relevant."""

from __future__ import annotations

import json

from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

PLAN = (
    "Gladly. I would do it like this: you keep the boots and get a discount for the scratch, the "
    "jacket comes back and goes out in slate before the old one arrives, and the cap is refunded "
    "to the card with which you paid. Nothing of it costs you anything, and no label is needed."
)
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


def test_messages_take_no_more_than_their_share() -> None:
    long = [f"Message {n}: " + "I think about it and tell you later. " * 30 for n in range(1, 9)]
    items = [*said("First.", *long, "Next."), *fetched("orders", RECORDS)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=2_000)).pack
    messages = [
        entry for entry in pack.entries
        if entry.kind in (ItemKind.USER_TURN, ItemKind.AGENT_MSG) and entry.view == "whole"
    ]  # fmt: skip
    assert len(messages) < 5
    assert sum(entry.text.count("ORD-") for entry in pack.entries) > 40


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
