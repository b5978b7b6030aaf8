"""The server's refusals as errors: what may be tried again, and what the sender must mend."""

import pytest

from weft.log.api import error_of
from weft_schemas.errors import Conflict, NotFound, Overloaded, Unavailable


@pytest.mark.parametrize(
    ("code", "number", "description", "kind"),
    [
        (400, 10208, "batch publish ID unknown", Unavailable),
        (400, 10176, "atomic publish batch is incomplete", Unavailable),
        (429, 10167, "too many requests", Unavailable),
        (503, 10077, "maximum messages exceeded", Overloaded),
        (503, 10008, "system temporarily unavailable", Unavailable),
        (409, 10158, "duplicate message id is in process", Unavailable),
        (400, 10005, "no suitable peers for placement", Unavailable),
        (400, 10071, "wrong last sequence: 7", Conflict),
        (404, 10059, "stream not found", NotFound),
    ],
)
def test_a_refusal_has_its_kind(code: int, number: int, description: str, kind: type):
    error = error_of({"code": code, "err_code": number, "description": description}, "a publish")
    assert type(error) is kind
    assert str(error).startswith(f"a publish: {description}")


def test_a_server_without_the_log_is_told_from_one_without_an_event():
    missing = error_of({"code": 404, "err_code": 10059, "description": "stream not found"}, "it")
    assert str(missing).endswith("; start `weft up`, or make the log with `weft provision`")
    other = error_of({"code": 404, "err_code": 10037, "description": "no message found"}, "it")
    assert "provision" not in str(other)
