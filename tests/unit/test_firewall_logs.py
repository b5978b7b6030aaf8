"""What the summary of a log shows and counts, and what is recognised as one."""

import pytest
from tests.firewall_made import envelope

from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=200, summary_tokens=300)


def summary(text: str) -> str:
    return envelope(text, RULES).summary


def moment(n: int) -> str:
    return f"2024-05-01 10:{n // 60:02d}:{n % 60:02d}"


ACCESS = [
    f'10.0.0.{n % 9} - - [06/May/2024:10:{n // 60:02d}:{n % 60:02d} +0000] "GET /x/{n} HTTP/1.1" '
    f"{500 if n in (311, 340) else 200} {n * 37 % 900}"
    for n in range(600)
]
QUOTED = [
    f'{moment(n)} INFO job={n} status="{"failed" if n == 311 else "ok"}" took={n % 90}ms'
    for n in range(600)
]
KEYED = [
    f'{moment(n)} level=info msg="request {n} served" status={503 if n == 311 else 200} ms={n}'
    for n in range(600)
]
WORDY = [  # each path makes a template of its own
    f"{moment(n)} INFO GET /{chr(97 + n % 26)}{chr(97 + n // 26)}/list {404 if n == 311 else 200}"
    for n in range(600)
]


@pytest.mark.parametrize("lines", [ACCESS, QUOTED, KEYED, WORDY])
def test_a_line_with_a_rare_value_in_a_field_of_few_values_is_shown_whole(lines: list[str]) -> None:
    shown = summary("\n".join(lines)).splitlines()
    assert any(line.startswith(lines[311]) for line in shown)


def test_lines_with_a_rare_value_are_not_counted_as_like_the_others() -> None:
    shown = summary("\n".join(ACCESS))
    assert f"{ACCESS[0]}  [598 lines like this]" in shown
    assert f"{ACCESS[311]}  [2 lines like this]" in shown


def test_a_field_of_many_values_has_no_outliers() -> None:
    shown = summary("\n".join(f"{moment(n)} INFO job {n} took {n * 7} ms" for n in range(600)))
    assert len(shown.splitlines()) == 4


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2024-05-01 10:00:00 loaded src/error.py timeout=30 max_failed: 3", ""),
        ("2024-05-01 10:00:00 INFO read errors.log for ERROR lines", "INFO 60"),
        ("2024-05-01 10:00:00 [error] 17#17: upstream timed out", "ERROR 60"),
        ("2024-05-01T10:00:00Z error upstream timed out", "ERROR 60"),
        ("time=10:00:00 level=warning msg=late", "WARN 60"),
        ('{"time": 10:00:00, "level": "error", "msg": "late"', "ERROR 60"),
        ("10:00:00 the error was mended by hand", ""),
        ("10:00:00 main.c:3:7: warning: unused variable", "WARN 60"),
        ("May  6 10:00:00 host app[12]: ERROR: no disk", "ERROR 60"),
    ],
)
def test_levels_are_counted_where_a_level_stands(line: str, level: str) -> None:
    first = summary("".join(f"{line} number {n}\n" for n in range(60))).splitlines()[0]
    assert first == f"log: 60 lines{'; ' * bool(level)}{level}"


def test_an_error_without_a_level_comes_before_other_lines() -> None:
    lines = [f"10:00:{n % 60:02d} worker said {chr(97 + n % 26) * (n + 3)}" for n in range(90)]
    lines[50] = "10:00:50 connection to db-7 refused"
    assert lines[50] in summary("\n".join(lines))


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("2024-05-01 10:00:{n:02d},123 INFO job {n} started, waiting for room", "text/x-log"),
        ("[10:00:{n:02d}] Bob: I think so, number {n} is good", "text/x-log"),
        ("12/05/2024, 10:{n:02d} - Ann: number {n} is good", "text/x-log"),
        ("2024-05-01 10:00:{n:02d},INFO,served {n}", "text/csv"),
        ('"2024-05-01 10:00:{n:02d}","INFO","served, {n}"', "text/csv"),
        ("{n}, Ann Smith, Rome", "text/csv"),
    ],
)
def test_lines_with_commas_are_told_from_records(line: str, form: str) -> None:
    text = "\n".join(line.replace("{n:02d}", f"{n:02d}").replace("{n}", str(n)) for n in range(60))
    found = envelope(text, RULES)
    assert found.content_type == form
    # The first line is one of them, and no header.
    counted = "log: 60 lines" if form == "text/x-log" else "table: 60 rows x 3 columns"
    assert found.summary.startswith(counted)


@pytest.mark.parametrize("head", ["time,level,text", "day, level, text"])
def test_a_header_is_no_row(head: str) -> None:
    rows = "".join(f"{moment(n)},INFO,served {n}\n" for n in range(60))
    assert envelope(f"{head}\n{rows}", RULES).summary.startswith("table: 60 rows x 3 columns")
