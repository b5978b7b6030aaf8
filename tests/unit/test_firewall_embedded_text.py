"""Results that are one long text in a field of an object: they are told as the text is."""

import json

import pytest
from tests.firewall_made import envelope
from tests.firewall_slices import slice_of

from weft.firewall.embedded_text import embedded_text
from weft_schemas.envelope import ResultStatus
from weft_schemas.policy import FirewallRules, ToolRule

LINES = [f"2025-06-01T10:{n // 60:02}:{n % 60:02}Z INFO request {n} ok" for n in range(900)]
LINES[611] = "2025-06-01T10:10:11Z ERROR payment 88213 refused: card expired"
LOG = "\n".join(LINES)
TOLD = envelope(LOG)


@pytest.mark.parametrize(
    "body",
    [
        {"result": LOG},
        {"page_text": LOG},
        {"result": json.dumps({"stdout": LOG})},
        {"content": [{"type": "text", "text": json.dumps({"result": LOG})}]},
        {"content": [{"type": "text", "text": LOG}], "structuredContent": {"result": LOG}},
    ],
)
def test_a_text_in_a_field_is_told_as_the_text(body: dict[str, object]) -> None:
    made = envelope(json.dumps(body))
    assert made.summary == TOLD.summary
    assert made.content_type == TOLD.content_type
    assert made.status is ResultStatus.SUCCESS
    assert made.facts == TOLD.facts


def test_fields_beside_a_text_are_told_above_its_summary() -> None:
    made = envelope(json.dumps({"exit_code": 1, "stdout": LOG, "stderr": "a \u202e b"}))
    first, rest = made.summary.split("\n", 1)
    assert first == '{"exit_code":1,"stderr":"a \\u202e b","stdout":"\u2026 below \u2026"}'
    assert rest == TOLD.summary
    assert made.status is ResultStatus.ERROR
    assert [fact.name for fact in made.facts][:1] == ["exit_code"]
    inner = json.dumps({"took": 1.5, "stdout": LOG})
    made = envelope(json.dumps({"ok": True, "result": inner}))
    assert made.summary.startswith(
        '{"ok":true,"result":{"took":1.5,"stdout":"\u2026 below \u2026"}}\nlog: 900 lines'
    )


@pytest.mark.parametrize(
    ("beside", "status"),
    [
        ({}, ResultStatus.ERROR),
        ({"exit_code": 0}, ResultStatus.SUCCESS),
        ({"exit_code": 2}, ResultStatus.ERROR),
        ({"truncated": True}, ResultStatus.PARTIAL),
        ({"url": "https://example.org/"}, ResultStatus.ERROR),
    ],
)
def test_what_an_object_says_of_its_call_outranks_how_its_text_looks(
    beside: dict[str, object], status: ResultStatus
) -> None:
    failed = "Error: no such table: orders\n" + "while reading the plan of the query\n" * 200
    assert envelope(failed).status is ResultStatus.ERROR
    assert envelope(json.dumps({**beside, "output": failed})).status is status


def test_structured_content_that_repeats_the_text_is_counted_once() -> None:
    blocks = [{"type": "text", "text": LOG}]
    both = envelope(json.dumps({"content": blocks, "structuredContent": {"result": LOG}}))
    alone = envelope(json.dumps({"content": blocks}))
    other = envelope(json.dumps({"content": blocks, "structuredContent": {"result": LOG + "!"}}))
    assert both.raw_tokens == TOLD.raw_tokens
    assert TOLD.raw_tokens <= alone.raw_tokens < 1.1 * TOLD.raw_tokens
    assert other.raw_tokens > 1.9 * TOLD.raw_tokens
    rows = [{"id": n, "name": f"Harbour {n}"} for n in range(90)]
    texts = [json.dumps(row) for row in rows]
    listed = {"content": [{"type": "text", "text": text} for text in texts]}
    made = envelope(json.dumps({**listed, "structuredContent": {"result": rows}}))
    assert made.raw_tokens == envelope("\n".join(texts)).raw_tokens


def test_what_passes_whole_has_its_own_tokens() -> None:
    text = "Short and plain words. " * 20
    body = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}}
    made = envelope(json.dumps(body))
    assert made.complete
    assert made.summary_tokens > made.raw_tokens


def test_views_read_the_text_and_what_stands_beside_it() -> None:
    kind = TOLD.content_type
    body = json.dumps({"exit_code": 1, "stdout": LOG})
    assert slice_of(body, "lines", kind, start=612, count=1).text == f"612: {LINES[611]}\n"
    assert slice_of(body, "search", kind, pattern="card expired", context=0).text.endswith(
        f"{LINES[611]}\n"
    )
    assert slice_of(body, "tail", kind).text.endswith(
        "\n\u2026 in the field stdout, with exit_code: 1 \u2026\n"
    )
    assert slice_of(body, "json", "application/json", path="exit_code").text == "1"
    rows = json.dumps([{"id": n, "name": f"harbour {n}"} for n in range(90)])
    held = json.dumps({"result": rows})
    assert slice_of(held, "json", "application/json", path="[7].name").text == '"harbour 7"'


def test_a_rule_that_keeps_the_text_gets_it_exactly() -> None:
    rules = FirewallRules(threshold=100, tools=(ToolRule("shell", keep=("stdout",)),))
    made = envelope(json.dumps({"exit_code": 0, "stdout": LOG}), rules, tool_name="shell")
    assert made.content_type == "application/json"
    rules = FirewallRules(threshold=100, tools=(ToolRule("shell", keep=("exit_code",)),))
    made = envelope(json.dumps({"exit_code": 0, "stdout": LOG}), rules, tool_name="shell")
    assert made.content_type == TOLD.content_type


def test_what_stands_beside_more_than_a_text_stays_json() -> None:
    assert embedded_text(json.dumps({"result": LOG, "rows": [{"id": 1}]})) is None
    assert embedded_text(json.dumps({"result": "short"})) is None
    assert embedded_text(LOG) is None
