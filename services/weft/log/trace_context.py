"""The trace that a program is in: W3C's `traceparent` of its current span.

A client imports no tracing of its own. Where the program that it runs in has loaded OpenTelemetry,
what it publishes and asks belongs to the span that is current there.
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
