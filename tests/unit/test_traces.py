"""Spans as items: every convention, each thing once, whatever is sent."""

import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from weft.traces import otlp
from weft.traces.conversion import converted
from weft.traces.otlp import JSON, PROTOBUF, Span, SpanEvent
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Which order?"}]}
CALLED = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "orders", "arguments": {"n": 1, "m": 2}}],
}
ANSWERED = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "O-1"}]}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "It was O-1."}]}
KINDS = [
    ItemKind.POLICY,
    ItemKind.USER_TURN,
    ItemKind.TOOL_CALL,
    ItemKind.TOOL_RESULT,
    ItemKind.AGENT_MSG,
]


def span(end: int, inputs: list[Any], outputs: list[Any], name: str = "", **more: Any) -> Span:
    attributes = {
        "gen_ai.conversation.id": "s1",
        "gen_ai.input.messages": json.dumps(inputs),
        "gen_ai.output.messages": json.dumps(outputs),
    }
    return Span("0af7", name or f"{end:016x}", "chat", end, attributes | more)


FIRST = span(1, [SYSTEM, ASKED], [CALLED])
TOOL = Span(
    "0af7", "1", "execute_tool", 2,
    {
        "gen_ai.conversation.id": "s1",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.name": "orders",
        "gen_ai.tool.call.arguments": '{"m": 2, "n": 1}',
        "gen_ai.tool.call.result": "O-1",
    },
)  # fmt: skip
SECOND = span(3, [SYSTEM, ASKED, CALLED, ANSWERED], [SAID])
AGENT = span(4, [ASKED], [SAID])


def items(*spans: Span) -> list[ContextItem]:
    found = converted(spans)
    assert (found.rejected, list(found.sessions)) == (0, ["s1"])
    return found.sessions["s1"]


def test_an_agents_step_is_told_once_by_all_of_its_spans() -> None:
    step = items(FIRST, TOOL, SECOND, AGENT)
    assert [item.kind for item in step] == KINDS
    system, asked, called, answered, said = step
    assert (system.text, asked.text, said.text) == ("Be brief.", "Which order?", "It was O-1.")
    assert (called.parent_id, answered.parent_id) == (asked.id, called.id)
    assert called.reserved.arguments == {"n": 1, "m": 2}
    assert (answered.text, answered.reserved.tool_name) == ("O-1", "orders")


def test_no_way_of_sending_gives_other_items() -> None:
    whole = {item.id for item in items(FIRST, TOOL, SECOND, AGENT)}
    assert {item.id for item in items(AGENT, SECOND, TOOL, FIRST)} == whole
    assert {item.id for item in items(SECOND)} == whole
    assert {item.id for one in (FIRST, FIRST, TOOL, SECOND, AGENT) for item in items(one)} == whole


def test_a_second_equal_message_is_another_item_and_a_cut_history_brings_no_new_one() -> None:
    yes = {"role": "user", "parts": [{"type": "text", "content": "yes"}]}
    done = {"role": "assistant", "parts": [{"type": "text", "content": "done"}]}
    both = items(span(1, [yes], [done]), span(2, [yes, done, yes], [done]))
    assert [item.text for item in both] == ["yes", "done", "yes", "done"]
    cut = items(span(1, [SYSTEM, ASKED, CALLED, ANSWERED, SAID, yes], [done]),
                span(2, [SAID, yes, done], [CALLED]))  # fmt: skip
    assert len(cut) == 7


def test_outputs_without_inputs_are_told_apart_by_their_span() -> None:
    alone = {"gen_ai.input.messages": ""}
    both = items(span(1, [], [SAID], **alone), span(2, [], [SAID], **alone))
    assert [item.text for item in both] == ["It was O-1."] * 2
    assert len(items(span(1, [], [SAID], **alone), span(1, [], [SAID], **alone))) == 1


def test_a_failed_tool_says_so_and_an_agent_has_its_name() -> None:
    failed = items(Span("t", "1", "x", 1, TOOL.attributes | {"error.type": "timeout"}))
    assert failed[1].reserved.is_error
    named = items(span(1, [ASKED], [SAID], **{"gen_ai.agent.name": "clerk"}))
    assert [item.reserved.author for item in named] == [None, "clerk"]


def test_parallel_calls_share_their_turn_and_results_find_their_calls() -> None:
    calls = [
        {"type": "tool_call", "id": f"c{n}", "name": "get", "arguments": {"n": n}} for n in (1, 2)
    ]
    replies = [{"type": "tool_call_response", "id": f"c{n}", "response": [n]} for n in (2, 1)]
    made = items(
        span(1, [ASKED, {"role": "assistant", "parts": calls}], []),
        span(2, [ASKED, {"role": "assistant", "parts": calls}, {"role": "tool", "parts": replies}],
             [SAID]),
    )  # fmt: skip
    _, first, second, of_second, of_first, _ = made
    assert first.reserved.turn_id == second.reserved.turn_id == first.id
    assert (of_first.parent_id, of_second.parent_id) == (first.id, second.id)
    assert of_second.text == "[2]"


CALLS = [{"id": "c1", "function": {"name": "orders", "arguments": '{"n":1,"m":2}'}}]
EVENTS = (
    SpanEvent("gen_ai.system.message", {"content": "Be brief."}),
    SpanEvent("gen_ai.user.message", {"gen_ai.event.content": '{"content":"Which order?"}'}),
    SpanEvent("gen_ai.assistant.message", {"tool_calls": json.dumps(CALLS)}),
    SpanEvent("gen_ai.tool.message", {"content": "O-1", "id": "c1"}),
    SpanEvent("gen_ai.choice", {"message": '{"role":"assistant","content":"It was O-1."}'}),
)
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which order?"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "content": "O-1", "tool_call_id": "c1"},
]
CONTENT = (
    SpanEvent("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(OPENAI)}),
    SpanEvent("gen_ai.content.completion", {"gen_ai.completion": json.dumps([SAID])}),
)
OPENLLMETRY = {
    "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Which order?",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "orders",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"n": 1, "m": 2}',
    "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.content": "O-1",
    "gen_ai.prompt.3.tool_call_id": "c1",
    "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It was O-1.",
}  # fmt: skip
_IN = "llm.input_messages."
OPENINFERENCE = {
    f"{_IN}0.message.role": "system", f"{_IN}0.message.content": "Be brief.",
    f"{_IN}1.message.role": "user", f"{_IN}1.message.content": "Which order?",
    f"{_IN}2.message.role": "assistant",
    f"{_IN}2.message.tool_calls.0.tool_call.id": "c1",
    f"{_IN}2.message.tool_calls.0.tool_call.function.name": "orders",
    f"{_IN}2.message.tool_calls.0.tool_call.function.arguments": '{"n": 1, "m": 2}',
    f"{_IN}3.message.role": "tool", f"{_IN}3.message.content": "O-1",
    f"{_IN}3.message.tool_call_id": "c1",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "It was O-1.",
}  # fmt: skip
STRUCTURED = {
    "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
    "gen_ai.input.messages": [ASKED, CALLED, ANSWERED],
    "gen_ai.output.messages": [SAID],
}
SESSION = {"gen_ai.conversation.id": "s1"}


@pytest.mark.parametrize(
    "span",
    [
        Span("t", "1", "chat", 1, STRUCTURED | SESSION),
        Span("t", "1", "chat", 1, SESSION, {}, EVENTS),
        Span("t", "1", "chat", 1, SESSION, {}, CONTENT),
        Span("t", "1", "chat", 1, OPENLLMETRY | SESSION),
        Span("t", "1", "chat", 1, OPENINFERENCE | {"session.id": "s1"}),
        Span("t", "1", "chat", 1, {}, SESSION, (
            SpanEvent("gen_ai.client.inference.operation.details", STRUCTURED),
        )),
    ],
    ids=["structured", "events", "content events", "OpenLLMetry", "OpenInference", "details"],
)  # fmt: skip
def test_every_convention_gives_the_same_items(span: Span) -> None:
    assert items(span) == items(SECOND)


def test_without_a_conversation_a_trace_is_a_session() -> None:
    attributes = {k: v for k, v in SECOND.attributes.items() if k != "gen_ai.conversation.id"}
    found = converted([Span("0af7", "1", "chat", 1, attributes)])
    assert list(found.sessions) == ["trace-0af7"]


def test_what_is_cut_off_is_told_and_the_rest_is_taken() -> None:
    cut = SECOND.attributes["gen_ai.input.messages"][:-20]
    found = converted([FIRST, span(2, [], [], **{"gen_ai.input.messages": cut})])
    assert (found.rejected, len(found.sessions["s1"])) == (1, 3)
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in found.why


REQUEST: dict[str, Any] = {
    "resourceSpans": [{
        "resource": {"attributes": [{"key": "session.id", "value": {"stringValue": "s1"}}]},
        "scopeSpans": [{"spans": [{
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": "eee19b7ec3c1b174",
            "name": "chat",
            "endTimeUnixNano": "7",
            "status": {"code": 2, "message": "timed out"},
            "attributes": [
                {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([ASKED])}},
                {"key": "n", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}},
            ],
        }]}],
    }]
}  # fmt: skip


def test_json_and_protobuf_are_the_same_spans() -> None:
    by_json = otlp.spans(json.dumps(REQUEST).encode(), JSON)
    message = json_format.ParseDict(REQUEST, ExportTraceServiceRequest())
    for scope in message.resource_spans[0].scope_spans:
        scope.spans[0].trace_id = bytes.fromhex("5b8efff798038103d269b633813fc60c")
        scope.spans[0].span_id = bytes.fromhex("eee19b7ec3c1b174")
    assert otlp.spans(message.SerializeToString(), PROTOBUF) == by_json
    (one,) = by_json
    assert (one.trace_id, one.end_ns) == ("5b8efff798038103d269b633813fc60c", 7)
    assert (one.is_error, one.status_message) == (True, "timed out")
    assert one.attributes["n"] == [1]
    assert items(one)[0].text == "Which order?"


def test_the_answer_names_what_was_rejected() -> None:
    assert otlp.answer(PROTOBUF, 0, "") == b""
    answer = ExportTraceServiceResponse.FromString(otlp.answer(PROTOBUF, 2, "why"))
    assert answer.partial_success.rejected_spans == 2
    assert json.loads(otlp.answer(JSON, 2, "why")) == {
        "partialSuccess": {"rejectedSpans": "2", "errorMessage": "why"}
    }


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_what_is_no_export_is_refused(kind: str) -> None:
    for content in (b"\xff\xff\xff", b"{", b'{"resourceSpans": 1}', b"[" * 100_000):
        with pytest.raises(InvalidInput):
            otlp.spans(content, kind)


TYPES = st.sampled_from(
    ["text", "tool_use", "tool_result", "image", "blob", "uri", "thinking", "x_tool_result"]
)
KEYS = st.sampled_from(
    [
        *("role", "parts", "type", "content", "text", "id", "0", "function", "message_content"),
        *("tool_calls", "tool_call", "tool_call_id", "tool_use_id", "toolUse", "toolResult"),
        *("image", "source"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | TYPES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            KEYS,
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [*SECOND.attributes, *OPENLLMETRY, *OPENINFERENCE, *TOOL.attributes, "gen_ai.prompt.0"]
)


@settings(max_examples=100)
@given(st.dictionaries(NAMES, VALUES | VALUES.map(json.dumps), max_size=6))
def test_any_span_is_read_or_refused(attributes: dict[str, Any]) -> None:
    events = tuple(SpanEvent(event.name, attributes) for event in EVENTS)
    for span in (Span("t", "1", "x", 1, attributes), Span("t", "1", "x", 1, {}, {}, events)):
        found = converted([span])
        assert found.rejected + len(found.sessions) <= 1
