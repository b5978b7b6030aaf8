"""What a prompt promises, over sessions made up at random: any kinds, any sizes, any order."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.promises.check import violations
from weft_eval.in_process import TENANT, InProcess
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

WORDS = ["order", "refund", "gate", "Lisbon", "2024-05-01", "total", "open", "A-77", "the", "of"]

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
prose = st.lists(words.map(lambda text: f"{text}."), min_size=1, max_size=30).map("\n\n".join)
listing = st.lists(words, min_size=1, max_size=80).map("\n".join)
code = st.lists(st.tuples(st.integers(0, 3), words), min_size=1, max_size=60).map(
    lambda lines: "\n".join(f"{'    ' * indent}{text}" for indent, text in lines)
)
scalars = st.one_of(st.integers(-999, 99_999), st.booleans(), st.none(), words)
records = st.lists(
    st.fixed_dictionaries({"id": st.integers(1, 9_999), "status": words, "note": scalars}),
    min_size=1,
    max_size=40,
).map(json.dumps)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(
            st.sampled_from(["id", "name", "items", "total", "data"]), inner, max_size=5
        ),
    ),
    max_leaves=60,
).map(json.dumps)
printed = st.one_of(records, trees).map(lambda text: repr(json.loads(text)))
lines = records.map(json.loads).map(
    lambda held: "".join(
        f"- note: {one['note']}\n  status: {one['status']}\n  id: {one['id']}\n" for one in held
    )
)
sections = st.lists(st.one_of(listing, code, prose, lines), min_size=1, max_size=8).map(
    lambda held: "".join(f"## Part {n}\n\n{text}\n\n" for n, text in enumerate(held))
)
beside = st.dictionaries(
    st.sampled_from(["exit_code", "stderr", "took"]),
    st.one_of(st.integers(-9, 999), st.booleans(), st.none(), st.sampled_from(WORDS)),
    max_size=3,
)
held = st.tuples(st.one_of(listing, prose, code, sections, records), beside).map(
    lambda made: json.dumps({**made[1], "stdout": made[0]})
)
"""A text in a field, with short ones beside it."""
texts = st.one_of(
    words, prose, listing, code, records, trees, printed, lines, sections, held, st.just("")
)
arguments = st.dictionaries(
    st.sampled_from(["id", "path", "text", "limit"]), st.one_of(scalars, prose, listing), max_size=4
)
steps = st.one_of(
    st.tuples(st.just("user"), texts),
    st.tuples(st.just("agent"), texts),
    st.tuples(st.just("call"), st.tuples(arguments, texts, st.booleans())),
    st.tuples(
        st.just("turn"),
        st.lists(st.tuples(arguments, texts), min_size=2, max_size=4).flatmap(
            lambda made: st.tuples(st.just(made), st.permutations(range(len(made))))
        ),
    ),
)
"""What a session is made of. In a turn calls are made together, and answered in any order."""


def called(number: str, arguments: dict[str, Any]) -> ContextItem:
    metadata = {"tool_name": "look", "arguments": arguments, "call_id": f"k{number}"}
    return ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata)


def returned(number: str, said: str) -> ContextItem:
    return ContextItem(f"r{number}", ItemKind.TOOL_RESULT, said, parent_id=f"c{number}")


def session(made: list[tuple[str, Any]]) -> LabelledTranscript:
    items: list[ContextItem] = []
    for number, (kind, held) in enumerate(made):
        if kind == "call":
            asked, said, answered = held
            items.append(called(f"{number}", asked))
            if answered:
                items.append(returned(f"{number}", said))
        elif kind == "turn":
            calls, order = held
            items += [called(f"{number}.{at}", asked) for at, (asked, _) in enumerate(calls)]
            items += [returned(f"{number}.{at}", calls[at][1]) for at in order]
        elif held.strip():
            speaker = ItemKind.USER_TURN if kind == "user" else ItemKind.AGENT_MSG
            items.append(ContextItem(f"t{number}", speaker, held))
    return LabelledTranscript("made-up", tuple(items))


@settings(
    max_examples=int(os.environ.get("WEFT_EXAMPLES", "120")),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(steps, min_size=1, max_size=14),
    st.sampled_from(Phase),
    st.sampled_from([500, 1_000, 2_000, 8_000, 32_000]),
)
def test_no_promise_is_broken_in_a_made_up_session(
    made: list[tuple[str, Any]], phase: Phase, budget: int
) -> None:
    transcript = session(made)
    compiles = InProcess()
    pack = compiles(transcript, len(transcript.items), CompileRequest(phase, budget=budget))
    folded = compiles.folded(transcript)
    view = folded.model.view(TENANT, transcript.name)
    clean = {row.id: row.whole for row in view.rows(range(view.sequence + 1))}
    assert violations(pack, transcript.items, clean) == []


@settings(
    max_examples=int(os.environ.get("WEFT_EXAMPLES", "120")) // 4,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(steps, min_size=1, max_size=10),
    st.sampled_from(Phase),
    st.sampled_from([500, 1_000, 2_000]),
)
def test_no_promise_is_broken_on_top_of_earlier_prompts(
    made: list[tuple[str, Any]], phase: Phase, budget: int
) -> None:
    transcript = session(made)
    compiles, base = InProcess(), None
    clean = compiles.clean_texts(transcript)
    for position in range(1, len(transcript.items) + 1):
        request = CompileRequest(phase, budget=budget, stable_from=base)
        pack = compiles(transcript, position, request)
        assert violations(pack, transcript.items[:position], clean) == []
        base = pack.id
