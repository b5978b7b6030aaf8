"""A log of version 1 that holds every event in its place, and what a read model of it digests to.

`python -m tests.golden.history` writes the files where they do not exist yet; it never writes over
one, since a released log must rebuild to its digest for ever.
"""

from pathlib import Path

import msgspec

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.model import ReadModel
from weft_schemas.envelope import ArtifactRef, ExtractedFact, ResultEnvelope, ResultStatus, Signal
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    ErasedEvent,
    ErasureReceiptEvent,
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SensitivityEvent,
    SessionClosedEvent,
    SummaryEvent,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION, artifact_handle
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.routing import Catalog, SelectableItem

FOLDER = Path(__file__).parent / "logs"
BODY = BodyRef("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 300_000)
USER, CALL, RESULT = ItemKind.USER_TURN, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT
MADE_BY = {"firewall": "1", "summarizer": "1", "memory": "1"}


class Line(msgspec.Struct, frozen=True):
    """One record of a golden log as a line of JSON."""

    sequence: int
    subject: str
    published_ns: int
    payload: str

    def record(self) -> LogRecord:
        return LogRecord(self.sequence, self.subject, self.published_ns, self.payload.encode())


class Recorded(msgspec.Struct, frozen=True):
    """What a golden log came to when it was released."""

    digest: str
    items: int
    faults: int


def events() -> list[tuple[str, Event]]:
    """(session, event), every type of event at least once; the n-th has sequence n."""

    def origin(sequence: int, worker: str, item_id: str = "", run: str = "") -> Origin:
        return Origin(sequence, item_id, worker, MADE_BY[worker], 1, run)

    named = {"tool_name": "list_invoices", "call_id": "c1", "arguments": {"customer": "C-77"}}
    scoped = {"scope": "user:42", "author": "Ann", "occurred_at": "2026-05-30T08:00:00Z"}
    handle = artifact_handle("acme", "s1", "r1")
    told = ResultEnvelope(
        "1 open invoice: INV-4711",
        status=ResultStatus.SUCCESS,
        facts=(ExtractedFact("invoices[0].id", "INV-4711", "r1"),),
        artifacts=(ArtifactRef(handle, "application/json", 300_000, BODY),),
        content_type="application/json",
        raw_size=300_000,
        raw_tokens=90_000,
        summary_tokens=9,
        sensitivity=Sensitivity.INTERNAL,
        signals=(Signal("secret", "aws_access_key", 1, "key 5f3a"),),
        encoding="cl100k_base",
    )
    untrusted = FirewallRules(untrusted_kinds=(RESULT,))
    tool = SelectableItem("t1", "list_invoices", "Lists invoices.", args_schema={"type": "object"})
    turn = ContextItem("u1", USER, "Is INV-4711 of café Zoë open? 🧾", metadata=scoped)
    return [
        (TENANT_SESSION, ContextPolicy("first", firewall=untrusted)),
        (TENANT_SESSION, Catalog("default", (tool,))),
        ("s1", turn),
        ("s1", ContextItem("c1", CALL, "list_invoices()", "u1", metadata=named)),
        ("s1", ContextItem("r1", RESULT, parent_id="c1", body=BODY)),
        ("s1", EnvelopeEvent(origin(5, "firewall", "r1"), told)),
        (
            "s1",
            FactsEvent(
                origin(3, "memory", "u1"),
                "user:42",
                (MemoryFact("user_timezone", "UTC", ("u1",)),),
            ),
        ),
        ("s1", ContextItem("a1", ItemKind.AGENT_MSG, "It is open. " * 60, "u1")),
        ("s1", SummaryEvent(origin(8, "summarizer", "a1"), "It is open.", 4, "cl100k_base")),
        ("s1", ContextItem("r2", RESULT, "poison", "c1")),
        ("s1", ParkedEvent(origin(10, "firewall", "r2"), "work_died", "the work died", 6)),
        ("s1", RevivedEvent(origin(10, "firewall", "r2"))),
        ("s1", EnvelopeEvent(origin(10, "firewall", "r2"), ResultEnvelope("no poison"))),
        ("s1", ContextItem("d1", ItemKind.DOC_SNIPPET, "Invoices are due in 30 days.")),
        ("s1", ContextItem("m1", ItemKind.MEMORY_FACT, "likes short answers")),
        ("s1", ContextItem("p1", ItemKind.PLAN_STATE, "1. list 2. pay")),
        ("s1", ContextItem("y1", ItemKind.POLICY, "Never pay twice.")),
        ("s1", ContextItem("u1", USER, "another item under a taken id")),
        ("s1", turn),
        ("s1", SessionClosedEvent(17, "idle")),
        (
            "s1",
            SummaryEvent(
                origin(20, "summarizer"),
                "Asked for an invoice.",
                5,
                "cl100k_base",
                scope="user:42",
                first_sequence=3,
                last_sequence=17,
                sources=("u1", "a1"),
            ),
        ),
        (
            "s1",
            EpisodeEvent(
                origin(21, "memory"),
                "s1:17",
                "user:42",
                "Asked for an invoice.",
                5,
                "cl100k_base",
                first_sequence=3,
                last_sequence=17,
                sources=("u1", "a1"),
            ),
        ),
        ("s1", EnvelopeEvent(origin(5, "firewall", "r1", "firewall/2/1"), ResultEnvelope("short"))),
        ("s1", FactsEvent(origin(3, "memory", "u1", "memory/2/1"), "user:42", ())),
        ("gone", ContextItem("x1", USER, "to be forgotten")),
        (TENANT_SESSION, ErasedEvent("gone", "asked for")),
        (TENANT_SESSION, ErasureReceiptEvent("gone", 26, {"events": 1}, ("backups",))),
        ("gone", ContextItem("x2", USER, "came late")),
        (TENANT_SESSION, ContextPolicy("second", session="s1")),
        ("s1", EnvelopeEvent(origin(4, "firewall", "nobody"), ResultEnvelope("of nothing"))),
        ("s1", SensitivityEvent(Origin(3, "u1", "classifier", "1"), Sensitivity.INTERNAL)),
    ]


def lines() -> list[Line]:
    """The log of version 1."""
    made = []
    for sequence, (session, event) in enumerate(events(), 1):
        is_item = isinstance(event, ContextItem)
        name = event.kind if is_item else str(type(event).__struct_config__.tag)
        direction = "in" if is_item or name in ("session_closed", "revived") else "out"
        subject = f"w.{direction}.3.acme.{session}.{name}"
        time = 1_780_128_000_000_000_000 + sequence * 1_000_000_007
        made.append(Line(sequence, subject, time, encode_event(event).decode()))
    return made


def read(version: str) -> list[LogRecord]:
    """The records of a released log."""
    content = (FOLDER / f"{version}.jsonl").read_bytes()
    return [msgspec.json.decode(line, type=Line).record() for line in content.splitlines()]


def recorded(version: str) -> Recorded:
    return msgspec.json.decode((FOLDER / f"{version}.json").read_bytes(), type=Recorded)


def came_to(records: list[LogRecord]) -> Recorded:
    """What this release makes of a log."""
    model = ReadModel.in_memory(records)
    [items], [faults] = (
        model.db.execute(f"SELECT count(*) FROM {table}").fetchone()
        for table in ("items", "faults")
    )
    found = Recorded(content_digest(model.db), items, faults)
    model.close()
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    log, outcome = FOLDER / "v1.jsonl", FOLDER / "v1.json"
    if not log.exists():
        log.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines()))
    if not outcome.exists():
        outcome.write_bytes(msgspec.json.encode(came_to(read("v1"))) + b"\n")
