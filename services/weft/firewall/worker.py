"""The firewall as a worker: every untrusted item of the log gets its envelope."""

from __future__ import annotations

from typing import Any

from weft import tokens
from weft.firewall.derive import FIREWALL_VERSION, envelope_for
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.deriving import HUGE_BYTES, Derived, WorkContext, Worker
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.runtime.worker import run_worker
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EnvelopeEvent, Event
from weft_schemas.items import ContextItem
from weft_schemas.subjects import Stored, derived_subject


async def service(process: Process) -> None:
    """Run until the process stops."""
    tokens.counter(process.settings.encoding)  # loaded here, not by the first event
    async with Publisher(process.connection) as publisher:
        artifacts = ArtifactStore(process.connection, publisher)
        await run_worker(process, firewall(process.settings, artifacts))


def firewall(settings: Settings, artifacts: ArtifactStore) -> Worker:
    """The worker; it alone reports malformed `in` events, since it alone sees all of them."""
    key = settings.fingerprint_key.encode()

    def given(address: Stored, item: ContextItem, context: WorkContext) -> dict[str, Any]:
        return {
            "origin": context.origin(item.id),
            "rules": context.policy.firewall,
            "fingerprint_key": key,
            "encoding": settings.encoding,
            "tenant": address.tenant,
            "session": address.session,
        }

    def at_once(
        record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived] | None:
        item = _untrusted(address, event, context)
        if item is None:
            return []
        if item.body is not None or len(item.text) > HUGE_BYTES:
            return None
        return _derived(address, envelope_for(item, item.text, **given(address, item, context)))

    async def derive(
        record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived]:
        item = _untrusted(address, event, context)
        if item is None:
            return []
        async with artifacts.body(address.tenant, item) as body:
            arguments = given(address, item, context)
            envelope = await context.compute(_size(item), envelope_for, item, body, **arguments)
        return _derived(address, envelope)

    return Worker("firewall", FIREWALL_VERSION, derive, at_once, reports="in")


def _untrusted(address: Stored, event: Event, context: WorkContext) -> ContextItem | None:
    """The event, where it is an item that gets an envelope."""
    if not isinstance(event, ContextItem):
        return None
    _check_kind(address, event)
    return event if context.is_untrusted(event) else None


def _derived(address: Stored, envelope: EnvelopeEvent) -> list[Derived]:
    subject = derived_subject(address.tenant, address.session, "envelope")
    return [Derived(subject, envelope, "envelope")]


def _check_kind(address: Stored, item: ContextItem) -> None:
    """The subject decides who may publish and what is trusted, so the body must agree with it."""
    if address.event != item.kind:
        raise InvalidInput(
            f"item {item.id!r}: $.kind is {item.kind.value!r}, but it was published as another; "
            "publish it to the subject of its kind"
        )


def _size(item: ContextItem) -> int:
    return item.body.size if item.body is not None else len(item.text)
