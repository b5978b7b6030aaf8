"""Replies in JSON that say that a call had no effect."""

import json

import pytest

from weft.firewall.refused_reply import is_refused_reply
from weft.firewall.result_status import status_of
from weft_schemas.envelope import ResultStatus

PENDING = [{"field": ["amount"], "code": "PENDING", "message": "A capture is pending."}]


@pytest.mark.parametrize(
    "value",
    [
        {"userErrors": PENDING, "refund": None},
        {"data": {"refundCreate": {"userErrors": PENDING, "refund": None}}},
        {"validation_errors": PENDING, "written": 0, "clientMutationId": "7"},
        {"ergebnis": "abgelehnt", "code": "RK-409", "meldung": "Der Einzug ist schon vorgemerkt."},
        {"結果": "エラー", "コード": "LIMIT-4", "詳細": "上限1,500円を150円超過。"},
        {"resultado": "Rechazado", "codigo": "F_17", "mensaje": "La factura ya está pagada."},
        {"outcome": "rejected", "code": "E17", "text": "The slot is taken until noon."},
    ],
)
def test_errors_beside_nothing_made_or_a_verdict_with_its_code_are_a_failure(value: object) -> None:
    assert is_refused_reply(value)
    assert status_of(json.dumps(value), value, None) is ResultStatus.ERROR


@pytest.mark.parametrize(
    "value",
    [
        {"userErrors": [], "refund": {"id": "R7"}},
        {"userErrors": PENDING, "refund": {"id": "R7"}},
        {"userErrors": PENDING},
        {"formErrors": [{"line": 7}], "form": None},
        {"written": 10, "rejected": [{"id": 7, "reason": "too long"}]},
        {"status": "rejected", "booking": "HL22", "reason": "VESSEL_FULL"},
        {"orders": [{"status": "rejected", "code": "E17", "text": "The slot is taken."}]},
        {"antrag": "A-17", "status": "abgelehnt", "grund": "Das Einkommen reicht nicht."},
        {"status": "abgelehnt", "grund": "Das Einkommen reicht nicht.", "am": "2025-10-08"},
        {"typ": "Fehler", "code": "B-7", "a": "Es hängt beim Start.", "b": 1, "c": 2, "d": 3},
        {"status": "rejected", "task_id": "T1", "text": "Fix the login"},
        {"ergebnis": "gebucht", "code": "OK-1", "meldung": "Das ist erledigt worden."},
    ],
)
def test_what_was_made_in_part_or_looked_up_is_none(value: object) -> None:
    assert not is_refused_reply(value)
    assert status_of(json.dumps(value), value, None) is ResultStatus.SUCCESS
