"""What each form of text is recognised as, and what its summary keeps."""

import json
import random

import pytest
from tests.firewall_made import envelope, facts, invoices

from weft.firewall.aligned import is_aligned, table_of, without_size
from weft.firewall.detect import Form, detect
from weft.tokens import ENCODINGS
from weft_schemas.envelope import ResultStatus
from weft_schemas.policy import FirewallRules


def log(lines: int) -> str:
    rng = random.Random(1)
    every = [
        f"2024-05-01 10:{n // 60:02d}:{n % 60:02d},{rng.randrange(999):03d} INFO worker-{n % 4} "
        f"served /items/{rng.randrange(9999)} in {rng.randrange(90)} ms"
        for n in range(lines)
    ]
    every[lines // 2] = "2024-05-01 10:20:00,000 ERROR worker-2 connection to db-7 refused"
    every[lines // 3] = "2024-05-01 10:10:00,000 WARN worker-1 queue is half full"
    return "\n".join(every)


TRACEBACK = """Traceback (most recent call last):
  File "/app/main.py", line 12, in <module>
    run(config)
  File "/usr/lib/python3.11/site-packages/lib/deep.py", line 400, in call
    return self._call(request)
  File "/app/orders.py", line 88, in total
    return sum(line.price for line in lines)
AttributeError: 'NoneType' object has no attribute 'price'
"""

DIFF = "".join(
    f"diff --git a/src/m{n}.py b/src/m{n}.py\n--- a/src/m{n}.py\n+++ b/src/m{n}.py\n"
    f"@@ -{n},4 +{n},5 @@ def f():\n context one\n-old value {n}\n+new value {n}\n+added {n}\n"
    for n in range(40)
)

TESTS = (
    "============ test session starts ============\n"
    + "".join(f"tests/test_m{n}.py::test_works PASSED\n" for n in range(200))
    + "______ test_total ______\n    def test_total():\n>       assert total([1]) == 2\n"
    "E       assert 1 == 2\n\ntests/test_orders.py:14: AssertionError\n"
    "FAILED tests/test_orders.py::test_total - assert 1 == 2\n"
    "============ 1 failed, 200 passed in 3.21s ============\n"
)

HTML = (
    "<!doctype html><html><head><title>Prices</title><script>var x = 'hidden';</script></head>"
    "<body>"
    "<nav><a href='/'>Home</a></nav><h1>Price list</h1>"
    + "".join(f"<h2>Model {n}</h2><p>Costs {n} euro, in stock.</p>" for n in range(200))
    + "</body></html>"
)

MARKDOWN = "# Guide\n\nHow to deploy.\n\n" + "".join(
    f"## Step {n}\n\nRun `deploy-{n}` and look at [the page](https://example.com/{n}).\n\n"
    for n in range(100)
)

CODE = '"""A module."""\nimport os\n\n' + "".join(
    f"class Thing{n}:\n    def method_{n}(self, a):\n        if a:\n            return {n}\n\n"
    for n in range(60)
)

YAML = "".join(
    f"- name: server-{n}\n  tool: fetch_{n}\n  about: gets a thing\n  retries: 3\n"
    for n in range(90)
)

XML = (
    "<?xml version='1.0'?>\n<orders>\n"
    + "".join(
        f"  <order>\n    <id>A-{n}</id>\n    <total>{n}.50</total>\n  </order>\n"
        for n in range(120)
    )
    + "</orders>\n"
)

CSV = "id,name,amount,city\n" + "".join(
    f'{n},"Name, {n}",{n * 1.5},{("Rome", "Oslo")[n % 2]}\n' for n in range(400)
)

TABLE = "| id | name | price |\n|----|:----:|------:|\n" + "".join(
    f"| {n} | item {n} | {n}.25 |\n" for n in range(200)
)

PSQL = " id | customer | state\n----+----------+----------\n" + "".join(
    f"{n:3d} | cust {n:3d} | {'disputed' if n == 131 else 'paid'}\n" for n in range(300)
)

MYSQL = "+-----+--------+\n| id  | state  |\n+-----+--------+\n" + "".join(
    f"| {n:3d} | {'failed' if n == 131 else 'paid  '} |\n" for n in range(300)
)


def aligned(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    """As programs print a table: each column as wide as its longest cell, three blanks apart."""
    widths = [max(map(len, cells)) + 3 for cells in zip(head, *rows, strict=True)]
    return "".join("".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in (head, *rows))


PODS = aligned(
    ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
    *(
        (
            f"web-{n * 7919:08x}",
            "0/1" if n in (77, 200) else "1/1",
            "CrashLoopBackOff" if n in (77, 200) else "Running",
            f"{n % 3} (3h ago)" if n % 3 else "0",
            f"{n % 40}d",
        )
        for n in range(300)
    ),
)
CONTAINERS = aligned(
    ("CONTAINER ID", "IMAGE", "STATUS", "NAMES"),
    *(
        (
            f"{n * 7919:012x}",
            "nginx:1.25",
            "Exited (137) 2 hours ago" if n == 140 else f"Up {n} minutes",
            f"web_{n}",
        )
        for n in range(200)
    ),
)

INSTALLER = (
    "".join(f"npm warn deprecated pkg{n}@1.{n}.0: use another\n" for n in range(300))
    + "\nadded 1402 packages in 33s\n\nrun `npm audit` for details\n"
)

LISTING = "\n".join(f"./src/package_{n % 9}/module_{n}.py" for n in range(300))

PROSE = (
    "The museum opened in 1912 and was rebuilt after the war. "
    + "Visitors come from all over the country to see it. " * 80
    + "Its director is Maria Keller, and the ticket office is at 12 Bridge Street."
)

NDJSON = "\n".join(json.dumps({"event": f"e{n}", "user": f"u-{n}", "ms": n}) for n in range(300))


@pytest.mark.parametrize(
    ("body", "form", "kept"),
    [
        (invoices(100), "application/json", ["INV-1000", "INV-1099", "100 x", "more at invoices["]),
        (NDJSON, "application/x-ndjson", ["u-0", "300 x"]),
        (CSV, "text/csv", ["400 rows x 4 columns", "number 0.0..598.5", "Rome (200), Oslo (200)"]),
        (CSV.replace(",", "\t"), "text/tab-separated-values", ["400 rows"]),
        (TABLE, "text/x-markdown-table", ["200 rows x 3 columns", "price: number 0.25..199.25"]),
        (PSQL, "text/x-markdown-table", ["300 rows x 3 columns", "disputed (1)", "131,cust 131,"]),
        (MYSQL, "text/x-markdown-table", ["300 rows x 2 columns", "failed (1)", "131,failed"]),
        (
            PODS,
            "text/x-aligned-table",
            ["300 rows x 5 columns", "READY: 1/1 (298), 0/1 (2)", *PODS.splitlines()[78:202:123]],
        ),
        (
            CONTAINERS,
            "text/x-aligned-table",
            ["200 rows x 4 columns", "IMAGE: nginx:1.25 in all", CONTAINERS.splitlines()[141]],
        ),
        (log(600), "text/x-log", ["600 lines", "INFO 598", "ERROR 1", "db-7 refused", "half full"]),
        (
            INSTALLER,
            "text/x-log",
            ["302 lines", "pkg0@1.0.0: use another  [300 lines like this]", "added 1402", "audit"],
        ),
        (TRACEBACK * 12, "text/x-traceback", ["no attribute 'price'", "orders.py", "line 88"]),
        (DIFF, "text/x-diff", ["40 files, +80 -40", "src/m0.py: 1 hunks, +2 -1"]),
        (TESTS, "text/x-test-run", ["1 failed, 200 passed", "test_total - assert 1 == 2"]),
        (HTML, "text/html", ["Prices", "Price list", "Model 0"]),
        (MARKDOWN, "text/markdown", ["# Guide", "## Step 0"]),
        (CODE, "text/x-source", ["120 definitions", "class Thing0"]),
        (YAML, "application/yaml", ["server-0", "server-9", "fetch_0"]),
        (XML, "application/xml", ["A-0", "A-5"]),
        (LISTING, "text/x-listing", ["300 lines", ".py 300", "module_0.py"]),
        (PROSE, "text/plain", ["1912", "Maria Keller"]),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_summary_keeps_what_its_form_is_about(
    body: str, form: str, kept: list[str], encoding: str
) -> None:
    # The last of the records of JSON is shown where it is what fills the budget up.
    found = envelope(body, FirewallRules(threshold=500, summary_tokens=310), encoding=encoding)
    assert found.content_type == form
    assert not found.passthrough
    for part in kept:
        assert part in found.summary


@pytest.mark.parametrize(
    "body", [invoices(300), json.dumps(list(range(9000))), '{"a": "' + "x" * 9000 + '"}']
)
def test_json_in_gives_json_out(body: str) -> None:
    assert json.loads(envelope(body).summary)


def test_scripts_and_navigation_of_a_page_are_left_out() -> None:
    summary = envelope(HTML).summary
    assert "hidden" not in summary
    assert "Home" not in summary


def test_frames_of_libraries_come_after_the_users_own() -> None:
    summary = envelope(TRACEBACK * 12).summary
    assert summary.index("orders.py") >= 0
    assert envelope(TRACEBACK).passthrough


def test_cut_off_json_is_read_as_far_as_it_goes() -> None:
    found = envelope(invoices(100)[:20_000])
    assert found.content_type == "application/json"
    assert found.status is ResultStatus.PARTIAL
    assert "INV-1000" in json.dumps(json.loads(found.summary))


def test_a_printed_python_value_is_read_as_json() -> None:
    rows = [{"id": f"r-{n}", "none": None, "quote": "it's"} for n in range(200)]
    found = envelope(repr(rows))
    assert found.content_type == "application/json"
    assert "r-0" in found.summary


def test_an_mcp_result_is_summarised_by_what_it_holds() -> None:
    text = {"type": "text", "text": CSV}
    image = {"type": "image", "data": "aGVsbG8=" * 40, "mimeType": "image/png"}
    found = envelope(json.dumps({"content": [text, image], "isError": False}))
    assert found.content_type == "text/csv"
    assert "[image image/png 240 bytes]" in found.summary


def test_structured_content_of_an_mcp_result_counts() -> None:
    result = {"content": [{"type": "text", "text": "see there"}],
              "structuredContent": json.loads(invoices(60))}  # fmt: skip
    assert envelope(json.dumps(result)).content_type == "application/json"


def test_a_printed_mcp_result_is_opened_through_its_layers() -> None:
    inner = json.dumps({"content": [{"type": "text", "text": YAML}], "isError": True})
    found = envelope(
        f"meta=None content=[TextContent(type='text', text={inner!r}, annotations=None)]"
    )
    assert found.content_type == "application/yaml"
    assert found.status is ResultStatus.ERROR


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"ok": true, "rows": []}', ResultStatus.SUCCESS),
        ('{"error": "no such user"}', ResultStatus.ERROR),
        ('{"result": {"error": "no such user"}}', ResultStatus.ERROR),
        (json.dumps({"result": json.dumps({"success": False, "why": "x"})}), ResultStatus.ERROR),
        ('{"result": "{\\"success\\": tru"}', ResultStatus.SUCCESS),
        ('{"result": {"error": "one of two"}, "more": 1}', ResultStatus.SUCCESS),
        ('{"statusCode": 503, "body": ""}', ResultStatus.ERROR),
        ('{"isError": true, "content": []}', ResultStatus.ERROR),
        ('{"items": [1, 2], "truncated": true}', ResultStatus.PARTIAL),
        ("Error: user not found", ResultStatus.ERROR),
        ("make: *** [all] Error 2", ResultStatus.ERROR),
        ("done\nprocess exited with exit code 1", ResultStatus.ERROR),
        ("done\nprocess exited with exit code 0", ResultStatus.SUCCESS),
        (TRACEBACK, ResultStatus.ERROR),
        ("HTTP/1.1 404 Not Found", ResultStatus.ERROR),
        ("first rows\n[output truncated]", ResultStatus.PARTIAL),
        ("The error rate fell to 2 % in May.", ResultStatus.SUCCESS),
        ("file1\nfile2", ResultStatus.SUCCESS),
        (TESTS, ResultStatus.ERROR),
    ],
)
def test_the_status_is_found_out_from_the_content(body: str, status: ResultStatus) -> None:
    assert envelope(body).status is status


def test_the_tools_own_word_decides_the_status() -> None:
    assert envelope("all fine", is_error=True).status is ResultStatus.ERROR
    assert envelope("Error: none", is_error=False).status is ResultStatus.SUCCESS
    assert envelope('{"error": "none"}', is_error=False).status is ResultStatus.SUCCESS


@pytest.mark.parametrize("inner", ["all fine", '{"error": "none"}'])
def test_an_mcp_server_says_that_its_call_failed(inner: str) -> None:
    for failed, status in ((False, ResultStatus.SUCCESS), (True, ResultStatus.ERROR)):
        wrapped = json.dumps({"content": [{"type": "text", "text": inner}], "isError": failed})
        assert envelope(wrapped).status is status
        twice = json.dumps({"content": [{"type": "text", "text": wrapped}], "isError": failed})
        assert envelope(twice).status is status
        bare = json.dumps([{"type": "text", "text": inner}])
        around = json.dumps({"content": [{"type": "text", "text": bare}], "isError": failed})
        assert envelope(around).status is status
    assert envelope(wrapped, is_error=False).status is ResultStatus.SUCCESS


def test_an_error_below_an_mcp_servers_default_is_one() -> None:
    inner = json.dumps({"error": "No presentation is loaded or the specified ID is invalid"})
    wrapped = json.dumps({"content": [{"type": "text", "text": inner}], "isError": False})
    assert envelope(wrapped).status is ResultStatus.ERROR
    assert envelope(wrapped, is_error=False).status is ResultStatus.SUCCESS


def test_facts_come_from_json_tables_logs_and_prose() -> None:
    assert facts(envelope(invoices(9)))["invoices[0].id"] == "inv_0000"
    assert facts(envelope(CSV))["[7].id"] == "7"
    assert "2024-05-01 10:00:00" in [fact.value for fact in envelope(log(50)).facts]
    assert (
        facts(envelope("Mail sent.\nTicket id: T-4711\nSee https://example.com/t/4711"))[
            "Ticket id"
        ]
        == "T-4711"
    )
    assert (
        "https://example.com/t/4711"
        in facts(envelope("See https://example.com/t/4711 now")).values()
    )


def test_an_object_with_long_keys_shows_some_of_them() -> None:
    rows = {f"services/orders/handlers/of_the_day/number_{n}/handler.py": n for n in range(5_000)}
    made = envelope(json.dumps(rows))
    shown = json.loads(made.summary)
    assert made.summary_tokens <= 300
    known = sum(rows.get(key) == value for key, value in shown.items())
    assert known >= 5
    assert "5000 values" in shown["…"]
    assert f"{5_000 - known} of 5000 keys" in shown["… more"]


def test_the_columns_of_a_table_are_told_of_all_its_rows() -> None:
    rows = "".join(f"{n},name {n},{n * 7}\n" for n in range(20_000))
    summary = envelope(f"id,name,amount\n{rows}").summary
    assert "table: 20000 rows x 3 columns" in summary
    assert "id: number 0..19999" in summary
    assert "19999,name 19999,139993" in summary


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        CODE,
        YAML,
        MARKDOWN,
        TRACEBACK * 12,
        log(40),
        DIFF,
        "total 48\n" + "".join(f"-rw-r--r-- 1 ada staff {n} May 1 10:00 f{n}\n" for n in range(9)),
        "we counted all of it\n" + "and found five more here\n" * 9,
        "one two three\n" + "".join(f"{n} of {n} words\n" for n in range(9)),
    ],
)
def test_other_text_has_no_aligned_columns(text: str) -> None:
    lines = [line for line in text.splitlines() if line.strip()]
    assert not is_aligned(lines)
    assert table_of(lines) == ([], [])


def test_a_column_begins_where_all_lines_have_a_blank_before_it() -> None:
    text = """
USER   PID %CPU COMMAND
root     1  0.0 init now
root   101 75.3 python app.py
www  90001  0.1 nginx
www  90002  0.1 nginx
www  90003  0.1 nginx
www  90004  0.1 nginx
www  90005  0.1 nginx
"""
    lines = text.strip().splitlines()
    names, cells = table_of(lines)
    assert names == ["USER", "PID", "%CPU", "COMMAND"]
    assert cells[:2] == [["root", "1", "0.0", "init now"], ["root", "101", "75.3", "python app.py"]]
    assert len(cells) == 7
    assert not is_aligned(lines[:7])


@pytest.mark.parametrize("has_index", [True, False])
def test_a_frame_of_numbers_is_a_table_though_its_names_are_small(has_index: bool) -> None:
    rows = "".join(
        f"{n if has_index else '':<4} {n * 3:6d} {n / 7:9.6f} {'NaN' if n == 4 else n:>9} "
        f"{'FAIL' if n == 30 else 'COMPLETE':>9}\n"
        for n in range(48)
    )
    text = f"     number     value  max_depth     state\n{rows}\n[48 rows x 4 columns]\n"
    found = envelope(text, FirewallRules(threshold=99, summary_tokens=200))
    assert found.content_type == "text/x-aligned-table"
    assert "x 4 columns\nstate: COMPLETE (47), FAIL (1)\n" in found.summary
    lines, size = without_size([line for line in text.splitlines() if line.strip()])
    names, cells = table_of(lines)
    assert size == len(cells) == 48
    assert names == ["number", "value", "max_depth", "state"]
    assert cells[4] == ["12", "0.571429", "NaN", "COMPLETE"]


SAID = ["hi there", "hello: how are you?", "fine, thanks", "the deploy is at 9:30", "ok"]


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n---\n"])
@pytest.mark.parametrize("speakers", [("Alice", "Bob"), ("user", "assistant"), ("A", "B", "C")])
def test_a_chat_without_times_is_no_yaml(between: str, speakers: tuple[str, ...]) -> None:
    """Its keys come again, as a mapping's do not."""
    turns = [f"{speakers[n % len(speakers)]}: {SAID[n % 5]} {n}" for n in range(60)]
    assert detect(between.join(turns)).form is Form.PROSE


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(f"Package: p{n}\nVersion: {n}.1\nDepends: libc" for n in range(9)),
        "\n---\n".join(f"kind: Pod\nname: p{n}\nspec:\n  image: i{n}" for n in range(9)),
        "".join(f"host{n}:\n  name: a{n}\n  port: {n}\n" for n in range(9)),
        "steps:\n" + "".join(f"- name: s{n}\n  run: make {n}\n" for n in range(9)),
        "\n\n".join(
            f"dn: cn={n}\nobjectClass: top\nobjectClass: person\ncn: {n}\nsn: {n}\nmail: {n}@x.org"
            for n in range(9)
        ),
        "date: today\nset-cookie: a=1\nset-cookie: b=2\nserver: x\nvary: y\nvia: z",
    ],
)
def test_records_with_the_same_keys_are_no_chat(text: str) -> None:
    assert detect(text).form is Form.YAML


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("9  New York  9  1.5  2001", "table: 30 rows\n"),
        ("..      ...  ...  ...  ...", "table: 400 rows, 30 lines of them here\n"),
    ],
)
def test_what_is_said_of_a_frame_holds_of_all_its_rows(row: str, told: str) -> None:
    """A city of two words was told as a row without a quantity, and the only 9 was left out."""
    size = 400 if row.startswith("..") else 30
    rows = [f"{n:<6} Rome  3  1.5  {2000 + n}" for n in range(29)]
    rows.insert(20, row)
    lines = ["       city  qty  price  year", *rows, "", f"[{size} rows x 4 columns]"]
    found = envelope("\n".join(lines), FirewallRules(threshold=99, summary_tokens=200))
    assert found.summary is not None
    assert found.summary.startswith(told)
    assert "qty:" not in found.summary
    assert "none" not in found.summary
