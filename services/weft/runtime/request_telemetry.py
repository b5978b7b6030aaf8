"""FastStream's Prometheus and OpenTelemetry middlewares for requests. Series and spans are named by
the template of a subject, not by the subject, so that their number does not grow with sessions.

Events have counters and spans of our own, since FastStream's are per batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from faststream.message import StreamMessage
from faststream.prometheus import ConsumeAttrs, MetricsSettingsProvider, PrometheusMiddleware
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


def measured(registry: CollectorRegistry, process: str) -> PrometheusMiddleware[Any, Any]:
    """Counts the requests of a process, `weft_requests_received_messages_total` and so on."""
    return PrometheusMiddleware(
        settings_provider_factory=_for_requests(_Metrics()),
        registry=registry,
        app_name=process,
        metrics_prefix="weft_requests",
    )


def traced(provider: TracerProvider) -> Any:
    """A span for each request, within the trace that it names."""
    from faststream.opentelemetry.middleware import TelemetryMiddleware

    spans = _for_requests(_Spans())
    return TelemetryMiddleware(settings_provider_factory=spans, tracer_provider=provider)


def template_of(subject: str) -> str:
    """`weft-rpc.{tenant}.{session}.<service>` of a request's subject."""
    service = subject.split(".")[3:4]
    return ".".join(("weft-rpc", "{tenant}", "{session}", *service))


class _Metrics(MetricsSettingsProvider[Any, Any]):
    messaging_system = "nats"

    def get_consume_attrs_from_message(self, msg: StreamMessage[Msg]) -> ConsumeAttrs:
        return {
            "destination_name": template_of(msg.raw_message.subject),
            "message_size": len(msg.body),
            "messages_count": 1,
        }

    def get_publish_destination_name_from_cmd(self, cmd: Any) -> str:
        return "reply"


class _Spans:
    messaging_system = "nats"

    def get_consume_attrs_from_message(self, msg: StreamMessage[Msg]) -> dict[str, Any]:
        parts = msg.raw_message.subject.split(".")
        return {
            "messaging.system": "nats",
            "messaging.destination.template": template_of(msg.raw_message.subject),
            "gen_ai.conversation.id": parts[2] if len(parts) > 3 else "",
        }

    def get_consume_destination_name(self, msg: StreamMessage[Msg]) -> str:
        return template_of(msg.raw_message.subject)

    def get_publish_attrs_from_cmd(self, cmd: Any) -> dict[str, Any]:
        return {"messaging.system": "nats"}

    def get_publish_destination_name(self, cmd: Any) -> str:
        return "reply"


def _for_requests(settings: Any) -> Callable[[Any], Any]:
    """These settings for requests, which come alone; none for batches of events."""
    return lambda msg: settings if msg is None or isinstance(msg, Msg) else None
