"""Records that do not belong are noted and skipped, whatever they hold."""

from __future__ import annotations

import pytest
from tests.folded import faults, turn

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.model import ReadModel, records_of

NINES = b"9" * 25


def record(sequence: int, subject: str, payload: bytes) -> LogRecord:
    return LogRecord(sequence, subject, 0, payload)


@pytest.mark.parametrize(
    ("subject", "payload", "code"),
    [
        ("w.in.0.t.s.user_turn", b"not json", "invalid_input"),
        ("w.in.0.t.s.user_turn", b'{"type":"item","id":"a","kind":"user_turn","v":9}', None),
        ("w.in.0.t.s.tool_call", b'{"type":"item","id":"a","kind":"user_turn"}', "invalid_input"),
        ("w.out.0.t.s.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', "invalid_input"),
        ("w.in.0.t.@tenant.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', None),
        ("w.in.0.t.s.erased", b'{"type":"erased","session":"s"}', "invalid_input"),
        ("w.out.0.t.s.erased", b'{"type":"erased","session":"s"}', "invalid_input"),
        ("w.in.0.t.=bad!.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', None),
        ("w.in.0.t.s.user_turn", b'{"type":"item","id":"\\ud800","kind":"user_turn"}', None),
        (
            "w.out.0.t.s.summary",
            b'{"type":"summary","origin":{"sequence":1},"text":"\\ud800","tokens":1,'
            b'"encoding":"cl100k_base"}',
            "invalid_input",
        ),
        (
            "w.in.0.t.s.session_closed",
            b'{"type":"session_closed","last_sequence":99999999999999999999999}',
            "",
        ),
    ],
)
def test_a_record_that_does_not_belong_is_noted_and_skipped(
    subject: str, payload: bytes, code: str | None
) -> None:
    before = records_of([turn("first")], "t", "s")
    after = records_of([turn("last")], "t", "s", first_sequence=3)
    read = ReadModel.in_memory([*before, record(2, subject, payload), *after])
    assert [row.id for row in read.view("t", "s").recent(9)] == ["last", "first"]
    if code != "":
        assert [(fault.sequence, fault.code) for fault in faults(read.db)] == [
            (2, code or faults(read.db)[0].code)
        ]


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("in.0.t.s.user_turn", b'"type":"item","id":"n\\u0000","kind":"user_turn"'),
        (
            "in.0.t.s.user_turn",
            b'"type":"item","id":"b","kind":"user_turn","metadata":{"n":1e400}',
        ),
        (
            "in.0.t.s.user_turn",
            b'"type":"item","id":"b","kind":"user_turn","body":{"sha256":"","size":1%s}' % NINES,
        ),
        (
            "out.0.t.s.episode",
            b'"type":"episode","origin":{"sequence":1},"episode_id":"e","scope":"u","text":"t",'
            b'"tokens":-5,"encoding":"x","first_sequence":-%s,"last_sequence":%s' % (NINES, NINES),
        ),
        (
            "out.0.t.s.summary",
            b'"type":"summary","origin":{"sequence":1},"text":"t","tokens":%s,'
            b'"encoding":"cl100k_base"' % NINES,
        ),
        (
            "out.0.t.s.parked",
            b'"type":"parked","origin":{"sequence":1},"code":"","error":"","attempts":%s' % NINES,
        ),
        ("out.0.t.@tenant.erased", b'"type":"erased","session":""'),
        ("out.0.t.@tenant.context_policy", b'"type":"context_policy","session":""'),
        ("out.0.t.@tenant.erased", b'"type":"erased","session":"\\u0000"'),
    ],
)
def test_extreme_values_stop_nothing(place: str, fields: bytes) -> None:
    hostile = record(2, f"w.{place}", b"{%s}" % fields)
    before = records_of([turn("first")], "t", "s")
    after = records_of([turn("last")], "t", "s", first_sequence=3)
    read = ReadModel.in_memory([*before, hostile, *after])
    shown = [row.id for row in read.view("t", "s").recent(9)]
    assert (shown[0], shown[-1]) == ("last", "first")
    assert len(content_digest(read.db)) == 64
