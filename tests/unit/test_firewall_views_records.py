"""Of a match of `search` or `errors`: in which record of JSON it is, and what of one long line is
shown around it."""

from __future__ import annotations

import json

from tests.firewall_slices import everything, slice_of

from weft.cli.demo_session import load

ORDERS = json.dumps(
    {"orders": [{"order": f"O-{n}", "to": {"city": "Köln"}} for n in range(9_000)]},
    ensure_ascii=False,
)
NO_MATCH = "(no match, in 1 lines)\n"


def test_search_in_one_long_line_of_json_shows_the_record_around_the_match_with_its_path() -> None:
    part = slice_of(ORDERS, "search", "application/json", pattern="O-4711")
    assert part.text.startswith("1: orders[4711].order ")
    assert '{"order": "O-4711", "to": {"city": "Köln"}}' in part.text
    assert part.tokens < 60
    assert not part.truncated


def pretty(count: int = 20, note: str = "late") -> str:
    """Orders of some lines each; of some lines the note is another."""
    orders = [
        {
            "id": f"O-{n}",
            "customer": {"name": f"Ann {n}", "city": "Köln"},
            "lines": [
                {"sku": f"A-{n}-{k}", "note": note if (n + k) % 7 == 3 else "fine", "tags": ["x"]}
                for k in range(3)
            ],
        }
        for n in range(count)
    ]
    body = {"report": "Q3", "orders": orders, "closing": {"note": "none is lost"}, "by": "Ann"}
    return json.dumps(body, indent=2, ensure_ascii=False)


def test_a_match_in_json_of_many_lines_says_in_which_record_it_is() -> None:
    found = slice_of(pretty(), "search", "application/json", most=300, pattern="late", context=0)
    assert found.text.startswith(
        'in orders[1].lines[2] ("id": "O-1", "sku": "A-1-2"):\n'
        '57:           "note": "late",\n'
        'in orders[2].lines[1] ("id": "O-2", "sku": "A-2-1"):\n'
    )
    outer = slice_of(pretty(), "search", "application/json", pattern="Ann 7", context=0).text
    assert outer.startswith('in orders[7].customer ("id": "O-7", "name": "Ann 7"):\n')
    outside = slice_of(pretty(), "search", "application/json", pattern="is lost", context=0).text
    assert outside.startswith("in closing:\n")
    failed = slice_of(pretty(note="failed"), "errors", "application/json").text
    assert failed.startswith('in orders[1].lines[2] ("id": "O-1", "sku": "A-1-2"):\n')


def test_a_name_of_a_field_may_have_a_colon() -> None:
    body = json.dumps({"r": {"thing": {"x:order_id": "A-7", "note": "late"}}}, indent=1)
    found = slice_of(body, "search", "application/json", pattern="late", context=0).text
    assert found.startswith('in r.thing ("x:order_id": "A-7"):\n')


def test_no_match_seems_to_be_in_the_record_of_the_one_before() -> None:
    found = slice_of(pretty(1), "search", "application/json", pattern='name|"by"', context=0).text
    assert [line for line in found.splitlines() if not line[0].isdigit()] == [
        'in orders[0].customer ("id": "O-0", "name": "Ann 0"):',
        "at the top:",
    ]
    deep = json.dumps([{"id": 1, "note": "late"}, {"k" * 300: {"note": "late"}}], indent=1)
    found = slice_of(deep, "search", "application/json", most=90, pattern="late", context=0).text
    assert [line for line in found.splitlines() if not line[0].isdigit()] == [
        'in [0] ("id": 1):',
        "elsewhere:",
    ]


def test_matches_in_one_record_have_one_heading_and_the_next_slice_has_it_again() -> None:
    asked = {"pattern": "sku|note", "context": 0}
    part = slice_of(pretty(), "search", "application/json", most=90, **asked)
    assert part.text.count("in orders[0].lines[0] (") == 1
    assert part.next is not None
    following = slice_of(pretty(), "search", "application/json", most=90, **part.next)
    assert following.text.startswith("in orders[0].lines[")


def test_what_a_line_shows_itself_is_not_said_above_it() -> None:
    lines = ",\n".join(json.dumps({"id": n, "note": "late" if n % 2 else "fine"}) for n in range(9))
    found = slice_of(f'{{"rows": [\n{lines}\n]}}', "search", pattern="late", context=0).text
    assert found.startswith('in rows:\n3: {"id": 1, "note": "late"},\n5: ')
    alone = slice_of('{\n "note": "late"\n}', "search", pattern="late", context=0).text
    assert alone == '2:  "note": "late"\n'


def test_a_log_that_begins_like_json_has_no_records() -> None:
    log = "[10:01] start\n  needle\n[10:02] end\n"
    assert slice_of(log, "search", pattern="needle", context=0).text == "2:   needle\n"


def test_a_slice_too_small_for_the_heading_shows_the_line() -> None:
    found = slice_of(pretty(), "search", "application/json", most=24, pattern="late", context=0)
    assert found.text == '57:           "note": "late",\n80:           "note": "late",\n'


def test_a_heading_shows_no_secret() -> None:
    key = "gh" + "p_" + "a1B2" * 9
    body = json.dumps({key: [{"id": key, "note": "late"}], "b": {"c": {key: ["late"]}}}, indent=1)
    found = slice_of(body, "search", "application/json", most=2_000, pattern="late", context=0).text
    assert found.count("in ") == 2
    assert key[8:] not in found


def test_a_part_of_a_record_in_one_long_line_says_whose_it_is() -> None:
    rows = [{"order": f"O-{n}", "to": {"city": f"{'x ' * 900}needle{n}{' y' * 900}"}}
            for n in range(30)]  # fmt: skip
    body = json.dumps({"orders": rows})
    found = slice_of(body, "search", "application/json", pattern="needle7\\b").text
    assert found.startswith('1: orders[7].to.city ("order": "O-7") (offset ')
    near = [{"order": f"O-{n}", "to": f"needle{n} {'y ' * 900}"} for n in range(30)]
    found = slice_of(json.dumps(near), "search", "application/json", pattern="needle7\\b").text
    assert found.startswith("1: [7].to (offset ")
    assert '"order": "O-7", "to": "needle7 y' in found
    whole = slice_of(ORDERS, "search", "application/json", pattern="O-4711").text
    assert whole.startswith("1: orders[4711].order (offset ")


def test_search_in_one_long_line_goes_on_after_what_it_has_shown() -> None:
    found = everything(ORDERS, "search", "application/json", pattern="O-471[0-9]\\b")
    assert [f"orders[{n}].order" in found for n in range(4710, 4720)] == [True] * 10
    assert found.count("O-4713") == 1


def test_search_in_one_long_line_of_words_shows_what_surrounds_the_match() -> None:
    body = "word " * 4_000 + "the needle is here " + "word " * 4_000
    part = slice_of(body, "search", pattern="needle")
    assert "word the needle is here word" in part.text
    assert len(part.text) < 600


def test_search_in_one_long_line_guesses_no_secret() -> None:
    secret = "ghp_" + "aB3dE5gH7j" * 4
    body = json.dumps({"filling": "x y " * 3_000, "note": f"use {secret} now", "more": [1]})
    assert slice_of(body, "search", "application/json", pattern="ghp_aB3").text == NO_MATCH
    shown = slice_of(body, "search", "application/json", pattern="use").text
    assert "use [secret:github_token:" in shown


def test_search_in_the_demos_largest_result_shows_the_order_that_is_asked_for() -> None:
    largest = max(load(), key=lambda item: len(item.text)).text
    part = slice_of(largest, "search", "application/json", most=120, pattern="O-20614", context=0)
    assert "O-20614" in part.text
    assert part.tokens <= 120
