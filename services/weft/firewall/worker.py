"""The firewall as a worker: every untrusted item of the log gets its envelope."""

from __future__ import annotations

from weft import tokens
from weft.firewall.derive import FIREWALL_VERSION, envelope_for
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.runtime.application import Process
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.deriving import Derived, WorkContext, Worker
from weft.runtime.settings import Settings
from weft.runtime.worker import run_worker
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Event
from weft_schemas.items import ContextItem
from weft_schemas.subjects import Stored, derived_subject


async def service(process: Process) -> None:
    """Run until the process stops."""
    tokens.encoding(process.settings.encoding)  # loaded here, not by the first event
    async with Publisher(process.connection) as publisher:
        artifacts = ArtifactStore(process.connection, publisher)
        await run_worker(process, firewall(process.settings, artifacts))


def firewall(settings: Settings, artifacts: ArtifactStore) -> Worker:
    """The worker; it alone reports malformed `in` events, since it alone sees all of them."""
    key = settings.fingerprint_key.encode()

    async def derive(
        record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived]:
        if not isinstance(event, ContextItem):
            return []
        _check_kind(address, event)
        rules = context.policy.firewall
        if event.kind not in rules.untrusted_kinds:
            return []
        async with artifacts.body(event) as body:
            envelope = await context.compute(
                _size(event),
                envelope_for,
                event,
                body,
                origin=context.origin(event.id),
                rules=rules,
                fingerprint_key=key,
                encoding=settings.encoding,
                tenant=address.tenant,
                session=address.session,
            )
        subject = derived_subject(address.tenant, address.session, "envelope")
        return [Derived(subject, envelope, "envelope")]

    return Worker("firewall", FIREWALL_VERSION, derive, reports="in")


def _check_kind(address: Stored, item: ContextItem) -> None:
    """The subject decides who may publish and what is trusted, so the body must agree with it."""
    if address.event != item.kind:
        raise InvalidInput(
            f"item {item.id!r}: $.kind is {item.kind.value!r}, but it was published as "
            f"{address.event!r}; publish it to the subject of its kind"
        )


def _size(item: ContextItem) -> int:
    return item.body.size if item.body is not None else len(item.text)
