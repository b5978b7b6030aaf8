"""Whether a result says that its call failed."""

import json

import pytest

from weft.firewall.result_status import status_of
from weft_schemas.envelope import ResultStatus

SERVER_LOG = "".join(
    f"2026-11-27T14:3{n}:20.676Z ERROR [shop] o.s.b.App : start\n"
    "java.lang.IllegalStateException: boom\nCaused by: java.io.IOException: gone\n"
    f"2026-11-27T14:3{n}:21.676Z INFO  [shop] o.s.b.App : next\n"
    for n in range(4)
)
"""What a program logged, which a call has read."""
FAILED = (
    'Starting app\nException in thread "main" java.lang.IllegalStateException: boom\n\tat a.B',
    "=== RUN TestA\n--- FAIL: TestA (0.00s)\nFAIL\texample.com/a 0.1s",
    "[INFO] Total time: 2 s\n[INFO] BUILD FAILURE",
    "npm error code E404",
    "src/a.ts(3,5): error TS2322: Type 'x' is not assignable",
    "foo.c:3:1: error: expected ';'",
    "Planning\nError: error creating S3 bucket",
    "Planning failed.\n\u2577\n\u2502 Error: Unsupported argument\n\u2502 \n\u2575\n",
    "/srv/a.js\n  3:1  error  no-var\n\n\u2716 3 problems (1 error, 2 warnings)\n",
    " FAIL  src/a.test.ts\n\n Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n",
    'psql:a.sql:3: ERROR:  relation "a" does not exist',
    "12 examples, 1 failure",
    "compiled\nthread 'main' panicked at src/main.rs:2",
    "curl: (6) Could not resolve host",
    "hint: look\nfatal: not a git repository",
    "The command '/bin/sh -c make' returned a non-zero code: 2",
    "Process exited with code 1",
    "F..\n2 failed, 3 passed in 1.02s",
    "usage: tidy [-h] path\ntidy: error: the following arguments are required: path",
    "a.o: in function f\ncollect2: error: ld returned 1 exit status",
    "Reading package lists...\nE: Unable to locate package foo",
    "An error occurred (AccessDenied) when calling the GetObject operation: Access Denied",
    "Uncaught TypeError: x is not a function",
    "'foo' is not recognized as an internal or external command,\noperable program or batch file.",
    "503 Service Unavailable",
    "Error: 0 is no valid port",
    "Error, try again",
    "Error: none of the hosts answered",
    "504 Gateway Time-out",
    "500 Internal Server Error",
    "bash: foo: command not found",
    "Cannot open the file",
    "<soap:Envelope>\n<soap:Fault>\n",
    "% Rejected by policy gateway: the port is protected. No lines were sent.",
    "loading deck\nDRY RUN FAILED 3 errors",
    "1) PayTest\n\nFAILURES!\nTests: 63, Assertions: 120, Failures: 1.",
    "SQL> SELECT 1\nORA-00942: table or view does not exist",
    "Ld a.o\nThese commands failed:\n\tCompileSwift a\n\n** BUILD FAILED **\n\n(1 failure)",
    "Test Case 'a' started.\nExecuted 214 tests, with 2 failures (0 unexpected) in 9.8 seconds",
    "bash: /etc/amr/dock.ini: Read-only file system",
    "cp: cannot create '/srv/a': No space left on device\ncp: b: No space left on device",
    "#9 CANCELED\n------\nERROR: failed to solve: process did not complete successfully",
    'mission_result {\n  accepted: false\n  code: REJECTED_ROUTE\n  detail: "it is taken"\n}\n',
    "Fehler: Die Datei fehlt.",
    "Erreur : le dossier est verrouill\u00e9",
    "\u30a8\u30e9\u30fc\uff1a\u63a5\u7d9a\u3067\u304d\u307e\u305b\u3093",
    "\u041e\u0448\u0438\u0431\u043a\u0430: \u043d\u0435\u0442",
    "psql: ERROR:  permission denied to create extension",
    "To example.com:a/b.git\n ! [rejected]        main -> main (non-fast-forward)\nhint: Pull.",
    " ! [zur\u00fcckgewiesen] main -> main (fetch first)",
    f"{SERVER_LOG}Process exited with code 1",
    f"{SERVER_LOG}error: timed out waiting for the condition",
)
DONE = (
    '#!/bin/sh\nif ! test -f "$1"; then\n  echo "usage" >&2\n  exit 1\nfi\ncp "$1" /srv/app\n',
    "It ends with exit code 2 if no file matches.",
    "CONTAINER  STATUS\nweb  Exited (137) 5 minutes ago\n",
    "500 Best Albums",
    "404 Main Street",
    "error: null\norder: 7",
    "ERROR: 0\nWARN: 2",
    "Error: none\r\nRows: 3\r\n",
    "Error,Count\ntimeout,0\n",
    "Error | Meaning\n------|--------\nE1 | disk full\n",
    "failed=0\nok=12",
    "ENOENT: No such file or directory\nEACCES: Permission denied",
    "Hatay, Fellow and Erroll",
    "500 Gateway Drive, Suite 12, Burlingame",
    "450 Service Road, Melville",
    "src/app.ts:10:error: string;",
    "12 passed, 0 failed in 3.1s",
    "Failed: 0, Passed: 12",
    "Not found: 0 files",
    "Error handling in Go",
    "bash: the GNU shell",
    "12 examples, 0 failures",
    "/srv/a.js\n  3:1  warning  no-var\n\n\u2716 1 problem (0 errors, 1 warning)\n",
    " Test Files  1 passed (1)\n      Tests  4 passed (4)\n",
    "\u2502 kind \u2502 n \u2502\n\u2502 Error: timeouts \u2502 12 \u2502\n",
    "Of them\n  Tests 3 failed in March, none in April.",
    "% Unknown pleasures, a thesis\n\\documentclass{book}\n" + "\\section{x}\n" * 40,
    "DRY RUN PASSED 0 errors",
    "% Bad sectors: 0",
    "% Rejected: 0, % accepted: 100",
    "build 15 ok\nbuild 16 FAILED  3 errors\nbuild 17 ok",
    "Logins that FAILED: none, 3 errors in all of last year",
    "",
    SERVER_LOG,
    f"{SERVER_LOG}Traceback (most recent call last):\n  File 'a'\nKeyError: 'D-203'\n",
    "Traceback (most recent call last):\n".join(
        f"[INFO] [17642290{n}.56] [nav]: x\n" for n in range(40, 49)
    ),
    "INFO: read 3 rows\nERROR: the third is empty",
    "Collecting a\nERROR: pip's resolver did not look at all.\nSuccessfully installed a-1.0",
    "drwxr-xr-x a\nfind: '/root': Permission denied\ndrwxr-xr-x b",
    "offer {\n  accepted: false\n  price: 12\n}",
    "Executed 214 tests, with 0 failures (0 unexpected) in 9.8 seconds",
    "Attention ! [see below] the branch main -> main is old",
    "The text says: accepted: false\nreason: it is a joke",
)
RECORDS = (
    {"id": 7, "error": "none"},
    {"errors": {"count": 0}, "rows": 3},
    {"code": 404, "name": "Area code 404"},
    {"error_code": 0, "message": "all went well"},
    {"status": "rejected", "booking": "HL22", "reason": "VESSEL_FULL"},
)


@pytest.mark.parametrize("text", FAILED)
def test_a_failure_is_told_wherever_its_line_stands(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.ERROR


@pytest.mark.parametrize("text", DONE)
def test_a_text_that_only_speaks_of_failures_is_none(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.SUCCESS


@pytest.mark.parametrize("value", RECORDS)
def test_a_record_whose_error_field_says_that_there_was_none_is_none(value: object) -> None:
    assert status_of("", value, None) is ResultStatus.SUCCESS
    assert status_of("", {"error": "no such order"}, None) is ResultStatus.ERROR
    assert status_of("", {"error_code": 40403, "message": "no order"}, None) is ResultStatus.ERROR
    assert status_of("", {"status": "declined", "reason": "no cover"}, None) is ResultStatus.ERROR
    assert status_of("", {"code": 404, "message": "no such order"}, None) is ResultStatus.ERROR


FAILED_READS = [
    {"source": f"{name}.pdf", "success": False, "error": f"File not found at '{name}.pdf'."}
    for name in ("a", "b", "c")
]


@pytest.mark.parametrize("value", [FAILED_READS, {"results": FAILED_READS}])
def test_a_call_of_which_every_part_failed_is_an_error(value: object) -> None:
    assert status_of(json.dumps(value), value, None) is ResultStatus.ERROR


@pytest.mark.parametrize(
    "value",
    [
        [*FAILED_READS, {"source": "d.pdf", "success": True, "text": "Abstract"}],
        {"results": FAILED_READS, "cached": [{"source": "d.pdf"}]},
        [{"test": "a", "success": False}, {"test": "b", "success": False}],
        {"results": []},
        [],
    ],
)
def test_a_call_of_which_a_part_did_not_fail_is_none(value: object) -> None:
    assert status_of(json.dumps(value), value, None) is ResultStatus.SUCCESS


DATA = (
    {"status": "failed", "id": 1},
    {"id": "O-7781", "customer": "U-13000", "amount": "99.10", "status": "failed"},
    {"test_run": "nightly", "status": "FAILED", "url": "http://x"},
    {"status": 404, "url": "/missing", "hits": 12},
    {"http_status": 500, "count": 3, "path": "/pay"},
    {"title": "Fix the login", "status": "failed", "description": "It hangs."},
    {"code": 404, "description": "Coupon", "id": 7},
    {"exit_code": 0, "error": ""},
    {"exit_code": 0, "error": "none"},
    {"output": "ok", "metadata": {"exit_code": 0}},
    {"name": "job", "metadata": {"labels": {"exit_code": 1}}},
    {"id": 7, "name": "nightly", "status": "completed", "metadata": {"exit_code": 1}},
    {"status": "failed", "task_id": "T1"},
    [{"errorCode": "E1", "message": "m", "orderId": 7}],
    [{"errorCode": "", "message": "m"}],
    [{"errorCode": "OK", "message": "done"}],
    [{"errorCode": "E1", "message": "m", "success": True}],
    [{"errorCode": "E100", "message": "Disk full", "severity": "high"}],
    {
        "status": "failed",
        "code": "B17",
        "message": "Fix it",
        "author": "a",
        "branch": "b",
        "took": 3,
    },
    {"status": "error", "code": "E12", "message": "m", "order_id": 7, "amount": 3},
    {"status": "error", "code": "E12", "message": "m", "name": "nightly", "runs": 3},
    {"status": "failed", "task_id": "T1", "message": ""},
    {"status": "failed", "task_id": "T1", "description": "Fix the login"},
)
REPLIES = (
    {"status": "error", "message": "no such order"},
    {"message": "Not Found", "documentation_url": "https://x/rest", "status": "404"},
    {"args": ["make"], "returncode": 2, "stdout": "", "stderr": "stop"},
    {"status": "failed"},
    {"status": "failed", "code": "E12", "detail": "no such order", "data": None},
    {"status": "fail", "data": {"title": "A title is required"}},
    {"statusCode": 503, "body": "", "headers": {"Retry-After": "3"}},
    {"type": "about:blank", "title": "Not Found", "status": 404, "instance": "/orders/7"},
    {"status": 404, "url": "http://x/missing", "body": "Not Found"},
    {"id": 7, "error": "no such order"},
    {"id": 7, "status": "paid", "success": False},
    {"exit_code": 1, "stdout": "", "path": "/srv"},
    {"output": "lint", "metadata": {"exit_code": 1, "duration_seconds": 0.4}},
    {"errors": ["boom"], "metadata": {"exit_code": 0}},
    {"exit_code": 0, "ok": False},
    {"exit_code": 0, "error": "boom"},
    {"status": "error", "message": "x", "tool": "search"},
    {"status": "error", "error_type": "Timeout", "message": "m"},
    {"status": "error", "errorClass": "Timeout"},
    {"status": "error", "tool_name": "search"},
    {"status": "error", "code": 404, "path": "/x", "message": "m"},
    {"status": "error", "code": 404, "path": "/x"},
    {"status": "error", "url": "/x", "method": "GET", "detail": "m"},
    {"status": "FAILED", "task_id": "x", "message": "boom"},
    {"status": "failed", "jobId": 7, "reason": {"kind": "timeout"}},
    {"isError": True, "id": 7},
    {"status": "error", "code": "STALE", "message": "m", "revision": 7, "trace_id": "4c07"},
    {"status": "failed", "code": "E12", "message": "m", "task_id": "x"},
    {"status": "error", "code": "CARD", "message": "Card declined", "paid": False},
    [{"errorCode": "FIELD_CUSTOM_VALIDATION_EXCEPTION", "message": "m", "fields": ["Status"]}],
)


@pytest.mark.parametrize("value", DATA)
def test_a_status_among_other_data_is_data(value: object) -> None:
    assert status_of(json.dumps(value), value, None) is ResultStatus.SUCCESS


@pytest.mark.parametrize("value", REPLIES)
def test_an_object_that_only_says_what_went_wrong_is_an_error(value: object) -> None:
    assert status_of(json.dumps(value), value, None) is ResultStatus.ERROR


@pytest.mark.parametrize("value", [*REPLIES, *DATA, {"results": FAILED_READS}])
def test_what_the_publisher_says_stands_whatever_an_object_holds(value: object) -> None:
    text = json.dumps(value)
    assert status_of(text, value, False) is ResultStatus.SUCCESS
    assert status_of(text, value, True) is ResultStatus.ERROR


def test_a_call_that_succeeded_may_have_left_something_out() -> None:
    assert status_of("", {"rows": [1], "truncated": True}, False) is ResultStatus.PARTIAL
    assert status_of("rows\n[output truncated]", None, False) is ResultStatus.PARTIAL


@pytest.mark.parametrize(
    "text",
    [
        "exit code: 0\nError: none",
        "Error: none\n\n[Command finished with exit code 0]\n",
        "Exit code: 0\nWall time: 1 second\nOutput:\nFATAL is a level",
        "Process exited with code 0\nValueError: printed",
        "ValueError: printed\nThe script finished with exit code 0.",
        "ValueError: printed\nCommand exited with code 0",
    ],
)
def test_an_exit_code_of_0_settles_it(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.SUCCESS


@pytest.mark.parametrize(
    "text",
    [
        "exit code: 0\nmake: *** [all] Error 2\nexit code: 2",
        "first\nexit code: 0\nError: the second command",
        "exit code: 10\nError: ten",
        "Error: build failed\nprocess did not exit with code 0",
        "make: *** [all] Error 1\nexpected exit code 0",
        "ERROR: job failed\nstep 1 exited with 0",
        "ERROR: job failed\nlast exit code: 0",
        "Setup exit code: 0\nTraceback (most recent call last):\nValueError: x",
    ],
)
def test_an_exit_code_of_0_settles_nothing_if_it_is_not_that_of_the_call(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.ERROR


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ({"fehler": "GESPERRT", "hinweis": "erst nach Freigabe"}, ResultStatus.ERROR),
        ({"エラー": "在庫がありません"}, ResultStatus.ERROR),
        ({"erreur": "aucune", "total": 3}, ResultStatus.SUCCESS),
        ({"fehler": "", "anzahl": 2}, ResultStatus.SUCCESS),
        ({"id": 7, "fehler": "Bremse defekt"}, ResultStatus.SUCCESS),
    ],
)
def test_an_error_field_in_another_language_counts_beside_no_id(
    value: dict[str, object], status: ResultStatus
) -> None:
    assert status_of(json.dumps(value), value, None) is status
