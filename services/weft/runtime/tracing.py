"""Spans of a process, if `WEFT_TRACES` is set; derived events continue the trace of their source.
Names follow OpenTelemetry's conventions for generative AI and for messaging. A span has names, ids
and counts, and texts only with `WEFT_TRACE_CONTENT`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from weft.log.record import LogRecord
from weft.log.trace_context import trace_of
from weft.runtime.settings import Settings
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.items import ReservedMetadata

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span


class Tracing:
    """The spans of one process, if tracing is on."""

    def __init__(self, name: str, settings: Settings) -> None:
        """Raises `ConfigurationError` if the packages for it are not installed."""
        self._worker = name
        self.shows_content = settings.trace_content
        self.provider = _provider(name, settings.traces) if settings.traces else None
        self.tracer = self.provider.get_tracer("weft") if self.provider else None

    def close(self) -> None:
        """Send outstanding spans."""
        if self.provider is not None:
            self.provider.shutdown()

    def event(self, record: LogRecord) -> Span | None:
        """A span of the work on one event, which the caller ends. None if tracing is off."""
        if self.tracer is None:
            return None
        span = _span(self.tracer, "process", record)
        span.set_attribute("weft.worker", self._worker)
        return span

    def folded(self, records: list[LogRecord], begun_ns: int, ended_ns: int) -> None:
        """A span of the fold for each event of a batch that is part of a trace."""
        for record in records if self.tracer else ():
            if record.traceparent:
                _span(self.tracer, "fold", record, begun_ns).end(ended_ns)


def continued(record: LogRecord, span: Span) -> LogRecord:
    """The record as part of a span, to which the events derived from it then belong, too."""
    return replace(record, traceparent=trace_of(span))


class _Called(msgspec.Struct):
    metadata: ReservedMetadata = ReservedMetadata()


def _about(record: LogRecord) -> tuple[dict[str, Any], str]:
    """Attributes and name of an event, as far as they can be read."""
    attributes: dict[str, Any] = {
        "messaging.system": "nats",
        "messaging.operation.name": "process",
        "weft.sequence": record.sequence,
    }
    try:
        address = record.address()
    except InvalidInput:
        return attributes, "unreadable"
    attributes["gen_ai.conversation.id"] = address.session
    attributes["weft.tenant"] = address.tenant
    if address.event in ("tool_call", "tool_result"):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            called = msgspec.json.decode(record.payload, type=_Called).metadata
            said = {"gen_ai.tool.call.id": called.call_id, "gen_ai.tool.name": called.tool_name}
            attributes |= {name: value for name, value in said.items() if value}
    return attributes, address.event


def _span(tracer: Any, verb: str, record: LogRecord, begun_ns: int | None = None) -> Span:
    """A span of work on an event, within the event's trace."""
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    attributes, name = _about(record)
    within = TraceContextTextMapPropagator().extract({"traceparent": record.traceparent})
    span: Span = tracer.start_span(
        f"{verb} {name}", within, SpanKind.CONSUMER, attributes, start_time=begun_ns
    )
    return span


def _provider(name: str, traces: str) -> TracerProvider:
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": f"weft-{name}"})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(_exporter(name, traces)))
    except ImportError as error:
        raise ConfigurationError(
            f"WEFT_TRACES needs a package that is not installed ({error.name}); in weft's "
            "checkout: pip install '.[traces]'"
        ) from None
    return provider


def _exporter(name: str, traces: str) -> SpanExporter:
    if traces == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    class FileExporter(ConsoleSpanExporter):
        def shutdown(self) -> None:
            file.close()

    folder = Path(traces.removeprefix("file:"))
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / f"{name}-{os.getpid()}.jsonl").open("a", encoding="utf-8")
    return FileExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
