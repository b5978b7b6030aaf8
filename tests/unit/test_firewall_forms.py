"""What each form of text is recognised as, and what its summary keeps."""

import json

import pytest
from tests.firewall_bodies import (
    CODE,
    CSV,
    DIFF,
    HTML,
    INSTALLER,
    LISTING,
    MARKDOWN,
    MYSQL,
    NDJSON,
    PROSE,
    PSQL,
    TABLE,
    TESTS,
    TRACEBACK,
    XML,
    YAML,
    log,
)
from tests.firewall_made import envelope, facts, invoices

from weft.firewall.detect import detect
from weft.firewall.form import Form
from weft.tokens import ENCODINGS
from weft_schemas.envelope import ResultStatus
from weft_schemas.policy import FirewallRules


@pytest.mark.parametrize(
    ("body", "form", "kept"),
    [
        (
            invoices(100),
            "application/json",
            ["INV-1000", "..inv_0099", "100 x", "more at invoices["],
        ),
        (NDJSON, "application/x-ndjson", ["u-0", "300 x"]),
        (CSV, "text/csv", ["400 rows x 4 columns", "number 0.0..598.5", "Rome (200), Oslo (200)"]),
        (CSV.replace(",", "\t"), "text/tab-separated-values", ["400 rows"]),
        (TABLE, "text/x-markdown-table", ["200 rows x 3 columns", "price: number 0.25..199.25"]),
        (PSQL, "text/x-markdown-table", ["300 rows x 3 columns", "disputed (1)", "131,cust 131,"]),
        (MYSQL, "text/x-markdown-table", ["300 rows x 2 columns", "failed (1)", "131,failed"]),
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
    assert "orders.py" in summary
    assert "site-packages" not in summary
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


@pytest.mark.parametrize("kind", [{"name": "circle"}, ["circle"], 7, None])
def test_records_whose_type_is_no_word_are_records(kind: object) -> None:
    shapes = [{"type": kind, "id": 70_000 + place} for place in range(60)]
    found = envelope(json.dumps(shapes))
    assert found.content_type == "application/json"
    assert "70000" in found.summary


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
    assert facts(envelope(CSV))["[2].id"] == "2"
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


GO_BUILD = """# example.com/turbine/internal/store
internal/store/retry.go:9:2: "errors" imported and not used
internal/store/sluice.go:44:19: cannot use row.Position as int32 value in argument
# example.com/turbine/cmd
vet: cmd/flags.go:27:38: undefined: sched.DefaultTick
"""
TSC = "".join(f"src/a{n}.ts({n},4): error TS18047: 't.end' is possibly 'null'.\n" for n in range(6))


@pytest.mark.parametrize("text", [GO_BUILD, TSC])
def test_what_a_compiler_says_about_places_in_files_is_a_log(text: str) -> None:
    """It was Markdown for its headings, or a listing for its paths."""
    assert detect(text).form is Form.LOG


def test_what_a_search_finds_is_a_listing() -> None:
    found = "".join(f"src/a{n}.ts:{n}: const end = t.end\n" for n in range(9))
    assert detect(found).form is Form.LISTING


@pytest.mark.parametrize("prefix", ["2025-10-02T09:15:14.123Z ", "#12 18.41 "])
def test_a_test_run_is_known_behind_the_prefix_of_each_line(prefix: str) -> None:
    collected = "".join(f"{prefix}{line}\n" for line in ["setting up", *TESTS.splitlines()])
    assert detect(collected).form is Form.TESTS
