"""Spans: none unless they are asked for, and no texts unless that is asked for, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from weft.compiler.retrieval_span import retrieval_span
from weft.log.record import LogRecord
from weft.log.trace_context import current_trace
from weft.runtime.settings import Settings, read_settings
from weft.runtime.tracing import Tracing, continued
from weft_schemas.errors import ConfigurationError

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PAYLOAD = b'{"id": "r1", "text": "secret", "metadata": {"call_id": "c1"}}'


def traced(folder: Path, content: bool) -> list[dict]:
    tracing = Tracing("compiler", Settings(traces=f"file:{folder}", trace_content=content))
    query = "the query" if tracing.shows_content else ""
    with retrieval_span(tracing.tracer, "s1", query) as made:
        made(b'{"sequence": 7, "stats": {"prompt_tokens": 120}}')
    record = LogRecord(5, "w.in.3.acme.s1.tool_result", 0, PAYLOAD, traceparent=TRACE)
    span = tracing.event(record)
    assert span is not None
    assert continued(record, span).traceparent.split("-")[1] == TRACE.split("-")[1]
    span.end()
    tracing.close()
    (file,) = folder.iterdir()
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("content", [False, True])
def test_texts_are_in_a_span_only_where_that_is_set(tmp_path: Path, content: bool) -> None:
    compiled, worked = traced(tmp_path, content)
    assert ("the query" in json.dumps(compiled)) is content
    assert "secret" not in json.dumps(worked)
    assert worked["attributes"]["gen_ai.tool.call.id"] == "c1"
    assert compiled["attributes"]["gen_ai.usage.input_tokens"] == 120


def test_without_a_setting_nothing_is_traced() -> None:
    tracing = Tracing("firewall", Settings())
    record = LogRecord(5, "w.in.3.acme.s1.tool_result", 0, PAYLOAD, traceparent=TRACE)
    assert tracing.event(record) is None
    with retrieval_span(tracing.tracer, "s1", "q") as made:
        made(b"not looked at")
    tracing.close()


def test_a_program_without_tracing_has_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert current_trace() == ""


def test_a_wrong_setting_is_told() -> None:
    with pytest.raises(ConfigurationError, match="WEFT_TRACES"):
        read_settings({"WEFT_TRACES": "somewhere"})
