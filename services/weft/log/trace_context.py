"""The current trace: W3C's `traceparent` of the current span.

The client imports no tracing itself. If the program has loaded OpenTelemetry, its publishes and
requests belong to the program's current span.
"""

from __future__ import annotations

import sys


def current_trace() -> str:
    """`traceparent` of the current span, empty where there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return ""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
