"""Rows of one connection while its session grows: each view reads a row once, and says what stood
at its sequence."""

from __future__ import annotations

from tests.folded import envelope, fact, result, turn

from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer, snapshot
from weft.readmodel.view import SessionView
from weft_schemas.events import ErasedEvent, Event, Origin, SummaryEvent


class Log:
    """A read model that one connection reads again and again while it grows."""

    def __init__(self) -> None:
        self._fold = Fold(db := open_writer(":memory:"))
        self.reader = ReadModel(db)
        self._sequence = 0

    def append(self, *events: Event, session: str = "s") -> None:
        self._fold.apply(records_of(events, "t", session, self._sequence + 1))
        self._sequence += len(events)

    def texts(self, session: str = "s", at: int | None = None) -> list[str]:
        with snapshot(self.reader.db):
            return [row.text for row in self.reader.view("t", session, at).recent(1_000)][::-1]

    def asked(self, view: SessionView) -> list[str]:
        """The statements that reading the recent items and the first ones takes."""
        statements: list[str] = []
        self.reader.db.set_trace_callback(statements.append)
        view.recent(1_000)
        view.span(0, 9)
        view.rows(range(1, 10))
        self.reader.db.set_trace_callback(None)
        return [sql for sql in statements if "FROM items" in sql]


def summary(source: int, id: str, text: str) -> SummaryEvent:
    return SummaryEvent(Origin(source, id, "summarizer", "1"), text, 1, "cl100k_base")


def test_a_view_reads_an_item_once() -> None:
    log = Log()
    log.append(*(turn(f"u{number}") for number in range(50)))
    view = log.reader.view("t", "s")
    assert len(log.asked(view)) == 1
    assert log.asked(view) == []
    log.append(turn("new"))
    assert log.texts()[-2:] == ["turn u49", "turn new"]


def test_what_an_envelope_or_a_summary_changes_is_read_again() -> None:
    log = Log()
    log.append(turn("u"), result("r", parent_id="u"), turn("v"))
    assert log.texts() == ["turn u", "", "turn v"]
    log.append(envelope(2, "r", "first"))
    assert log.texts() == ["turn u", "first", "turn v"]
    log.append(envelope(2, "r", "second", run="again"))
    assert log.texts() == ["turn u", "second", "turn v"]
    log.append(summary(1, "u", "short"))
    assert [row.summary for row in log.reader.view("t", "s").recent(9)] == ["", "", "short"]


def test_a_past_view_is_not_told_what_came_later() -> None:
    log = Log()
    log.append(turn("u"), result("r", parent_id="u"), envelope(2, "r", "seen"))
    assert log.texts() == ["turn u", "seen"]
    assert log.texts(at=2) == ["turn u", ""]
    assert log.texts() == ["turn u", "seen"]


def test_a_view_that_no_snapshot_holds_does_not_change_under_its_reader() -> None:
    log = Log()
    log.append(turn("u"), result("r", parent_id="u"), envelope(2, "r", "first"))
    log.append(fact(1, "u", "tz", "CET"))
    assert log.texts() == ["turn u", "first"]
    view = log.reader.view("t", "s")
    log.append(envelope(2, "r", "second", run="again"), fact(1, "u", "tz", "UTC", run="again"))
    assert log.texts() == ["turn u", "second"]
    assert [row.text for row in view.recent(9)] == ["first", "turn u"]
    assert [known.value for known in view.facts(["u"])] == ["CET"]


def test_nothing_is_kept_over_an_erasure() -> None:
    log = Log()
    log.append(turn("u", "secret"), turn("v", "secret"))
    log.append(turn("w"), session="other")
    assert (log.texts(), log.texts("other")) == (["secret", "secret"], ["turn w"])
    log.append(ErasedEvent("s"))
    log.append(turn("x"), session="new")  # gets the number of the erased one, if any is free
    assert (log.texts(), log.texts("new"), log.texts("other")) == ([], ["turn x"], ["turn w"])


def test_an_unknown_session_has_no_rows() -> None:
    log = Log()
    assert log.texts("nobody") == []
