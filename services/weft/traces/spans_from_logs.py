"""Turns log records about a model's call, one for each message, into the spans that they belong to.

A message's id counts equal messages before it in its call. So if an exporter sends the records of a
call in several requests, they are joined again, and a request that is sent twice counts once. For
that, the latest calls are cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from weft.traces.genai_attributes import CHOICES, DETAILS, MESSAGES
from weft.traces.otlp import OtlpLogRecord, Span, SpanEvent

MAX_BYTES = 32 * 1024 * 1024
"""Size of the cache, as JSON; the calls without new records for the longest time are dropped."""

Key = tuple[str, str, str]
"""Tenant, trace and span."""


class _SpanRecords:
    """The records of one span so far."""

    def __init__(self) -> None:
        self.records: list[OtlpLogRecord] = []
        self.size = 0
        self._known: set[bytes] = set()

    def add(self, records: Sequence[OtlpLogRecord]) -> int:
        """Add the records that are new; returns their size."""
        written = [(one, msgspec.json.encode(one, order="deterministic")) for one in records]
        new = [(one, text) for one, text in written if text not in self._known]
        self._known.update(text for _, text in new)
        self.records.extend(one for one, _ in new)
        size = sum(len(text) for _, text in new)
        self.size += size
        return size


class SpanAssembler:
    """Makes spans from log records, for one process."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self.remembered_bytes = 0
        self._heard: OrderedDict[Key, _SpanRecords] = OrderedDict()

    def spans(self, tenant: str, records: Iterable[OtlpLogRecord]) -> list[Span]:
        """The calls that these records belong to, each with its earlier records. Other records are
        ignored."""
        found: list[Span] = []
        several: dict[Key, list[OtlpLogRecord]] = {}
        for record in records:
            if record.name == DETAILS:
                found.append(_alone(record))
            elif record.name in MESSAGES or record.name in CHOICES:
                key = (tenant, record.trace_id, record.span_id)
                several.setdefault(key, []).append(record)
        for key, group in several.items():
            for call in _calls(self._with_earlier(key, group)):
                found.append(_span(call))
        return found

    def _with_earlier(self, key: Key, records: list[OtlpLogRecord]) -> list[OtlpLogRecord]:
        if not key[2]:
            return records
        heard = self._heard.setdefault(key, _SpanRecords())
        self._heard.move_to_end(key)
        self.remembered_bytes += heard.add(records)
        while self.remembered_bytes > self._most_bytes and len(self._heard) > 1:
            _, gone = self._heard.popitem(last=False)
            self.remembered_bytes -= gone.size
        return list(heard.records)


def _calls(records: Iterable[OtlpLogRecord]) -> list[list[OtlpLogRecord]]:
    """By call: a message after an answer of the model begins another one."""
    calls: list[list[OtlpLogRecord]] = []
    is_answered = True
    for record in records:
        is_answer = record.name in CHOICES
        if not calls or (is_answered and not is_answer):
            calls.append([])
        calls[-1].append(record)
        is_answered = is_answer
    return calls


def _alone(record: OtlpLogRecord) -> Span:
    """A record that contains a whole call."""
    held = record.body if isinstance(record.body, dict) else {}
    return Span(
        record.trace_id,
        record.span_id,
        record.name,
        record.at_ns,
        {**held, **record.attributes},
        record.resource,
    )


def _span(call: Sequence[OtlpLogRecord]) -> Span:
    last = call[-1]
    attributes = {key: value for record in call for key, value in record.attributes.items()}
    events = tuple(SpanEvent(record.name, _event_body(record)) for record in call)
    named = "log records of a model's call"
    return Span(last.trace_id, last.span_id, named, last.at_ns, attributes, last.resource, events)


def _event_body(record: OtlpLogRecord) -> dict[str, object]:
    """The record's body in the form of a span's event."""
    body = record.body
    if isinstance(body, dict):
        return {**record.attributes, **body}
    return record.attributes if body is None else {**record.attributes, "content": body}
