"""What the tests of the audit tools share: a small session as records, and compiles of it."""

from collections.abc import Sequence

from weft.audit.history import fresh_model
from weft.compiler.compile import compile_pack
from weft.log.record import LogRecord
from weft.readmodel.model import records_of
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Event, Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

KEY = b"weft"
"""WEFT_FINGERPRINT_KEY of processes that tests start."""


def turn(name: str, text: str) -> ContextItem:
    return ContextItem(name, ItemKind.USER_TURN, text)


def call(name: str, parent: str, **arguments: object) -> ContextItem:
    named = {"tool_name": "list", "call_id": name, "arguments": arguments}
    return ContextItem(name, ItemKind.TOOL_CALL, "list()", parent, metadata=named)


def answer(name: str, parent: str, text: str) -> ContextItem:
    return ContextItem(name, ItemKind.TOOL_RESULT, text, parent, metadata={"tool_name": "list"})


def envelope(sequence: int, item_id: str, summary: str, run: str = "") -> EnvelopeEvent:
    origin = Origin(sequence, item_id, "firewall", "1", run=run)
    return EnvelopeEvent(origin, ResultEnvelope(summary, raw_tokens=len(summary) // 4))


SESSION: list[Event] = [
    turn("u1", "Which invoice of Ann is open? Her customer id is C-77."),
    call("c1", "u1", customer="C-77"),
    answer("r1", "c1", "RAW"),
    envelope(3, "r1", "one open invoice: INV-4711 of 30 May over 120.50 EUR"),
    turn("u2", "Pay INV-4711 then."),
]
"""A question, a call with its enveloped result, an order: sequences 1 to 5."""


def recorded(
    records: Sequence[LogRecord],
    at: int,
    phase: Phase = Phase.ANSWER,
    base: CompileAudit | None = None,
    **request: object,
) -> tuple[ContextPack, CompileAudit]:
    """A compile of the session at a sequence, as a live one would be."""
    seen = [record for record in records if record.sequence <= at]
    model = fresh_model(seen, at, "o200k_base")
    view = model.view("default", "session", at)
    asked = CompileRequest(phase, stable_from=base.id if base else None, **request)  # type: ignore[arg-type]
    made = compile_pack(view, asked, key=KEY, base=base)
    model.close()
    return made.pack, made.audit


def log_of(*events: Event) -> list[LogRecord]:
    return records_of([*SESSION, *events])
