"""Tables of aligned columns, as programs print them, and frames of numbers."""

import pytest
from tests.firewall_bodies import CODE, DIFF, MARKDOWN, PROSE, TRACEBACK, YAML, log
from tests.firewall_made import envelope

from weft.firewall.aligned import is_aligned, table_of, without_size
from weft.tokens import ENCODINGS
from weft_schemas.policy import FirewallRules


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


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (
            PODS,
            ["300 rows x 5 columns", "READY: 1/1 (298), 0/1 (2)", *PODS.splitlines()[78:202:123]],
        ),
        (
            CONTAINERS,
            ["200 rows x 4 columns", "IMAGE: nginx:1.25 in all", CONTAINERS.splitlines()[141]],
        ),
    ],
    ids=["pods", "containers"],
)
def test_a_summary_tells_of_the_columns_and_shows_the_rows_that_differ(
    body: str, kept: list[str], encoding: str
) -> None:
    found = envelope(body, FirewallRules(threshold=500, summary_tokens=310), encoding=encoding)
    assert found.content_type == "text/x-aligned-table"
    assert not found.passthrough
    for part in kept:
        assert part in found.summary


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
