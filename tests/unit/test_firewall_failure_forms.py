"""Failures that a text tells by its form alone."""

import pytest

from weft.firewall.result_status import status_of
from weft_schemas.envelope import ResultStatus

FAULTS = (
    '<fault code="CAP-017"><message>cap 1200.00 exceeds 900.00</message></fault>',
    '<?xml version="1.0"?>\n<ns2:Exception xmlns:ns2="urn:a">\n  <a>no</a>\n</ns2:Exception>\n',
    "<ERROR>the line is barred</ERROR>",
    '<fault code="7"/>',
    "<call_error>Read the file before you write to it.</call_error>",
    "<response>\n  <error>\n    <code>17</code>\n  </error>\n</response>",
    '<reply id="4"><ns:fault code="7"/></reply>',
    "<response><error><error_code>17</error_code></error></response>",
    '<reply><error xmlns="urn:a" code="17"/></reply>',
)
CODES = (
    "HLR QUERY 09:01:12Z\nERR 404 NO_SUCH_SUBSCRIBER msisdn=46733048907",
    "connected\nERR: E_BUSY the port is in use",
    "sent 12 lines\nERROR LINE_BARRED",
    "ERR E12: the source is missing. Nothing was stored.",
    '{"kind": "schema", "text": "1187 is not there"}404',
    "<html><body>gone</body></html>\n503",
)
DIAGNOSTICS = (
    "# ledgerd/internal/cursor\ninternal/cursor/cursor.go:26:9: undefined: v2\n",
    "./main.go:3:2: imported and not used",
    "src\\main.zig:3:14: expected type 'u8'",
)
NAMED = (
    "AccessDenied: User: arn:aws:iam::1:user/etl is not authorized to perform: s3:PutObject",
    "ResourceNotFound: The table orders_2025 does not exist.",
    'RequestTimeout: "GET /orders" took over 30 s',
    "SQL compilation error:\nObject 'FX_RATES' does not exist or not authorized.",
    "Schema validation error: field due_date is required",
)
NO_NAMED = (
    "ConnectionTimeout: 30",
    "RequestTimeout: Long",
    "mean squared error: 0.31",
    "last error: none",
    "No validation error: all 14 rows were accepted",
    "Last sync error: see the log of Tuesday",
    "OrderRejected: 3\nOrderAccepted: 140",
    "Docker build error: how to find its cause" + " and what to do about it." * 20,
)
DATA = (
    *NO_NAMED,
    "<errors><error>a</error><error>b</error></errors>",
    "<response><error>0</error></response>",
    "<response><error/></response>",
    "<response><error>none</error></response>",
    "<response><error>No error</error></response>",
    '<response><error xsi:nil="true"/></response>',
    '<response><error xmlns="urn:a" code="0"/></response>',
    "<response><error><code>0</code><message>done</message></error></response>",
    "<response><error>a</error><order>7</order></response>",
    "<fault>a</fault> is how the format writes one; the next chapter tells more.",
    "<fault-list><fault>a</fault></fault-list> <b/>",
    "<fault></fault>",
    "<order><fault-count>3</fault-count></order>",
    "OK 200 FOUND\nERR 404 NO_SUCH_SUBSCRIBER\nERR 500 BUSY",
    "INF 200 found\nERR 404 missing",
    "ERR 12 of them",
    "lines by level\nINFO 15\nWARN 12\nERROR 134",
    "the log so far\nERROR 2024-05-01 12:00:00 the line was lost",
    "ERRATA 404 pages",
    "The reply was ERR 404 in March.",
    "ERR 404 NO_SUCH_SUBSCRIBER is what it says" + " then" * 100,
    "OK I1120\nWARN W07: the date is missing",
    "{a}\n404 more",
    "foo.c:3:1: warning: unused variable 'a'",
    "internal/cursor/cursor.go:26:9:undefined := 3",
    "internal/cursor/cursor.go:26:9:    return later(tx)",
    "internal/cursor/cursor.go:26: undefined",
    "see main.go:3:2: it is imported",
    "main.go:3:2: it is unused\n" + "the log of a day\n" * 200,
)


@pytest.mark.parametrize("text", [*FAULTS, *CODES, *DIAGNOSTICS, *NAMED])
def test_a_failure_is_told_by_its_form(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.ERROR


@pytest.mark.parametrize("text", DATA)
def test_data_of_a_similar_form_is_no_failure(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.SUCCESS
