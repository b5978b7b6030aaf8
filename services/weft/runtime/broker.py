"""FastStream's broker over the connection of the log, with two subscribers of weft's own: for
events of the log (`runtime/events.py`) and for requests (`runtime/requests.py`).

Everything else is FastStream's: middlewares, dependency injection, the order in which a process
starts and ends, AsyncAPI, and its test broker, under which handlers run without a server.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.middlewares import AckPolicy
from faststream.nats import NatsBroker
from faststream.nats.broker.registrator import NatsRegistrator
from faststream.nats.configs import NatsBrokerConfig
from faststream.nats.subscriber.config import (
    NatsSubscriberConfig,
    NatsSubscriberSpecificationConfig,
)
from faststream.nats.subscriber.specification import NatsSubscriberSpecification
from faststream.specification.asyncapi.utils import to_camelcase
from nats.aio.client import Client
from nats.js.api import ConsumerConfig

from weft.log.connection import Connection
from weft.log.consuming import HELD
from weft.runtime.events import EventSubscriber
from weft.runtime.requests import Around, RequestSubscriber
from weft_schemas.subjects import STORED

Request = TypeVar("Request", bound=msgspec.Struct)
Subscriber = TypeVar("Subscriber", EventSubscriber, RequestSubscriber)

MAX_BYTES = 1024 * 1024
"""Largest message, until a server has announced its limit."""


class Broker(NatsBroker):
    """A broker over the process's one connection, with the credentials and callbacks `log` set."""

    def __init__(self, **options: Any) -> None:
        # Handlers get what the subscribers decoded; FastStream has nothing left to convert.
        super().__init__(logger=None, serializer=None, **options)
        self._shared: Connection | None = None

    def share(self, connection: Connection) -> None:
        """Use this connection. Comes before `start`, and before any subscriber starts."""
        self._shared = connection
        self.config.connect(connection)
        self._setup_logger()

    @property
    def max_payload(self) -> int:
        """Bytes of the largest message."""
        return MAX_BYTES if self._shared is None else self._shared.max_payload

    def requests(
        self, service: str, kind: type[Request], group: str, replied: Around, in_turn: Around
    ) -> RequestSubscriber:
        """A subscriber for the requests of a service, which decorates its handler. `group` is the
        queue group; `replied` is called around all middlewares, `in_turn` within them."""
        subject = f"weft-rpc.{{tenant}}.{{session}}.{service}"
        # A subject may end with the name of the requester.
        parts = self._parts(subject, group, kind, f"weft-rpc.*.*.{service}.*")
        subscriber = RequestSubscriber(
            *parts, queue=group, kind=kind, replied=replied, in_turn=in_turn
        )
        return self._registered(subscriber)

    def events(self, durable: str, filter: str, kind: Any, held: int = HELD) -> EventSubscriber:
        """A subscriber for the events of a durable consumer, which decorates its handler. `filter`
        is the consumer's filter; `kind` is the event type that AsyncAPI documents, under the
        consumer's name, which is the worker's. At most `held` events are in work at a time."""
        direction = "{direction}" if filter == STORED else filter.split(".")[1]
        subject = f"weft.{{tenant}}.{{session}}.{direction}.{{event}}"
        parts = self._parts(subject, "", kind, title=durable)
        return self._registered(EventSubscriber(*parts, durable=durable, held=held))

    def _parts(
        self, subject: str, queue: str, kind: Any, *others: str, title: str | None = None
    ) -> tuple[Any, Any, Any]:
        config = NatsSubscriberConfig(
            subject=subject,
            sub_config=ConsumerConfig(filter_subjects=list(others)),
            no_reply=False,
            _outer_config=cast(NatsBrokerConfig, self.config),
            _ack_policy=AckPolicy.MANUAL,
        )
        calls: CallsCollection[Any] = CallsCollection()
        described = NatsSubscriberSpecificationConfig(
            subject=subject,
            queue=queue or None,
            title_=title,
            description_=None,
            include_in_schema=True,
        )
        return config, _Specification(kind, self.config, described, calls), calls

    def _registered(self, subscriber: Subscriber) -> Subscriber:
        # `NatsRegistrator.subscriber` makes FastStream's own; its base class takes any.
        super(NatsRegistrator, self).subscriber(subscriber)
        return subscriber

    async def stop(self, *error: Any) -> None:
        """Does not drain the connection, which would wait forty seconds for a server that may be
        gone; the owner of the connection closes it."""
        self._connection = None
        await super().stop(*error)

    async def _connect(self) -> Client:
        assert self._shared is not None, "share() comes before start()"
        return self._shared


class _Specification(NatsSubscriberSpecification):
    """AsyncAPI of a subscriber, with the contract's own schemas: FastStream cannot make them."""

    def __init__(self, kind: Any, *parts: Any) -> None:
        super().__init__(*parts)
        self._kind = kind

    def get_payloads(self) -> list[tuple[dict[str, Any], str]]:
        return [(msgspec.json.schema(self._kind), to_camelcase(self.call_name))]
