"""What a process counts about its events; requests are counted in `runtime/request_telemetry.py`.
Labels are closed sets and never a tenant, session or subject: series do not grow with use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from weft_schemas.events import EVENT_TYPES
from weft_schemas.items import ItemKind

_EVENTS = frozenset(EVENT_TYPES) | frozenset(ItemKind)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120)
"""Buckets of what takes an event or a request: from a fold to the longest wait."""


class Metrics:
    """The counters of one process, for `/metrics`."""

    def __init__(self, process: str) -> None:
        self.registry = CollectorRegistry()
        self._process = process
        counter = partial(Counter, registry=self.registry)
        labels = ("process", "event", "outcome")
        events = counter("weft_events", "Events that this process finished", labels)
        self._of = cache(partial(events.labels, process))
        parked = counter("weft_parked", "Events given up and parked", ("process",))
        self._parked = parked.labels(process)
        taken = "Seconds from fetching an event to its acknowledgement"
        histogram = partial(Histogram, buckets=SECONDS, registry=self.registry)
        self._event_seconds = histogram("weft_event_seconds", taken, ("process",)).labels(process)
        self._lag = self._gauge("weft_lag_events", "Events published and not finished here")
        self._in_flight = self._gauge("weft_in_flight_events", "Events fetched and not finished")
        self._watermark = self._gauge("weft_watermark_sequence", "Last log sequence folded")

    def event(self, event: str, outcome: str, seconds: float) -> None:
        """Count one finished event of type or kind `event`; `outcome` is `derived`,
        `nothing`, `failed` or `parked`."""
        known = event if event in _EVENTS else "other"
        self._of(known, outcome).inc()
        self._event_seconds.observe(seconds)
        if outcome == "parked":
            self._parked.inc()

    def folded(self, count: int, watermark: int) -> None:
        """Count `count` events folded, the last of them at sequence `watermark`."""
        self._of("other", "derived").inc(count)
        self.watermark(watermark)

    def watermark(self, sequence: int) -> None:
        self._watermark.labels(self._process).set(sequence)

    def lag(self, events: int) -> None:
        self._lag.labels(self._process).set(events)

    def in_flight(self, count: Callable[[], int]) -> None:
        """Call `count` for the events in flight whenever the metric is read."""
        self._in_flight.labels(self._process).set_function(count)

    def _gauge(self, name: str, about: str) -> Gauge:
        """No series before its first value: a process to which it does not apply tells no 0."""
        return Gauge(name, about, ("process",), registry=self.registry)
