"""The firewall as a worker: it writes an envelope for every untrusted item of the log."""

from __future__ import annotations

from functools import partial

from weft import tokens
from weft.firewall.derive import FIREWALL_VERSION, envelope_for
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.workers.deriver import Deriver
from weft.workers.running import run
from weft.workers.source import Source
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem


async def service(process: Process) -> None:
    """Run until the process is stopped."""
    tokens.counter(process.settings.encoding)  # loaded here, not with the first event
    await run(process, firewall(process.settings))


def firewall(settings: Settings) -> Deriver:
    """The worker. It alone reports malformed `in` events, since it alone sees all of them."""
    worker = Deriver("firewall", FIREWALL_VERSION, reports="in")
    key, encoding = settings.fingerprint_key.encode(), settings.encoding
    envelope = partial(_envelope, fingerprint_key=key, encoding=encoding)
    worker.of(ContextItem, when=_is_untrusted, whole=True)(envelope)
    return worker


def _envelope(source: Source, *, fingerprint_key: bytes, encoding: str) -> EnvelopeEvent:
    return envelope_for(
        source.item,
        source.body,
        origin=source.origin,
        rules=source.policy.firewall,
        fingerprint_key=fingerprint_key,
        encoding=encoding,
        tenant=source.tenant,
        session=source.session,
    )


def _is_untrusted(source: Source) -> bool:
    """Whether it gets an envelope. The subject decides who may publish and what is trusted, so the
    body must agree with it."""
    item = source.item
    if source.name != item.kind:
        raise InvalidInput(
            f"item {item.id!r}: $.kind is {item.kind.value!r}, but it was published as another; "
            "publish it to the subject of its kind"
        )
    return source.is_untrusted
