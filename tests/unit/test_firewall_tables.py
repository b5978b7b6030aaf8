"""What the summary of a table says of its rows."""

import pytest
from tests.firewall_made import envelope

from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=200, summary_tokens=300)
MYSQL = "+-----+--------+\n| id  | state  |\n+-----+--------+\n" + "".join(
    f"| {n:3d} | {'failed' if n == 31 else 'paid  '} |\n" for n in range(60)
)
MYSQL += "+-----+--------+\n"


def test_lines_of_a_cell_stay_apart() -> None:
    rows = "".join(f'{n},"first {n}\nsecond {n}"\n' for n in range(90))
    summary = envelope(f"id,note\n{rows}", RULES).summary
    assert summary.startswith("table: 90 rows x 2 columns")
    assert "0,first 0 second 0" in summary


@pytest.mark.parametrize(
    "text",
    [
        MYSQL,
        MYSQL.translate(str.maketrans("|-+", "│─┼")),
        MYSQL.replace("  |\n|", "  |\n+-----+--------+\n|"),
    ],
    ids=["mysql", "box", "grid"],
)
def test_a_table_drawn_with_rules_has_its_rows(text: str) -> None:
    found = envelope(text, RULES)
    assert found.content_type == "text/x-markdown-table"
    assert found.summary.startswith("table: 60 rows x 2 columns\nid: number 0..59")
    assert "state: paid (59), failed (1)" in found.summary
    assert "\n31,failed" in found.summary


@pytest.mark.parametrize("between", ["", "\n", "## Part\n\n"])
def test_several_tables_are_not_one(between: str) -> None:
    tables = [
        f"{between}| name{n} | price |\n|---|---|\n| a{n} | 1.10 |\n| b{n} | 2 |\n"
        for n in range(9)
    ]
    found = envelope("".join(tables), RULES)
    assert found.content_type == "text/markdown"
    for n in range(3):
        assert f"| name{n} | price |\n|---|---|\n| a{n} | 1.10 |\n" in found.summary


def test_some_rows_that_differ_are_shown_among_few() -> None:
    rows = "".join(f"{n},{'failed' if n in (20, 33) else 'ok'},{n * 7}\n" for n in range(45))
    summary = envelope(
        f"id,state,size\n{rows * 1}", FirewallRules(threshold=99, summary_tokens=120)
    ).summary
    assert "20,failed,140" in summary
    assert "33,failed,231" in summary
