"""One trace from who publishes through firewall, indexer and compiler, each its own process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from tests.integration.command_line import services

import weft
from weft_schemas.items import ContextItem, ItemKind

SECRET = "which of the orders is the largest"


def spans_in(folder: Path) -> list[dict[str, Any]]:
    """Every span that a process has written, with the process's name."""
    found = []
    for file in folder.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            span = json.loads(line)
            found.append({**span, "process": file.stem.rpartition("-")[0]})
    return found


def one(spans: list[dict[str, Any]], process: str, name: str) -> dict[str, Any]:
    (span,) = [span for span in spans if (span["process"], span["name"]) == (process, name)]
    return span


async def test_a_trace_goes_through_every_process(tmp_path: Path) -> None:
    tracer = TracerProvider().get_tracer("agent")
    traces = tmp_path / "traces"
    settings = {"WEFT_TRACES": f"file:{traces}"}
    named = {"tool_name": "list", "call_id": "call-7"}
    result = ContextItem("r1", ItemKind.TOOL_RESULT, '[{"order": 1}]', metadata=named)
    async with services(tmp_path / "data", settings=settings) as url, weft.connect(url) as client:
        with tracer.start_as_current_span("agent's step") as step:
            ack = await client.publish("s1", result)
            pack = await client.compile(
                "s1", "answer", query=SECRET, after=ack.sequence, timeout=60
            )
    trace, parent = (f"0x{step.context.trace_id:032x}", f"0x{step.context.span_id:016x}")

    spans = [span for span in spans_in(traces) if span["context"]["trace_id"] == trace]
    worked = one(spans, "firewall", "process tool_result")
    assert worked["parent_id"] == parent
    assert worked["attributes"]["gen_ai.conversation.id"] == "s1"
    assert worked["attributes"]["gen_ai.tool.call.id"] == "call-7"
    assert worked["attributes"]["weft.outcome"] == "derived"
    folded = one(spans, "indexer", "fold envelope")
    assert folded["parent_id"] == worked["context"]["span_id"]
    asked = one(spans, "compiler", "weft-rpc.{tenant}.{session}.compile process")
    assert asked["parent_id"] == parent
    retrieval = one(spans, "compiler", "retrieval weft")
    assert retrieval["parent_id"] == asked["context"]["span_id"]
    attributes = retrieval["attributes"]
    assert (attributes["gen_ai.operation.name"], attributes["gen_ai.conversation.id"]) == (
        "retrieval",
        "s1",
    )
    assert attributes["gen_ai.usage.input_tokens"] == pack.stats.prompt_tokens
    assert "order" not in json.dumps(spans)
