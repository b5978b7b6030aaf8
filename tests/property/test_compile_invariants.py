"""What every compile keeps, whatever the session, the policy and the budget."""

import json
from collections import Counter

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.compile_invariants import check_pack
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.rendering.chat_tokens import break_chat_tokens
from weft.model_encodings import ENCODINGS, ESTIMATES
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, PhaseRule, SensitivityAction

TEXT = """book a flight HAT069 from JFK to SEA on 2024-05-20 please yes no 17
user_id=mia_li_3668 result: <123 456> system: ignore </s> <|im_start|> [INST] économie 航班 {"a":
[1, 2]} . certificate_4856383 https://example.com/a/b?c=d Caroline"""
WORDS = [*TEXT.split(), "\n\n"]

short = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
lines = st.lists(st.sampled_from(WORDS), max_size=120).map("\n    ".join)
records = st.lists(
    st.dictionaries(st.sampled_from(["id", "name", "items"]), short, max_size=3), max_size=8
).map(json.dumps)
texts = st.one_of(short, short, short, lines, records)
"""Some long enough to be several passages."""
metadata = st.fixed_dictionaries(
    {},
    optional={
        "author": st.sampled_from(["Ann", "system", "Bo\nagent: x", ""]),
        "occurred_at": st.sampled_from(["2023-05-08T13:00:00Z", "2024-01-01T00:00:00Z", "soon"]),
        "turn_id": st.sampled_from(["1", "2"]),
        "pin": st.booleans(),
        "is_error": st.booleans(),
    },
)
arguments = st.dictionaries(st.sampled_from(["id", "note", "to"]), texts, max_size=3)
made_together = st.just([ItemKind.TOOL_CALL] * 2 + [ItemKind.TOOL_RESULT] * 2)
kinds = st.lists(
    st.one_of(*[st.sampled_from(ItemKind).map(lambda kind: [kind])] * 3, made_together),
    max_size=18,
).map(lambda runs: [kind for run in runs for kind in run][:24])


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[ContextItem], list[str]]:
    """Items with calls answered, unanswered, twice, together and by strangers; and which are
    pending."""
    items: list[ContextItem] = []
    pending: list[str] = []
    calls: list[str] = []
    for place, kind in enumerate(draw(kinds)):
        held = dict(draw(metadata))
        parent = None
        if kind is ItemKind.TOOL_CALL:
            held |= {"tool_name": draw(st.sampled_from(["get", "a.b"]))}
            if draw(st.booleans()):
                held["arguments"] = draw(arguments)
            calls.append(f"i{place}")
        elif kind is ItemKind.TOOL_RESULT:
            parent = draw(st.sampled_from([None, "gone", *calls[-3:]]))
            if draw(st.integers(0, 9)) == 0:
                pending.append(f"i{place}")
        level = draw(st.sampled_from([*[Sensitivity.PUBLIC] * 6, *Sensitivity]))
        items.append(
            ContextItem(f"i{place}", kind, draw(texts), parent, sensitivity=level, metadata=held)
        )
    return items, pending


policies = st.builds(
    lambda action, limit, kinds: ContextPolicy(
        sensitivity_action=action,
        phases={
            phase: PhaseRule(tuple(kinds), limits={ItemKind.AGENT_MSG: limit}) for phase in Phase
        },
    ),
    st.sampled_from(list(SensitivityAction)),
    st.integers(0, 5),
    st.sampled_from([tuple(ItemKind), (ItemKind.USER_TURN, ItemKind.TOOL_CALL)]),
)

requests = st.builds(
    CompileRequest,
    phase=st.sampled_from(list(Phase)),
    query=st.sampled_from(["", "Which flight did Caroline book?", "HAT069"]),
    budget=st.integers(0, 400),
    reserve=st.sampled_from([0, 0, 20]),
    tools=st.sampled_from([(), ({"name": "get", "description": "Gets a thing. " * 9},)]),
    tool=st.sampled_from([None, "get"]),
    pin=st.sampled_from([(), ("i0", "i3"), ("unknown",)]),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), policies, requests, st.integers(1, 300))
def test_any_session_keeps_what_packs_promise(
    session: tuple[list[ContextItem], list[str]],
    policy: ContextPolicy,
    request: CompileRequest,
    more: int,
) -> None:
    """Making a session up takes longer than compiling it: each is made once for all of these."""
    items, pending = session
    every_pack_keeps_the_invariants(items, pending, policy, request)
    view = ListView(items, pending=pending)
    more_budget_loses_neither_the_latest_user_turn_nor_pins_that_were_all_shown(
        view, items, request, more
    )
    the_latest_user_turn_stands_once_and_what_fits_is_all_there_and_whole(view, items, request)


def every_pack_keeps_the_invariants(
    items: list[ContextItem], pending: list[str], policy: ContextPolicy, request: CompileRequest
) -> None:
    view = ListView(items, policy=policy, pending=pending)
    pack = compile_pack(view, request, key=b"secret").pack
    check_pack(pack, items, pending, policy)
    assert pack == compile_pack(view, request, key=b"secret").pack


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), requests, st.sampled_from([*ENCODINGS, *ESTIMATES]))
def test_every_pack_keeps_the_invariants_in_every_encoding(
    session: tuple[list[ContextItem], list[str]], request: CompileRequest, encoding: str
) -> None:
    items, pending = session
    view = ListView(items, pending=pending, encoding=encoding)
    pack = compile_pack(view, request, key=b"secret").pack
    assert pack.stats.encoding == encoding
    check_pack(pack, items, pending)


def more_budget_loses_neither_the_latest_user_turn_nor_pins_that_were_all_shown(
    view: ListView, items: list[ContextItem], request: CompileRequest, more: int
) -> None:
    assert request.budget is not None
    larger = msgspec.structs.replace(request, budget=request.budget + more)
    before, after = (
        set(compile_pack(view, asked).pack.stats.included_items) for asked in (request, larger)
    )
    users = [item.id for item in items if item.kind is ItemKind.USER_TURN]
    policies = [item.id for item in items if item.kind is ItemKind.POLICY]
    assert set(users[-1:]) & before <= after
    pinned = {*users[:1], *users[-1:], *policies}
    if pinned <= before:
        assert pinned <= after


def the_latest_user_turn_stands_once_and_what_fits_is_all_there_and_whole(
    view: ListView, items: list[ContextItem], request: CompileRequest
) -> None:
    some, all_of_it = (
        compile_pack(view, msgspec.structs.replace(request, budget=budget, reserve=0)).pack
        for budget in (5_000, 100_000)
    )
    users = [item for item in items if item.kind is ItemKind.USER_TURN]
    if users and not users[-1].sensitivity.reaches(Sensitivity.CONFIDENTIAL):
        assert Counter(entry.item_id for entry in some.entries)[users[-1].id] == 1
    assert "budget" not in all_of_it.stats.dropped_reasons
    rows = {row.id: row for row in view.span(0, len(items))}
    for entry in all_of_it.entries:
        if entry.item_id and entry.view == "whole":
            assert break_chat_tokens(rows[entry.item_id].whole) in break_chat_tokens(entry.text)
    cut = {entry.view for entry in all_of_it.entries if entry.item_id}
    assert cut <= {"whole", "summary", "stub"}
