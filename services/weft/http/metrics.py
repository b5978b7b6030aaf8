"""Metrics of HTTP requests; FastStream counts NATS requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram

from weft.runtime.metrics import SECONDS
from weft_schemas.errors import WeftError, error_from


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
            "Seconds from a request's arrival to the end of its reply",
            ("process", "service"),
            buckets=SECONDS,
            registry=registry,
        )

    @contextmanager
    def request(self, service: str) -> Iterator[None]:
        """Count and time one request, by the error that ends it. A caller that leaves is none."""
        code, start = "ok", perf_counter()
        try:
            yield
        except Exception as error:
            code = _label(error)
            raise
        finally:
            self._requests.labels(self._process, service, code).inc()
            self._seconds.labels(self._process, service).observe(perf_counter() - start)


def _label(error: Exception) -> str:
    """The error's code, of a closed set; a fault of the server is answered as a `WeftError`."""
    code = error.code if isinstance(error, WeftError) else WeftError.code
    return code if error_from(code, "").code == code else "other"
