"""Clean bodies in the read model: made of the raw body and its envelope, gone with an erasure."""

import hashlib
import json

import msgspec
import pytest
from tests.firewall_made import enveloped
from tests.folded import faults, found, model, turn

from weft import tokens
from weft.firewall.derive import envelope_for
from weft.log.record import LogRecord
from weft.readmodel import raw_bodies
from weft.readmodel.derived_fold import divided
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.rows import ItemRow
from weft.readmodel.store import open_writer
from weft_schemas.envelope import CleanBody, Mask
from weft_schemas.events import EnvelopeEvent, ErasedEvent, Event, Origin, ParkedEvent
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.policy import FirewallRules

SECRET = "AKIAIOSFODNN7EXAMPLE"
ROWS = [{"id": f"N{n:03d}X", "note": f"crate number {n} of tea " * 8} for n in range(60)]
BODY = json.dumps(ROWS, indent=1)
LARGE = json.dumps(ROWS * 10)
INDEXED = ("bodies", "documents", "unsealed_documents")
MASKED = f"aws_access_key_id = {SECRET}\n" + "the ferry leaves at noon\n" * 400


def result(text: str = BODY, name: str = "r") -> ContextItem:
    return ContextItem(name, ItemKind.TOOL_RESULT, text)


def derived(item: ContextItem, sequence: int, run: str = "", **rules: object) -> EnvelopeEvent:
    """What the firewall makes of an item at this sequence."""
    made = envelope_for(
        item,
        item.text,
        origin=Origin(sequence, item.id, "firewall", "1", run=run),
        rules=FirewallRules(**rules),  # type: ignore[arg-type]
        fingerprint_key=b"",
        encoding=tokens.DEFAULT_ENCODING,
        tenant="t",
        session="s",
    )
    assert made.envelope.clean is not None or made.envelope.complete
    return made


def newest(read: ReadModel, as_of: int | None = None) -> ItemRow:
    return read.view("t", "s", as_of).recent(1)[0]


def bodies(read: ReadModel) -> int:
    count: int = read.db.execute("SELECT count(*) FROM bodies").fetchone()[0]
    return count


@pytest.mark.parametrize("text", [LARGE, LARGE.replace("tea", SECRET, 1)], ids=["shown", "masked"])
def test_what_is_prepared_ahead_of_the_envelope_leaves_the_same_rows(text: str) -> None:
    item, envelope = records_of([result(text), derived(result(text), 1)], "t", "s")
    rows = []
    for is_prepared in (False, True):
        divided.cache_clear()
        db = open_writer(":memory:")
        fold = Fold(db)
        fold.apply([item])
        if is_prepared:
            fold.prepare()
            assert divided.cache_info().misses == 1
        fold.apply([envelope])
        assert divided.cache_info().hits == (is_prepared and SECRET not in text)
        rows.append([db.execute(f"SELECT * FROM {table}").fetchall() for table in INDEXED])
    assert rows[0] == rows[1]
    assert all(rows[0])


@pytest.mark.parametrize("line", ["[INFO] the ferry leaves\n", "[home](/) and a page\n"])
def test_a_log_or_a_page_that_begins_as_json_does_is_not_prepared(line: str) -> None:
    divided.cache_clear()
    fold = Fold(open_writer(":memory:"))
    fold.apply(records_of([result(line * 4_000)], "t", "s"))
    fold.prepare()
    assert divided.cache_info().misses == 0


def test_the_clean_text_is_the_body_byte_for_byte() -> None:
    row = newest(model(result(), derived(result(), 1)))
    assert (row.whole, row.is_complete) == (BODY, True)
    assert row.size_of_whole == len(BODY)
    assert row.whole_tokens == pytest.approx(tokens.count(BODY), rel=0.05)
    assert row.parts is not None
    assert len(row.text) < len(BODY) / 3


def test_a_secret_is_nowhere_in_the_file() -> None:
    read = model(result(MASKED), derived(result(MASKED), 1))
    row = newest(read)
    assert SECRET not in row.whole
    assert row.whole.endswith("the ferry leaves at noon\n" * 400)
    assert not found(read, SECRET)
    assert SECRET not in "\n".join(read.db.iterdump())


def test_it_is_found_by_its_passages() -> None:
    read = model(result(), derived(result(), 1))
    view = read.view("t", "s")
    (best, *_) = view.search(["n051x"], 10)
    assert (best.sequence, best.passage > 0) == (1, True)


def test_before_the_envelope_nothing_is_there() -> None:
    read = model(result(), turn("u"), derived(result(), 1))
    early = read.view("t", "s", 2).rows([1])[0]
    assert (early.pending, early.text, early.whole, early.is_complete) == (True, "", "", False)
    assert read.view("t", "s", 3).rows([1])[0].whole == BODY


def late(records: list[LogRecord], held: dict[int, bytes | None]) -> tuple[ReadModel, list[int]]:
    """A fold that was started anew before each record, over a log that holds these payloads."""
    asked: list[int] = []

    def read(sequence: int) -> bytes | None:
        asked.append(sequence)
        return held[sequence]

    db = open_writer(":memory:")
    for record in records:
        Fold(db, tokens.DEFAULT_ENCODING, RawBodies(read)).apply([record])
    return ReadModel(db), asked


def of_nobody(sequence: int) -> bytes | None:
    """A log that nobody may ask."""
    raise AssertionError(f"the log was asked for event {sequence}")


@pytest.mark.parametrize("text", ["the ferry leaves at noon", BODY], ids=["short", "large"])
def test_a_body_is_held_until_its_envelope_and_no_longer(text: str) -> None:
    waiting = RawBodies(of_nobody)
    fold = Fold(open_writer(":memory:"), bodies=waiting)
    item, envelope = records_of([result(text), derived(result(text), 1)], "t", "s")
    fold.apply([item])
    assert (waiting.newest(), len(waiting._kept)) == (text, 1)
    fold.apply([envelope])
    assert (waiting.newest(), len(waiting._kept)) == ("", 0)


def test_the_body_of_a_parked_result_is_not_held() -> None:
    waiting = RawBodies(of_nobody)
    events = [result(), ParkedEvent(Origin(1, "r", "firewall"), "timeout", "too slow", 3)]
    Fold(open_writer(":memory:"), bodies=waiting).apply(records_of(events, "t", "s"))
    assert len(waiting._kept) == 0


def test_what_another_worker_parks_waits_for_its_envelope() -> None:
    waiting = RawBodies(of_nobody)
    events = [result(), ParkedEvent(Origin(1, "r", "memory"), "timeout", "too slow", 3)]
    Fold(open_writer(":memory:"), bodies=waiting).apply(records_of(events, "t", "s"))
    assert len(waiting._kept) == 1


def test_short_results_do_not_push_out_a_large_one_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(raw_bodies, "MAX_BYTES", 2 * len(BODY))
    shorts = [
        result(f"the ferry {number} leaves at noon " * 20, f"s{number}") for number in range(60)
    ]
    events: list[Event] = [result()]
    for short in shorts:
        events += [short, derived(short, len(events) + 1)]
    db = open_writer(":memory:")
    fold = Fold(db, bodies=RawBodies(of_nobody))
    fold.apply(records_of([*events, derived(result(), 1)], "t", "s"))
    assert ReadModel(db).view("t", "s").rows([1])[0].whole == BODY


def test_of_an_envelope_that_comes_late_the_body_is_read_from_the_log() -> None:
    records = records_of([result(), derived(result(), 1)], "t", "s")
    read, asked = late(records, {1: records[0].payload})
    assert newest(read).whole == BODY
    assert asked == [1]


def test_where_the_log_has_lost_the_body_the_summary_stands() -> None:
    records = records_of([result(), derived(result(), 1)], "t", "s")
    read, _ = late(records, {1: None})
    row = newest(read)
    assert (row.is_complete, row.whole, row.parts) == (False, row.text, None)
    assert bodies(read) == 0


@pytest.mark.parametrize(
    "clean",
    [
        CleanBody(digest="0123456789abcdef", characters=len(BODY)),
        CleanBody(masks=(Mask(5, 10**9, "x"),), characters=1),
        CleanBody(masks=(Mask(9, 12, "x"), Mask(3, 4, "y")), characters=1),
    ],
)
def test_an_envelope_of_another_body_stops_nothing_and_shows_its_summary(clean: CleanBody) -> None:
    good = derived(result(), 1)
    bad = msgspec.structs.replace(
        good, envelope=msgspec.structs.replace(good.envelope, clean=clean)
    )
    read = model(result(), bad, turn("u"))
    row = read.view("t", "s").rows([1])[0]
    assert (row.pending, row.is_complete, row.whole) == (False, False, row.text)
    assert read.watermark() == 3
    assert [fault.sequence for fault in faults(read.db)] in ([], [2])


def test_a_second_envelope_replaces_text_and_passages_from_its_place_on() -> None:
    first = derived(result(MASKED), 1)
    raised = derived(result(MASKED), 1, run="2")
    masks = raised.envelope.clean
    assert masks is not None
    noon = MASKED.index("noon")
    more = CleanBody(masks=(*masks.masks, Mask(noon, noon + 4, "####")))
    raised = msgspec.structs.replace(
        raised, envelope=msgspec.structs.replace(raised.envelope, clean=more)
    )
    read = model(result(MASKED), first, raised)
    assert "at ####\n" in newest(read).whole
    assert "at ####\n" not in newest(read, 2).whole
    assert newest(read, 2).whole.count("noon") == newest(read).whole.count("noon") + 1
    assert set(found(read, "ferry", 2)) == set(found(read, "ferry")) == {1}


def in_the_store(text: bytes, name: str = "r") -> ContextItem:
    body = BodyRef(hashlib.sha256(text).hexdigest(), len(text))
    return ContextItem(name, ItemKind.TOOL_RESULT, body=body)


def folded(*events: Event, store: dict[str, bytes]) -> ReadModel:
    return ReadModel.in_memory(records_of(events, "t", "s"), stored=store)


@pytest.mark.parametrize(
    "body",
    [
        LARGE.encode(),
        MASKED.encode(),
        b"un\xe2\x80\x8bseen\n" + BODY.encode(),
        b"\xff" + BODY.encode(),
    ],
    ids=["plain", "masked", "normalised", "no UTF-8"],
)
def test_a_body_in_the_object_store_leaves_the_rows_that_it_leaves_in_its_event(
    body: bytes,
) -> None:
    apart = in_the_store(body)
    here = result(body.decode("utf-8", "replace"))
    assert apart.body is not None
    store = {apart.body.sha256: body}
    stored = folded(apart, enveloped(apart, body), store=store)
    within = model(here, derived(here, 1))
    for table in INDEXED:
        rows = [db.execute(f"SELECT * FROM {table}").fetchall() for db in (stored.db, within.db)]
        assert rows[0] == rows[1]
        assert rows[0]
    assert newest(stored).is_complete
    assert newest(stored).whole == newest(within).whole
    assert SECRET not in "\n".join(stored.db.iterdump())


@pytest.mark.parametrize("kept", [None, b"other bytes"], ids=["gone", "changed"])
def test_of_a_body_that_is_not_in_the_object_store_the_summary_is_shown(kept: bytes | None) -> None:
    body = LARGE.encode()
    item = in_the_store(body)
    assert item.body is not None
    store = {} if kept is None else {item.body.sha256: kept}
    row = newest(folded(item, enveloped(item, body), store=store))
    assert (row.is_complete, row.whole, row.parts) == (False, row.text, None)
    assert row.text


def test_no_body_is_read_for_what_is_erased_outranked_or_shown_as_its_summary() -> None:
    def read(tenant: str, reference: BodyRef) -> bytes | None:
        raise AssertionError(f"body {reference.sha256} of {tenant} was read")

    item = in_the_store(body := LARGE.encode())
    made = enveloped(item, body)
    plain = msgspec.structs.replace(
        made, envelope=msgspec.structs.replace(made.envelope, clean=None)
    )
    for events in ([item, ErasedEvent("s"), made], [item, plain, made]):
        fold = Fold(open_writer(":memory:"), bodies=RawBodies(of_nobody, read))
        fold.apply(records_of(events, "t", "s"))


def test_a_body_in_the_object_store_is_read_under_its_tenant_and_held_nowhere() -> None:
    asked: list[tuple[str, str]] = []
    body = LARGE.encode()
    item = in_the_store(body)

    def read(tenant: str, reference: BodyRef) -> bytes | None:
        asked.append((tenant, reference.sha256))
        return body

    waiting = RawBodies(of_nobody, read)
    fold = Fold(open_writer(":memory:"), bodies=waiting)
    fold.apply(records_of([item, enveloped(item, body)], "t", "s"))
    assert item.body is not None
    assert asked == [("t", item.body.sha256)]
    assert (waiting.newest(), len(waiting._kept)) == ("", 0)


def test_an_erasure_deletes_bodies_and_passages() -> None:
    read = model(result(), derived(result(), 1), ErasedEvent("s"))
    assert bodies(read) == 0
    assert read.db.execute("SELECT count(*) FROM documents").fetchone()[0] == 0
    assert found(read, "crate") == []


def test_an_item_that_was_erased_takes_no_raw_body_with_it() -> None:
    read = model(result(), ErasedEvent("s"), derived(result(), 1))
    assert bodies(read) == 0
    assert read.view("t", "s").item_count() == 0


def test_live_and_rebuilt_read_the_same() -> None:
    masked = result(MASKED, "m")
    events = [result(), turn("u"), derived(result(), 1), masked, derived(masked, 4)]
    records = records_of(events, "t", "s")
    held = {record.sequence: record.payload for record in records}
    live, _ = late(records, dict(held))
    rebuilt = ReadModel.in_memory(records)
    tables = "SELECT * FROM bodies ORDER BY version", "SELECT * FROM documents ORDER BY 1, 2"
    for sql in tables:
        assert live.db.execute(sql).fetchall() == rebuilt.db.execute(sql).fetchall()
