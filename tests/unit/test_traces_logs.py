"""Log records that carry a model's calls, message by message: the same items as spans, once."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from weft.traces import otlp
from weft.traces.conversion import converted
from weft.traces.otlp import JSON, PROTOBUF, OtlpLogRecord, Span
from weft.traces.spans_from_logs import SpanAssembler
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

SESSION = {"gen_ai.conversation.id": "s1"}
_at = count(1)


def record(name: str, span: str = "1", body: Any = None, **attributes: Any) -> OtlpLogRecord:
    return OtlpLogRecord("0af7", span, f"gen_ai.{name}", next(_at), SESSION | attributes, body)


def user(text: str, span: str = "1") -> OtlpLogRecord:
    return record("user.message", span, {"content": text})


def said(text: str, span: str = "1") -> OtlpLogRecord:
    return record("assistant.message", span, {"content": text})


def choice(text: str, span: str = "1") -> OtlpLogRecord:
    message = {"role": "assistant", "content": text}
    return record("choice", span, {"index": 0, "finish_reason": "stop", "message": message})


CALLS = [{"id": "c1", "type": "function", "function": {"name": "orders", "arguments": '{"n": 1}'}}]
STEP = [
    record("system.message", body={"content": "Be brief."}),
    user("Which order?"),
    record("choice", body={"message": {"role": "assistant", "tool_calls": CALLS}}),
    record("system.message", "2", {"content": "Be brief."}),
    user("Which order?", "2"),
    record("assistant.message", "2", {"tool_calls": CALLS}),
    record("tool.message", "2", {"content": "O-1", "id": "c1"}),
    choice("It was O-1.", "2"),
]


def items(spans: Sequence[Span]) -> list[ContextItem]:
    found = converted(spans)
    assert found.rejected == 0
    return found.sessions.get("s1", [])


def taken(
    *exports: Sequence[OtlpLogRecord], joining: SpanAssembler | None = None
) -> list[ContextItem]:
    """What several exports to one process come to, each item once."""
    joining = joining or SpanAssembler()
    found: dict[str, ContextItem] = {}
    for export in exports:
        for item in items(joining.spans("t", export)):
            found.setdefault(item.id, item)
    return list(found.values())


def test_an_agents_step_is_told_once() -> None:
    step = taken(STEP)
    system, asked, called, answered, reply = step
    assert [item.kind for item in step] == [
        ItemKind.POLICY, ItemKind.USER_TURN, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT,
        ItemKind.AGENT_MSG,
    ]  # fmt: skip
    assert (system.text, asked.text, reply.text) == ("Be brief.", "Which order?", "It was O-1.")
    assert (called.parent_id, answered.parent_id) == (asked.id, called.id)
    assert called.reserved.arguments == {"n": 1}
    assert (answered.text, answered.reserved.tool_name) == ("O-1", "orders")


CHAT = [
    *(user("yes"), choice("ok")),
    *(user("yes", "2"), said("ok", "2"), user("yes", "2"), choice("ok", "2")),
    *(user("yes", "3"), said("ok", "3"), user("yes", "3"), said("ok", "3"), user("no", "3")),
    choice("done", "3"),
]


@settings(max_examples=100)
@given(st.lists(st.integers(0, len(CHAT)), max_size=5), st.lists(st.booleans(), max_size=6))
def test_however_an_exporter_cuts_and_repeats_its_exports_the_items_are_the_same(
    cuts: list[int], again: list[bool]
) -> None:
    ends = [*sorted(cuts), len(CHAT)]
    exports = [CHAT[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    sent = [one for one, twice in zip(exports, [*again, *[False] * 6], strict=False)
            for one in ([one, one] if twice else [one])]  # fmt: skip
    whole = taken(CHAT)
    assert [item.text for item in whole] == ["yes", "ok", "yes", "ok", "no", "done"]
    assert taken(*sent) == whole


def test_the_present_convention_is_one_record_for_each_call() -> None:
    parts = [{"type": "text", "content": "Which order?"}]
    attributes = {
        "gen_ai.input.messages": [{"role": "user", "parts": parts}],
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "O-1"}]),
    }
    name = "client.inference.operation.details"
    assert [one.text for one in taken([record(name, **attributes)])] == ["Which order?", "O-1"]
    assert taken([record(name, body=attributes)]) == taken([record(name, **attributes)])


def test_calls_outside_of_spans_end_with_their_answers() -> None:
    loose = [user("yes", ""), choice("ok", ""), user("yes", ""), said("ok", ""), user("no", "")]
    assert [item.text for item in taken([*loose, choice("done", "")])] == [
        "yes",
        "ok",
        "no",
        "done",
    ]


def test_what_has_no_session_is_rejected_and_other_records_say_nothing() -> None:
    other = OtlpLogRecord("", "", "", 1, SESSION, "a line of a log")
    lost = OtlpLogRecord("", "", "gen_ai.user.message", 2, {}, {"content": "hi"})
    found = converted(SpanAssembler().spans("t", [other, lost]))
    assert (found.sessions, found.rejected) == ({}, 1)
    assert "gen_ai.conversation.id" in found.why


def test_what_is_remembered_of_calls_is_bounded() -> None:
    joining = SpanAssembler(most_bytes=2_000)
    for number in range(200):
        joining.spans("t", [user("x" * 100, f"{number}")])
        assert joining.remembered_bytes <= 2_000
    assert len(taken([user("once more", "199")], joining=joining)) == 2


def test_tenants_never_share_a_call() -> None:
    joining = SpanAssembler()
    joining.spans("one", [user("secret")])
    assert [item.text for item in items(joining.spans("other", [choice("ok")]))] == ["ok"]


REQUEST: dict[str, Any] = {
    "resourceLogs": [{
        "resource": {"attributes": [{"key": "session.id", "value": {"stringValue": "s1"}}]},
        "scopeLogs": [{"logRecords": [{
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": "eee19b7ec3c1b174",
            "observedTimeUnixNano": "7",
            "eventName": "gen_ai.user.message",
            "body": {"kvlistValue": {"values": [
                {"key": "content", "value": {"stringValue": "Which order?"}},
            ]}},
        }, {
            "timeUnixNano": "8",
            "attributes": [{"key": "event.name", "value": {"stringValue": "gen_ai.choice"}}],
            "body": {"stringValue": "O-1"},
        }]}],
    }]
}  # fmt: skip


def test_json_and_protobuf_are_the_same_records() -> None:
    by_json = otlp.log_records(json.dumps(REQUEST).encode(), JSON)
    message = json_format.ParseDict(REQUEST, ExportLogsServiceRequest())
    first = message.resource_logs[0].scope_logs[0].log_records[0]
    first.trace_id = bytes.fromhex("5b8efff798038103d269b633813fc60c")
    first.span_id = bytes.fromhex("eee19b7ec3c1b174")
    assert otlp.log_records(message.SerializeToString(), PROTOBUF) == by_json
    one, other = by_json
    assert (one.trace_id, one.at_ns, one.name) == (
        "5b8efff798038103d269b633813fc60c", 7, "gen_ai.user.message",
    )  # fmt: skip
    assert (one.body, one.resource) == ({"content": "Which order?"}, {"session.id": "s1"})
    assert (other.name, other.body, other.span_id) == ("gen_ai.choice", "O-1", "")
    assert [item.text for item in taken(by_json)] == ["Which order?", "O-1"]


def test_the_answer_names_what_was_rejected() -> None:
    assert otlp.logs_answer(PROTOBUF, 0, "") == b""
    answer = ExportLogsServiceResponse.FromString(otlp.logs_answer(PROTOBUF, 2, "why"))
    assert answer.partial_success.rejected_log_records == 2
    assert json.loads(otlp.logs_answer(JSON, 2, "why")) == {
        "partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "why"}
    }


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_what_is_no_export_is_refused(kind: str) -> None:
    for content in (b"\xff\xff\xff", b"{", b'{"resourceLogs": 1}', b"[" * 100_000):
        with pytest.raises(InvalidInput, match="ExportLogsServiceRequest"):
            otlp.log_records(content, kind)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from([one.name for one in STEP] + ["gen_ai.client.inference.operation.details"])


@settings(max_examples=100)
@given(st.lists(st.tuples(NAMES, VALUES, st.dictionaries(st.text(), VALUES, max_size=2))))
def test_any_record_is_read_or_refused(made: list[tuple[str, Any, dict[str, Any]]]) -> None:
    records = [
        OtlpLogRecord("t", "1", name, at, held, body) for at, (name, body, held) in enumerate(made)
    ]
    found = converted(SpanAssembler().spans("t", records))
    named = {str(value) for _, _, held in made for value in held.values()}  # as by `session.id`
    assert set(found.sessions) <= {"trace-t"} | named
