"""The firewall as a worker: it writes an envelope for every untrusted item of the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from weft import tokens
from weft.firewall.call_names import CallNames, needs_call, under_rules
from weft.firewall.derive import FIREWALL_VERSION
from weft.firewall.source_envelope import envelope_of
from weft.log.consuming import HELD
from weft.log.reading import EventLog
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.workers.deriver import Deriver
from weft.workers.running import run
from weft.workers.source import Source
from weft.workers.work_context import WorkContext
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, ItemKind


async def service(process: Process) -> None:
    """Run until the process is stopped."""
    tokens.counter(process.settings.encoding)  # loaded here, not with the first event
    await run(process, firewall(process.settings, EventLog(process.connection)))


def firewall(settings: Settings, log: EventLog) -> Deriver:
    """The worker. It alone reports malformed `in` events, since it alone sees all of them."""
    worker = Deriver("firewall", FIREWALL_VERSION, reports="in", concurrency=HELD)
    key, encoding = settings.fingerprint_key.encode(), settings.encoding
    envelope = partial(envelope_of, fingerprint_key=key, encoding=encoding)
    worker.of(ContextItem, when=_needs_no_call, whole=True)(envelope)
    worker.of(ContextItem, when=_is_untrusted, whole=True)(_OfCalls(log, envelope).envelope)
    return worker


class _OfCalls:
    """Envelopes of results whose calls say which rules hold for them."""

    def __init__(self, log: EventLog, envelope: Callable[[Source], EnvelopeEvent]) -> None:
        self._log = log
        self._envelope = envelope
        self._names = CallNames()

    async def envelope(self, source: Source, context: WorkContext) -> EnvelopeEvent:
        tool = await self._tool(source)
        item, rules = under_rules(source.item, source.policy.firewall, tool)
        policy = msgspec.structs.replace(source.policy, firewall=rules)
        named = msgspec.structs.replace(source, event=item, policy=policy)
        size = item.body.size if item.body is not None else len(item.text)
        return await context.compute(size, self._envelope, named)

    async def _tool(self, source: Source) -> str:
        """The tool of the result's call, if that precedes it in the log."""
        calls = self._names.of(source.tenant, source.session)
        through = source.sequence
        records = await self._log.items(
            source.tenant,
            source.session,
            ItemKind.TOOL_CALL,
            after=calls.through,
            through=through,
        )
        for record in records:
            try:
                event = record.event()
            except InvalidInput:
                continue  # parked by the worker that reports it
            if isinstance(event, ContextItem):
                calls.add(event, record.sequence)
        calls.through = max(calls.through, through)
        return calls.tool_of(source.item, source.sequence)


def _needs_no_call(source: Source) -> bool:
    return _is_untrusted(source) and not needs_call(source.item, source.policy.firewall)


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
