"""The records that differ from the others are what a summary and the facts of a list tell first."""

import json

import pytest
from tests.firewall_made import envelope

from weft.firewall.columns import column, counts_text
from weft_schemas.envelope import ResultEnvelope


def orders(count: int, failed: int) -> str:
    """Orders in sequence, of which some are spread over the list and failed."""
    return json.dumps(
        [
            {
                "order": f"O-{77100 + n}",
                "customer": f"cust-{n * 13 % 97}",
                "amount": f"{n * 37 % 400}.50",
                "state": "FAILED" if n in failing(count, failed) else "PAID",
                "created": f"2026-11-29T09:{n // 60:02}:{n % 60:02}Z",
            }
            for n in range(count)
        ]
    )


def failing(count: int, failed: int) -> list[int]:
    return [n * (count // failed) + count // failed // 2 for n in range(failed)]


def shown(found: ResultEnvelope) -> list[dict[str, str]]:
    return [one for one in json.loads(found.summary) if isinstance(one, dict)]


@pytest.mark.parametrize("count", [120, 400])
def test_one_more_record_that_differs_never_shows_fewer_of_them(count: int) -> None:
    whole, told = 0, 0
    for failed in range(1, 25):
        found = envelope(orders(count, failed))
        ids = [f"O-{77100 + n}" for n in failing(count, failed)]
        records = [one["order"] for one in shown(found) if one.get("state") == "FAILED"]
        assert len(records) >= whole
        assert set(records) <= set(ids)
        identified = sum(one in found.summary for one in ids)
        assert identified >= min(failed, 12)
        assert identified >= told - 1  # a name may have one token more
        whole, told = len(records), identified
        assert f"FAILED ({failed}" in found.summary
        assert found.summary_tokens <= 300
    assert whole == 3


def test_those_that_are_not_shown_are_named_under_their_value() -> None:
    head = json.loads(envelope(orders(120, 6)).summary)[0]
    named = ", ".join(f"O-{77100 + n}" for n in failing(120, 6))
    assert f"state: PAID (114), FAILED (6: {named})" in head


def test_a_list_of_names_that_was_cut_says_how_many_are_missing() -> None:
    head = json.loads(envelope(orders(400, 40)).summary)[0]
    named = head.split("FAILED (40: ")[1].split(")")[0].split(", ")
    assert named[-1] == f"… {40 - len(named) + 1} more"


def test_records_without_a_name_are_told_by_their_places() -> None:
    rows = [
        {"load": n % 7, "note": "as usual", "state": "down" if n % 12 == 5 else "up"}
        for n in range(300)
    ]
    head = json.loads(envelope(json.dumps(rows)).summary)[0]
    assert "state: up (275), down (25: [5], [17], [29], " in head


def test_numbers_in_sequence_and_moments_are_told_by_their_range() -> None:
    summary = envelope(orders(120, 6)).summary
    assert "order: O-77100..O-77219" in summary
    assert "O-77102, O-77103" not in summary


@pytest.mark.parametrize(
    ("values", "ends", "ascends"),
    [
        ([f"T-{n}" for n in range(90, 120)], ("T-90", "T-119"), True),
        ([f"T-{n * 7 % 30 + 90}" for n in range(30)], ("T-90", "T-119"), False),
        ([f"2026-01-{n:02}" for n in range(31, 1, -1)], ("2026-01-02", "2026-01-31"), True),
        ([f"{n:02}/11/2026" for n in range(1, 31)], ("", ""), False),
        ([f"10.0.{n}.{n}" for n in range(30)], ("", ""), False),
        ([f"n{n} \ud800" for n in range(30)], ("", ""), False),
        ([f"a\n{n}" for n in range(30)], ("", ""), False),
        ([f"2026-01-01T10:{n:02}:00+0{n % 3}:00" for n in range(30)], ("", ""), False),
        (list(range(30)), ("", ""), True),
    ],
)
def test_what_has_a_range_is_numbered_alike(
    values: list[str | int], ends: tuple[str, str], ascends: bool
) -> None:
    found = column("id", values, range(len(values)))
    assert ((found.first, found.last), found.ascends) == (ends, ascends)


@pytest.mark.parametrize(
    ("counts", "rare"),
    [
        ({"paid": 96, "failed": 24}, ["failed"]),
        ({"paid": 90, "failed": 30}, []),
        ({"a": 40, "b": 40, "c": 40}, []),
        ({"a": 70, "b": 30, "failed": 15, "late": 5}, ["failed", "late"]),
        ({"a": 40, "b": 10, "c": 10, "d": 10, "e": 10, "f": 10}, []),
    ],
)
def test_a_rare_state_is_one_that_the_most_common_exceeds_by_far(
    counts: dict[str, int], rare: list[str]
) -> None:
    values = [value for value, count in counts.items() for _ in range(count)]
    assert list(column("state", values, range(len(values))).rare) == rare


def test_errors_of_which_each_is_another_are_rare_together() -> None:
    values = [f"no host {n} at all" if n % 6 == 1 else None for n in range(120)]
    found = column("error", values, range(120))
    assert found.rarely_filled == tuple(range(1, 120, 6))


def shipments(count: int, rare: int) -> str:
    rows = [
        f"SH-{100001 + n},{('HAM', 'BER', 'MUC')[n % 3]},{n * 7 % 900},"
        f"{'lost' if n in failing(count, rare) else 'sent'}"
        for n in range(count)
    ]
    return "\n".join(["shipment_id,depot,weight,status", *rows])


@pytest.mark.parametrize("count", [120, 3_000])
def test_a_table_shows_its_rare_rows_and_names_those_for_which_there_is_no_room(count: int) -> None:
    whole = 0
    for rare in range(1, 25):
        summary = envelope(shipments(count, rare)).summary
        rows = [f"SH-{100001 + n}" for n in failing(count, rare)]
        shown = sum(f"\n{one}," in summary for one in rows)
        assert shown >= min(rare, whole)
        assert sum(one in summary for one in rows) >= min(rare, 12)
        whole = max(whole, shown)
    assert whole >= 5


def test_a_column_of_numbers_in_sequence_is_told_by_its_range() -> None:
    summary = envelope(shipments(3_000, 14)).summary
    assert "shipment_id: SH-100001..SH-103000, 3000 different" in summary


@pytest.mark.parametrize("body", [orders(400, 6), shipments(3_000, 6)], ids=["json", "csv"])
def test_facts_are_made_of_the_records_that_differ(body: str) -> None:
    size, key, value = (400, "order", "O-{}") if body[0] == "[" else (3_000, "shipment_id", "SH-{}")
    start = 77100 if body[0] == "[" else 100001
    found = {fact.name: fact.value for fact in envelope(body).facts}
    for n in failing(size, 6):
        assert found[f"[{n}].{key}"] == value.format(start + n)
    assert {name.split(".")[0] for name in found} == {f"[{n}]" for n in failing(size, 6)}


def test_totals_stay_facts_beside_the_records_that_differ() -> None:
    text = json.dumps({"total": 9_120, "next_cursor": "c-9", "orders": json.loads(orders(400, 6))})
    found = {fact.name: fact.value for fact in envelope(text).facts}
    assert (found["total"], found["next_cursor"]) == ("9120", "c-9")
    assert "orders[33].order" in found


def test_of_many_records_that_are_alike_a_few_become_facts() -> None:
    body = shipments(3_000, 1).replace("lost", "sent")
    rows = {fact.name.split(".")[0] for fact in envelope(body).facts}
    assert rows == {"[0]", "[1]", "[2]"}


def test_rows_of_aligned_columns_are_named_behind_their_value() -> None:
    bad = failing(240, 20)
    rows = [
        f"pod-{n * 7919 % 9001:<6} {'CrashLoop' if n in bad else 'Running':<10} {n % 5:<8} {n % 9}d"
        for n in range(240)
    ]
    summary = envelope("\n".join(["NAME       STATUS     RESTARTS AGE", *rows])).summary
    assert "STATUS: Running (220), CrashLoop (20: pod-" in summary
    assert sum(rows[n].split()[0] in summary for n in bad) >= 10
    assert sum(rows[n] in summary for n in bad) >= 4


def test_very_few_names_of_many_records_are_not_told() -> None:
    states = ["failed"] * 12 + ["late"] * 2 + ["paid"] * 86
    known = column("state", states, range(len(states)))
    told = [counts_text(known, "#{}".format, most) for most in (1, 2, 3)]
    assert told == [
        "failed (12), late (2), paid (86)",
        "failed (12), late (2: #12, #13), paid (86)",
        "failed (12: #0, #1, #2, … 9 more), late (2: #12, #13), paid (86)",
    ]
