"""OTLP's requests for traces and for logs, in protobuf or JSON, as plain spans and log records; and
the answers to them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from weft_schemas.errors import InvalidInput

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
MAX_DEPTH = 64
"""Most levels of nested values. Deeper ones are cut off."""


M = TypeVar("M", bound=Message)


class SpanEvent(msgspec.Struct, frozen=True):
    name: str
    attributes: dict[str, Any]


class Span(msgspec.Struct, frozen=True):
    """One span. Its resource's attributes are included, but its own take precedence."""

    trace_id: str
    """Hex, as `span_id`."""
    span_id: str
    name: str
    end_ns: int
    attributes: dict[str, Any]
    resource: dict[str, Any] = {}
    events: tuple[SpanEvent, ...] = ()
    is_error: bool = False
    status_message: str = ""
    """What a failed span says about its failure."""


class OtlpLogRecord(msgspec.Struct, frozen=True):
    """One log record. Its resource's attributes are included, but its own take precedence."""

    trace_id: str
    """Hex, like `span_id`; both are empty if no span was open."""
    span_id: str
    name: str
    """Name of the event that it is; empty if it is not an event."""
    at_ns: int
    """When it happened, otherwise when it was observed."""
    attributes: dict[str, Any]
    body: Any = None
    resource: dict[str, Any] = {}


def spans(content: bytes, media_type: str) -> list[Span]:
    """The spans of an ExportTraceServiceRequest, in their order. Raises `InvalidInput`."""
    request = _read(ExportTraceServiceRequest(), content, media_type)
    name = _hex_of_json if media_type == JSON else bytes.hex
    return [
        Span(
            name(span.trace_id),
            name(span.span_id),
            span.name,
            span.end_time_unix_nano,
            _attributes(span.attributes),
            _attributes(several.resource.attributes),
            tuple(SpanEvent(event.name, _attributes(event.attributes)) for event in span.events),
            span.status.code == Status.StatusCode.STATUS_CODE_ERROR,
            span.status.message,
        )
        for several in request.resource_spans
        for scope in several.scope_spans
        for span in scope.spans
    ]


def log_records(content: bytes, media_type: str) -> list[OtlpLogRecord]:
    """The records of an ExportLogsServiceRequest, in their order. Raises `InvalidInput`."""
    request = _read(ExportLogsServiceRequest(), content, media_type)
    name = _hex_of_json if media_type == JSON else bytes.hex
    found = []
    for several in request.resource_logs:
        resource = _attributes(several.resource.attributes)
        for record in (one for scope in several.scope_logs for one in scope.log_records):
            attributes = _attributes(record.attributes)
            found.append(
                OtlpLogRecord(
                    name(record.trace_id),
                    name(record.span_id),
                    # An attribute named the event before the record had a field for it.
                    record.event_name or str(attributes.get("event.name") or ""),
                    record.time_unix_nano or record.observed_time_unix_nano,
                    attributes,
                    _value(record.body, MAX_DEPTH),
                    resource,
                )
            )
    return found


def answer(media_type: str, rejected: int, why: str) -> bytes:
    """The answer in the format of the request; it tells how many spans could not be read."""
    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = why
    return _encoded_response(response, media_type)


def logs_answer(media_type: str, rejected: int, why: str) -> bytes:
    """The same for log records."""
    response = ExportLogsServiceResponse()
    if rejected:
        response.partial_success.rejected_log_records = rejected
        response.partial_success.error_message = why
    return _encoded_response(response, media_type)


def _read(request: M, content: bytes, media_type: str) -> M:
    """The request, filled from the content."""
    try:
        if media_type == JSON:
            json_format.Parse(content, request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(content)
    except (json_format.ParseError, DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InvalidInput(f"the body is no {type(request).__name__}: {why}") from None
    return request


def _encoded_response(response: Message, media_type: str) -> bytes:
    if media_type == JSON:
        text: str = json_format.MessageToJson(response, indent=None)
        return text.encode()
    written: bytes = response.SerializeToString()
    return written


def _hex_of_json(parsed: bytes) -> str:
    """OTLP writes ids as hex, where protobuf's JSON has base64; they were parsed as base64."""
    return base64.b64encode(parsed).decode().lower()


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value, MAX_DEPTH) for pair in pairs}


def _value(value: AnyValue, depth: int) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth == 0:
        return None
    if kind == "array_value":
        return [_value(one, depth - 1) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _value(one.value, depth - 1) for one in value.kvlist_value.values}
    return getattr(value, kind)
