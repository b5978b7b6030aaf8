"""What stands above parts of a result: what its summary says of all of it."""

import json

from tests.firewall_made import envelope

from weft.compiler.renditions.summary_statements import summary_statements
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=99, summary_tokens=200)


def devices() -> dict[str, object]:
    return {
        "total": 40,
        "error": "2 devices did not answer",
        "devices": [
            {"id": f"9CZNWFTX5BSK4W96{n:03}", "state": "lost" if n in (7, 21) else "on", "load": n}
            for n in range(40)
        ],
    }


def test_counts_totals_extremes_and_errors_stay_and_records_go() -> None:
    summary = envelope(json.dumps(devices()), RULES).summary
    assert "more at devices[" in summary
    said = summary_statements(summary, "{devices: [… 40 of 40 records …]}", "").splitlines()
    assert said[:2] == ["total: 40", "error: 2 devices did not answer"]
    assert said[2].startswith("devices: 40 in all; ")
    lost = "9CZNWFTX5BSK4W96007, 9CZNWFTX5BSK4W96021"
    assert f"state: on (38), lost (2: {lost})" in said[2]
    assert "load: 0..39" in said[2]
    others = [line.replace(lost, "") for line in said]
    assert not any("9CZN" in line or "[" in line or "shown with" in line for line in others)


def test_what_is_shown_below_is_not_said_twice() -> None:
    summary = envelope(json.dumps(devices()), RULES).summary
    said = summary_statements(summary, "{total: 40, error: 2 devices did not answer, …}", "")
    assert said.startswith("devices: 40 in all")
    rows = "".join(f"{n},{'failed' if n == 20 else 'ok'},{n * 7}\n" for n in range(90))
    summary = envelope(f"id,state,size\n{rows}", RULES).summary
    said = summary_statements(summary, f"id,state,size\n{rows}", "")
    assert said.startswith("table: 90 rows x 3 columns\n")
    assert "ok (89), failed (1)" in said
    assert "\n20,failed" not in said


def test_a_summary_that_only_gives_examples_says_nothing_of_all() -> None:
    assert (
        summary_statements('[{"a": 1}, "…4 of 5 left out"]', "[{a: 2}, … 4 of 5 records …]", "")
        == ""
    )
    assert summary_statements("one line\n… 7 lines …", "one line\ntwo\n", "") == ""


def test_a_line_of_the_result_is_an_example_and_a_line_about_it_is_not() -> None:
    staff = ["<Staff>", "  <Name>Garcia</Name>", "  <Name>Roux</Name>  ", "  <Name>Dufour</Name>"]
    summary = "4 elements\n<Name>Roux</Name>\n… 1 line …\n    <Name>Dufour</Name>\nRoux"
    said = summary_statements(summary, "  <Name>Garcia</Name>\n… 3 lines …", "\n".join(staff))
    assert said == "4 elements\nRoux"


def test_a_total_stands_above_parts_that_have_a_field_which_begins_alike() -> None:
    summary = json.dumps({"rows": ["…300 x {id, errors}; errors: 20..28"], "errors": 2, "total": 3})
    assert summary_statements(summary, "{rows: [{errors: 21}], subtotal: 3}", "").endswith(
        "errors: 2\ntotal: 3"
    )
    assert (
        "errors: 2"
        not in summary_statements(summary, "{rows: [… 300 …], errors: 2}", "").splitlines()
    )


def test_rows_that_a_table_s_summary_shows_as_examples_are_not_said_of_all_of_it() -> None:
    summary = (
        "table: 9 rows x 2 columns\nstate: paid (8), open (1)\nid,state\n7,open\n… 8 of 9 rows …"
    )
    said = summary_statements(summary, "id,state\n1,paid\n… 8 of 9 rows …", "")
    assert said == "table: 9 rows x 2 columns\nstate: paid (8), open (1)"


def test_rows_of_a_drawn_table_are_examples_though_they_do_not_stand_there_so() -> None:
    summary = (
        "table: 9 rows x 2 columns\nstate: paid (8), open (1)\nid,state\n7,open\n… 8 of 9 rows …"
    )
    for before in ("", "9 found\n"):
        said = summary_statements(
            before + summary, " id | state\n----+------\n 1 | paid", "9 found\n"
        )
        assert said == "table: 9 rows x 2 columns\nstate: paid (8), open (1)"


def test_a_list_of_statements_that_was_cut_says_so() -> None:
    files = "".join(f"src/m{n}.go: 1 hunks, +2 -1\n" for n in range(3))
    summary = f"diff: 35 files, +59 -35\n{files}… 90 lines …"
    assert (
        summary_statements(summary, "diff --git a/src/m1.go b/src/m1.go", "diff --git") == summary
    )


def test_sentences_of_a_text_are_no_statements_about_it() -> None:
    sentences = [
        f"Clause {n} binds the tenant for {n} years. It ends on day {n}." for n in range(90)
    ]
    text = "\n\n".join(" ".join(sentences[at : at + 6]) for at in range(0, 90, 6))
    summary = envelope(text, RULES).summary
    assert "binds the tenant" in summary
    assert summary_statements(summary, "Clause 1 …", text) == ""


def test_the_beginning_of_a_line_is_no_statement_about_its_text() -> None:
    lines = [f"# Part {n}\n\n{f'Clause {n} binds the tenant, ' * 60}\n" for n in range(20)]
    text = "\n".join(lines)
    summary = envelope(text, RULES).summary
    assert " chars)" in summary
    assert summary_statements(summary, "# Part 1", text) == ""


def test_the_excerpt_of_a_page_says_nothing_of_all_of_it() -> None:
    rows = "".join(f"<p>Room {n} &amp; its key</p><a href='/r/{n}'>book {n}</a>" for n in range(90))
    text = f"<html><head><title>Rooms</title></head><body>{rows}</body></html>"
    summary = envelope(text, RULES).summary
    assert "& its key" in summary
    assert summary_statements(summary, "", text) == ""


def test_json_below_words_says_the_same_of_all_as_json_alone() -> None:
    alone = envelope(json.dumps(devices()), RULES).summary
    summary = envelope(f"Found these:\n{json.dumps(devices())}", RULES).summary
    assert summary.startswith("Found these:\n{")
    said = summary_statements(summary, "{devices: [… 40 of 40 records …]}", "Found these:\n{}")
    assert said == summary_statements(alone, "{devices: [… 40 of 40 records …]}", "")


def test_the_beginning_of_a_long_string_says_nothing_of_all_of_it() -> None:
    body = "The tenant pays on the first day of a month. " * 90
    page = {"total": "3\u2028of 4", "body": body, "draft": body}
    summary = envelope(json.dumps(page), RULES).summary
    assert " chars" in summary
    assert summary_statements(summary, "{body: …}", json.dumps(page)) == "total: 3\u2028of 4"


def test_what_stands_beside_a_text_is_said_unless_its_mark_tells_it() -> None:
    page = {"total": "3\u2028of 4", "pages": 9, "body": "The tenant pays. " * 900}
    summary = envelope(json.dumps(page), RULES).summary
    shown = "The tenant pays. … in the field body, with pages: 9 …"
    assert summary_statements(summary, shown, page["body"]) == "total: 3\u2028of 4"


def test_of_xml_without_line_breaks_nothing_is_said_of_all_of_it() -> None:
    """Its summary is an excerpt, in lines that the text does not have: tags that close others."""
    rows = "".join(
        f'<row n="{n}" on="false" off="false"><cell text="lamp {n}"></cell></row>'
        for n in range(200)
    )
    text = f"<?xml version='1.0'?><rows>{rows}</rows>"
    summary = envelope(text, RULES).summary
    assert "  </row>" not in text
    assert "</row>" in summary
    assert summary_statements(summary, "<rows>… 200 elements …</rows>", text) == ""
