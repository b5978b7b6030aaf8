"""Metrics of HTTP requests; FastStream counts NATS requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram

from weft_schemas.errors import error_from

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120)


class RequestOutcome:
    """The outcome of one request."""

    code = "ok"

    @property
    def label(self) -> str:
        known = self.code == "ok" or error_from(self.code, "").code == self.code
        return self.code if known else "other"


class RequestCounts:
    """Requests by operation and code, and their durations."""

    def __init__(self, registry: CollectorRegistry, process: str) -> None:
        self._process = process
        self._requests = Counter(
            "weft_requests",
            "Requests that this process answered",
            ("process", "service", "code"),
            registry=registry,
        )
        self._seconds = Histogram(
            "weft_request_seconds",
            "Seconds from a request's arrival to its reply",
            ("process", "service"),
            buckets=_SECONDS,
            registry=registry,
        )

    @contextmanager
    def request(self, service: str) -> Iterator[RequestOutcome]:
        """Time one request. Set `code` on the yielded object if the answer is an error."""
        answer, start = RequestOutcome(), perf_counter()
        try:
            yield answer
        finally:
            self._requests.labels(self._process, service, answer.label).inc()
            self._seconds.labels(self._process, service).observe(perf_counter() - start)
