"""The current trace: W3C's `traceparent` of the current span, if the program has loaded
OpenTelemetry. The client itself imports no tracing."""

from __future__ import annotations

import sys
from typing import Any


def current_trace() -> str:
    """`traceparent` of the current span, empty if there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    return "" if trace is None else trace_of(trace.get_current_span())


def trace_of(span: Any) -> str:
    """`traceparent` of an OpenTelemetry span, empty for one that is not valid."""
    context = span.get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
