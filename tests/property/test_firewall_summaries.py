"""A summary is true by itself: what it shows stands in the body as it stands there, in order; what
it leaves out it counts where it was; a value that one record of thousands has is told, with it."""

import json
import random
import re
from collections.abc import Callable

import pytest
from tests.firewall_bodies import (
    CSV,
    DIFF,
    LISTING,
    MARKDOWN,
    PROSE,
    TABLE,
    TESTS,
    TRACEBACK,
    XML,
    YAML,
    log,
)
from tests.firewall_made import envelope

from weft.firewall.body import window
from weft.firewall.bounds import Bounds
from weft_schemas.envelope import ResultStatus
from weft_schemas.policy import FirewallRules

MARK = re.compile(r"… (\d+) (?:lines?|rows?|sentences?) …\Z")
LEFT = re.compile(r"…(\d+) of (\d+) more at ")
CUT = re.compile(r"(.*)…(?:\(\+|\+)(\d+) chars\)?\Z", re.DOTALL)
STATES = ("open", "paid", "overdue")


def records(rng: random.Random, count: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"inv_{number:05d}",
            "customer": {"name": f"Customer {rng.randrange(900)}", "country": "DE"},
            "amount": rng.randrange(100, 9_000) / 4,
            "status": rng.choice(STATES),
            "note": "Thank you for your business. " * rng.randrange(1, 9),
            "error": None,
        }
        for number in range(count)
    ]


def told(head: str, field: str) -> dict[str, int]:
    """Values of a field with their counts, as the head of a list of records tells them."""
    part = next(part for part in head.split("; ") if part.startswith(f"{field}: "))
    pairs = re.findall(r"([^,()]+) \((\d+)\)", part.removeprefix(f"{field}: "))
    return {value.strip(): int(count) for value, count in pairs}


def is_part(shown: object, source: object) -> bool:
    """Whether what is shown of a record is exact, or cut with as much missing as it says."""
    if isinstance(shown, dict) and isinstance(source, dict):
        return all(key in source and is_part(shown[key], source[key]) for key in shown)
    if isinstance(shown, str) and isinstance(source, str) and (cut := CUT.match(shown)):
        return source.startswith(cut[1]) and len(source) - len(cut[1]) == int(cut[2])
    return shown == source


def check_list(shown: list[object], source: list[dict[str, object]]) -> None:
    """Every record is shown in its place or counted there."""
    position = 0
    for part in shown[1:]:
        if isinstance(part, str):
            mark = LEFT.match(part)
            assert mark is not None, part
            assert int(mark[2]) == len(source)
            position += int(mark[1])
        else:
            assert isinstance(part, dict)
            assert "id" in part, "a value without its record's identity"
            assert is_part(part, source[position]), (part, source[position])
            position += 1
    assert position == len(source)


@pytest.mark.parametrize("count", [30, 400, 5_000])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_one_record_of_thousands_that_differs_is_shown(count: int, lines: bool, seed: int) -> None:
    rng = random.Random(seed)
    source = records(rng, count)
    odd, wrong = rng.sample(range(count), 2)
    source[odd]["status"] = "disputed"
    source[wrong]["error"] = "card declined"
    body = "\n".join(map(json.dumps, source)) if lines else json.dumps({"data": source, "total": 9})
    summary = json.loads(envelope(body).summary)
    shown = summary if lines else summary["data"]
    check_list(shown, source)
    head = shown[0]
    counts = {state: sum(row["status"] == state for row in source) for state in STATES}
    assert told(head, "status") == {**counts, "disputed": 1}
    assert told(head, "error") == {"card declined": 1, "none": count - 1}
    found = [row for row in shown if isinstance(row, dict)]
    assert {source[odd]["id"]: "disputed"} in [{row["id"]: row.get("status")} for row in found]
    assert any(row.get("error") == "card declined" for row in found)


@pytest.mark.parametrize("name", ["total", "next_cursor", "has_more", "nextPageToken", "error"])
def test_what_stands_once_beside_the_records_is_kept(name: str) -> None:
    source = records(random.Random(name), 900)
    extra = {f"setting_{number}": "some longer value of no use " * 3 for number in range(40)}
    summary = json.loads(envelope(json.dumps({**extra, "data": source, name: "v-17"})).summary)
    assert summary[name] == "v-17"
    assert "of 42 keys: " in summary["…"]


def test_records_in_lists_and_in_mappings_are_counted_too() -> None:
    rng = random.Random(1)
    pairs = [records(rng, 2) for _ in range(60)]
    shown = json.loads(envelope(json.dumps(pairs)).summary)
    lists = [part for part in shown if isinstance(part, list)]
    left = sum(
        int(mark[1]) for part in shown if isinstance(part, str) and (mark := LEFT.match(part))
    )
    assert len(lists) + left == 60
    by_name = {f"key_{number}": row for number, row in enumerate(records(rng, 300))}
    mapping = json.loads(envelope(json.dumps(by_name)).summary)
    known = [key for key in mapping if key in by_name]
    assert mapping["… more"].startswith(f"{300 - len(known)} of 300 keys: ")


def test_a_text_that_was_cut_off_says_so_first_and_shows_whole_records_only() -> None:
    rows = records(random.Random(2), 300)
    for end in range(20_000, 20_400, 7):
        told, size, *shown = json.loads(envelope(json.dumps(rows)[:end]).summary)
        assert "cut off" in told
        assert size.startswith("…7")
        keys = [row.keys() for row in shown if isinstance(row, dict)]
        assert all(one == keys[0] for one in keys)


@pytest.mark.parametrize("wrap", ["{}", '{{"page": 1, "rows": {}}}', "The rows:\n{}"])
def test_a_long_text_says_how_much_of_it_was_read(wrap: str) -> None:
    rows = records(random.Random(3), 9_000)
    body = wrap.format(json.dumps(rows))
    found = envelope(body, limits=Bounds(analyse_bytes=400_000))
    until = re.search(r"(\d+) characters of (\d+) bytes were read: the beginning", found.summary)
    assert until is not None
    assert int(until[2]) == len(body.encode())
    shown = re.search(r"(\d+) x {", found.summary)
    assert shown is not None
    assert int(until[1]) <= 300_000
    read = json.dumps(rows[: int(shown[1])])
    assert 0 <= int(until[1]) - len(read) < 1_000


def test_no_line_is_made_of_two_halves_where_a_long_text_has_a_gap() -> None:
    rows = [f'{{"id": {n}, "name": "N{n}"}}' for n in range(20_000)]
    for limit in range(40_000, 40_060):
        for body in ("\n".join(rows), "id,name\n" + "\n".join(f"{n},N{n}" for n in range(20_000))):
            found = window(body, limit)
            assert set(found.data.decode().split("\n")) <= set(body.split("\n"))
            assert len(found.data) <= limit


def test_records_with_the_same_rare_value_are_shown() -> None:
    rows = [{"id": n, "level": "error" if n in (57, 123, 170) else "info"} for n in range(400)]
    shown = json.loads(envelope(json.dumps(rows), FirewallRules(threshold=1)).summary)
    assert [row["id"] for row in shown if isinstance(row, dict) and row["level"] == "error"] == [
        57, 123, 170,
    ]  # fmt: skip
    table = "id,level\n" + "\n".join(f"{row['id']},{row['level']}" for row in rows)
    summary = envelope(table, FirewallRules(threshold=1)).summary
    assert re.findall(r"^(\d+),error$", summary, re.MULTILINE) == ["57", "123", "170"]


def test_one_row_of_a_table_that_differs_is_shown() -> None:
    rows = [f"{n},c{n % 40},{'paid' if n % 3 else 'open'}" for n in range(5_000)]
    rows[3_777] = "3777,c17,disputed"
    summary = envelope("id,customer,status\n" + "\n".join(rows)).summary
    assert "status: open (1666), paid (3333), disputed (1)" in summary
    assert "\n3777,c17,disputed\n" in summary


LINES = {
    "log": (log(600), 1),
    "log of errors": (log(300).replace("INFO", "ERROR"), 1),
    "traceback": (TRACEBACK * 12, 1),
    "tests": (TESTS, 1),
    "yaml": (YAML, 0),
    "settings": (YAML.replace("- ", "  "), 0),
    "xml": (XML, 0),
    "listing": (LISTING, 1),
    "alike": ("\n".join(f"This is line {n} of a text without an end" for n in range(400)), 1),
    "lines": ("\n".join(f"This is {'very ' * (n % 61)}late by {n}" for n in range(400)), 0),
    "csv": ("id,name\n" + "\n".join(f"{n},name {n}" for n in range(400)), 3),
    "markdown": (MARKDOWN, 0),
}


@pytest.mark.parametrize("cap", [60, 300, 900])
@pytest.mark.parametrize("name", LINES)
def test_lines_stand_as_they_are_and_those_between_are_counted(name: str, cap: int) -> None:
    text, about = LINES[name]
    rules = FirewallRules(threshold=1, summary_tokens=cap)
    filled = name != "markdown"
    source = [line for line in text.splitlines() if line.strip() or not filled]
    position = 1 if name == "csv" else 0
    summary = envelope(text, rules).summary.splitlines()[about:]
    summary = summary[1:] if name == "csv" and summary and summary[0] == "id,name" else summary
    for line in summary:
        if mark := MARK.match(line):
            position += int(mark[1])
            continue
        while not filled and not source[position].strip() and line.strip():
            position += 1  # blank lines behind a paragraph are nothing that is missing
        shown = re.sub(r"  \[\d+ lines like this\]\Z", "", line)
        cut = CUT.match(shown)
        whole = source[position].rstrip()
        assert whole.startswith(cut[1]) if cut else whole == shown, (line, whole)
        position += 1
    assert position == len(source) or all(not line.strip() for line in source[position:])


@pytest.mark.parametrize("body", [CSV, TABLE, DIFF, PROSE, MARKDOWN, LISTING])
def test_a_summary_says_how_much_it_leaves_out(body: str) -> None:
    marks = [MARK.match(line) for line in envelope(body).summary.splitlines()]
    assert any(marks)


@pytest.mark.parametrize(
    ("write", "above"), [(json.dumps, ""), (json.dumps, "The rows:\n"), (repr, "")]
)
def test_words_below_the_records_are_told(write: Callable[[object], str], above: str) -> None:
    rows = [{"id": n, "name": f"N{n}", "next": None} for n in range(400)]
    found = envelope(f"{above}{write(rows)}\n\n3,000 more rows: ask for page 2.")
    assert found.summary.endswith("\n3,000 more rows: ask for page 2.")
    assert "400 x {id,name,next}" in found.summary
    assert found.summary.startswith(above)
    assert found.status is ResultStatus.SUCCESS


@pytest.mark.parametrize("start", ["[1] ", "['a'] ", "{'a': 1} ", '{"a": 1} '])
def test_a_text_that_begins_like_json_is_no_json(start: str) -> None:
    text = start + "It says much about the harbour and its ships. " * 600
    found = envelope(text)
    assert found.content_type != "application/json"
    assert found.summary.startswith(f"{start}It says much")


def test_printed_values_that_were_cut_off_are_read_like_json() -> None:
    rows = [{"id": n, "name": f"N{n}", "next": None} for n in range(4_000)]
    found = envelope(repr(rows)[:60_000])
    told, size, *_ = json.loads(found.summary)
    assert "cut off" in told
    assert re.match(r"…1[34]\d\d x {id,name,next}", size)
    long = envelope(repr(rows), limits=Bounds(analyse_bytes=100_000))
    assert "were read: the beginning" in json.loads(long.summary)[0]
