import json
from pathlib import Path

import pytest
from tests.firewall_made import envelope, invoices
from tests.firewall_slices import everything, slice_of

from weft.firewall.views.arguments import Value
from weft_schemas.errors import InvalidInput, NotFound

LINES = "".join(f"line {n} is here\n" for n in range(1, 501))
CSV = "id,name,city\n" + "".join(f'{n},"Doe, {n}",Oslo\n' for n in range(300))


def test_head_is_bounded_and_says_how_to_go_on() -> None:
    part = slice_of(LINES, "head", most=50)
    assert part.text.startswith("line 1 is here\n")
    assert part.tokens <= 50
    assert part.truncated
    assert part.next is not None


def test_the_slices_of_head_give_the_whole_text() -> None:
    assert everything(LINES, "head") == LINES


def test_the_slices_of_one_long_line_give_the_whole_text() -> None:
    body = "wörter ohne ende " * 900
    assert everything(body, "head") == body


def test_tail_goes_backwards() -> None:
    part = slice_of(LINES, "tail")
    assert part.text.endswith("line 500 is here\n")
    before = slice_of(LINES, "tail", **(part.next or {}))
    assert before.text.endswith(f"{part.text.splitlines()[0]}\n") is False
    assert before.text + part.text in LINES


def test_lines_are_numbered_as_asked_for() -> None:
    part = slice_of(LINES, "lines", start=10, count=3)
    assert part.text == "10: line 10 is here\n11: line 11 is here\n12: line 12 is here\n"
    assert part.next == {"start": 13}


def test_search_shows_each_match_with_its_context() -> None:
    part = slice_of(LINES, "search", pattern="line 2[45]0 ", context=1)
    assert [line.split(":")[0] for line in part.text.splitlines()] == [
        "239", "240", "241", "…", "249", "250", "251",
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", ["(b", "*", "[a-", r"(?=look)", r"\1"])
def test_search_for_what_is_no_expression_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=r"no regular expression.*: .+; write") as refused:
        slice_of("a (b\nc", "search", pattern=pattern, context=0)
    assert repr(pattern) in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(20614, "order 20614"), (1.5, "at 1.5"), (True, "is true"), ("20614", "order 20614")],
)
def test_what_is_searched_for_may_be_written_as_a_number(pattern: Value, found: str) -> None:
    body = "order 20614\nat 1.5\nis true\nTrue\n"
    shown = slice_of(body, "search", pattern=pattern, context=0).text
    assert [line.split(": ")[1] for line in shown.splitlines()] == [found]


def test_an_argument_that_is_null_is_not_given() -> None:
    assert slice_of(LINES, "lines", start=None, count=1).text == "1: line 1 is here\n"
    with pytest.raises(InvalidInput, match="needs a pattern"):
        slice_of(LINES, "search", pattern=None)


@pytest.mark.parametrize("start", ["²", "--5", "9" * 5_000, 10**30])
def test_what_is_no_place_is_refused(start: Value) -> None:
    with pytest.raises(InvalidInput, match="give a whole number"):
        slice_of(CSV, "rows", "text/csv", start=start)


def test_a_column_may_have_a_number_for_its_name() -> None:
    part = slice_of("id,2024\na,7\nb,8\nc,9\n", "rows", "text/csv", columns=2024)
    assert part.text == "2024\n7\n8\n9\n"


def test_errors_shows_only_lines_that_tell_of_one() -> None:
    body = LINES + "ERROR disk full\n" + LINES
    assert slice_of(body, "errors").text == "501: ERROR disk full\n"


def test_rows_respects_quotes_and_chooses_columns() -> None:
    part = slice_of(CSV, "rows", "text/csv", start=7, count=2, columns="name,id")
    assert part.text == 'name,id\n"Doe, 7",7\n"Doe, 8",8\n'
    assert part.next == {"start": 9, "count": 2, "columns": "name,id"}


def test_rows_of_a_markdown_table() -> None:
    body = "Prices:\n\n| id | price |\n|---|---|\n| a | 1 |\n| b | 2 |\n\nend"
    part = slice_of(body, "rows", "text/x-markdown-table", start=1)
    assert part.text == "id,price\nb,2\n"
    assert not part.truncated


@pytest.mark.parametrize(
    "body",
    [
        " id | price\n----+-------\n a  | 1\n b  | 2\n(2 rows)\n",
        "+--+--+\n|id|price|\n+--+--+\n|a|1|\n+--+--+\n|b|2|\n+--+--+\n",
        "┌──┬──┐\n│id│price│\n├──┼──┤\n│a│1│\n│b│2│\n└──┴──┘\n",
        "+----+---+\n| id | price |\n+----+---+\n| a  | 1 |\n| b  | 2 |\n+----+---+\n",
    ],
)
def test_rows_of_a_table_that_a_database_prints(body: str) -> None:
    part = slice_of(body, "rows", "text/x-markdown-table")
    assert part.text == "id,price\na,1\nb,2\n"
    assert not part.truncated


def test_columns_names_them_with_samples() -> None:
    assert (
        slice_of(CSV, "columns", "text/csv").text.splitlines()[2]
        == "city: Oslo,Oslo,Oslo,Oslo,Oslo"
    )


def test_json_gives_the_value_at_a_path() -> None:
    body = invoices(50)
    assert (
        slice_of(body, "json", "application/json", path="invoices[3].number").text == '"INV-1003"'
    )
    part = slice_of(body, "json", "application/json", path="invoices[10:12]", most=900)
    shown = [json.loads(line.split("] ", 1)[1])["id"] for line in part.text.splitlines()]
    assert shown == ["inv_0010", "inv_0011"]


def test_an_array_is_gone_through_by_next() -> None:
    body = json.dumps([{"n": n, "text": "some words " * 5} for n in range(60)])
    text = everything(body, "json", "application/json")
    assert [json.loads(line.split("] ", 1)[1])["n"] for line in text.splitlines()] == list(
        range(60)
    )


def test_keys_names_types_and_sizes() -> None:
    text = slice_of(invoices(3), "keys", "application/json", path="invoices[0]").text
    assert "id: string, 10 bytes" in text
    assert "customer: object" in text


def test_ndjson_is_a_list_of_its_lines() -> None:
    body = "\n".join(json.dumps({"n": n}) for n in range(9))
    assert slice_of(body, "json", "application/x-ndjson", path="[4].n").text == "4"


@pytest.mark.parametrize("ending", ["\n", "\n\n", "\r\n"])
def test_records_that_are_printed_one_after_another_are_a_list(ending: str) -> None:
    """As `jq '.[]'` prints them."""
    records = [{"order": f"O-{n}", "lines": [{"n": n}, {"n": -n}]} for n in range(60)]
    body = ending.join(json.dumps(one, indent=2) for one in records) + ending
    kind = envelope(body).content_type
    assert kind == "application/x-ndjson"
    assert slice_of(body, "json", kind, path="[41].lines[1].n").text == "-41"
    assert everything(body, "json", kind, path="[7]") == (
        'order: "O-7"\nlines: ' + json.dumps(records[7], indent=2).split('"lines": ')[1][:-2] + "\n"
    )
    shown = everything(body, "json", kind)
    assert [f"[{n}] {{" in shown for n in range(60)] == [True] * 60
    assert slice_of(body, "keys", kind, path="[60:]").text == "(there are 60 members)\n"
    with pytest.raises(NotFound, match=r"nothing stands at '\[60\]'"):
        slice_of(body, "json", kind, path="[60]")


def test_blocks_of_code_are_no_records() -> None:
    body = "{\n  first();\n}\n{\n  return second();\n}\n" * 9
    assert envelope(body).content_type == "text/x-source"


def test_what_an_omission_names_can_be_asked_for() -> None:
    body = invoices(100)
    summary = json.loads(envelope(body).summary)
    mark = next(x for x in summary["invoices"] if isinstance(x, str) and " more at " in x)
    path = mark.split(" more at ")[1].split(",")[0]
    part = slice_of(body, "json", "application/json", path=path, most=400)
    first = path.split("[")[1].split(":")[0]
    assert part.text.startswith(f"[{first}] ")


@pytest.mark.parametrize("form", ["{}", "[{}]", "meta=None content=[{}] isError=False"])
def test_views_of_a_printed_mcp_result_look_at_its_text(form: str) -> None:
    body = form.format("TextContent(type='text', text='one\\ntwo', annotations=None)")
    assert everything(body, "lines", start=2, count=1) == "2: two\n"


def test_views_of_an_mcp_result_look_at_what_it_holds() -> None:
    body = json.dumps({"content": [{"type": "text", "text": CSV}]})
    kind = envelope(body).content_type
    assert slice_of(body, "rows", kind, start=5, count=1).text == 'id,name,city\n5,"Doe, 5",Oslo\n'


LISTED = [{"order": f"O-{n}", "total": n * 37 % 1_000} for n in range(300)]
IN_BLOCKS = json.dumps(
    {
        "content": [{"type": "text", "text": json.dumps(one, indent=2)} for one in LISTED],
        "structuredContent": {"result": LISTED},
    }
)
"""What an SDK makes of a tool that returns a list of objects."""


def test_the_paths_of_a_summary_of_structured_content_can_be_asked_for() -> None:
    made = envelope(IN_BLOCKS)
    assert "more at result[" in made.summary
    kind = made.content_type
    part = slice_of(IN_BLOCKS, "json", kind, path="result[150:152]")
    assert [line.split("] ")[1] for line in part.text.splitlines()] == [
        '{"order":"O-150","total":550}',
        '{"order":"O-151","total":587}',
    ]
    assert slice_of(IN_BLOCKS, "keys", kind).text.startswith("result: array, ")
    assert everything(IN_BLOCKS, "json", kind, path="result").count("O-") == 300
    assert slice_of(IN_BLOCKS, "search", kind, pattern="O-150", context=0).text.endswith(
        '"order": "O-150",\n'
    )


def test_structured_content_alone_is_read_by_every_view() -> None:
    body = json.dumps({"content": [], "structuredContent": {"result": LISTED}})
    assert slice_of(body, "head").text.startswith('{"result":[{"order":"O-0"')


def test_a_path_of_the_text_beside_structured_content_can_be_asked_for() -> None:
    text = json.dumps(LISTED)
    held = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": LISTED}}
    body = json.dumps(held)
    found = slice_of(body, "search", "application/json", pattern="O-150").text.split()[1]
    assert found == "[150].order"
    assert slice_of(body, "json", "application/json", path=found).text == '"O-150"'


def test_a_secret_in_structured_content_is_masked() -> None:
    secret = "ghp_" + "aB3dE5gH7j" * 4
    body = json.dumps({"content": [], "structuredContent": {"note": f"use {secret} now"}})
    shown = slice_of(body, "json", "application/json", path="note").text
    assert shown.startswith('"use [secret:github_token:')


def test_views_of_records_whose_type_is_an_object_look_at_the_records() -> None:
    body = json.dumps([{"type": {"name": "circle"}, "id": 7}, {"type": {"name": "square"}}])
    assert slice_of(body, "json", "application/json", path="[0].type.name").text == '"circle"'


def test_every_view_that_an_envelope_names_works() -> None:
    needed: dict[str, dict[str, Value]] = {"search": {"pattern": "a"}}
    for body in (LINES, CSV, invoices(40)):
        found = envelope(body)
        for view in found.views:
            args = needed.get(view.name, {})
            assert slice_of(body, view.name, found.content_type, **args).views


def test_a_secret_is_masked_in_every_slice_even_where_the_slice_cuts_it() -> None:
    key = "gh" + "p_" + "a1B2" * 9
    body = "x" * 1_985 + " " + key + " " + "y" * 3_000 + "\n" + "z\n" * 50 + key
    for offset in (0, 1_970, 1_990, 2_000, 2_010):
        assert key[10:30] not in slice_of(body, "head", most=4_000, offset=offset).text
    for view, args in (("tail", {}), ("lines", {}), ("search", {"pattern": "a1B2"})):
        assert key[10:30] not in slice_of(body, view, most=4_000, **args).text


def test_a_file_is_looked_at_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "body"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0)
        file.write(b"first\n")
        file.seek(-6, 2)
        file.write(b"\nlast\n")
    assert slice_of(path, "head", most=5).text.startswith("first\n")
    assert slice_of(path, "tail").text.endswith("last\n")


@pytest.mark.parametrize(
    ("view", "args", "error"),
    [
        ("rows", {}, InvalidInput),
        ("lines", {"start": 0}, InvalidInput),
        ("lines", {"start": "one"}, InvalidInput),
        ("head", {"row": 3}, InvalidInput),
        ("search", {}, InvalidInput),
    ],
)
def test_what_a_view_cannot_do_is_said(
    view: str, args: dict[str, Value], error: type[Exception]
) -> None:
    with pytest.raises(error, match="drill-down"):
        slice_of(LINES, view, **args)


def test_a_path_at_which_nothing_stands_is_not_found() -> None:
    with pytest.raises(NotFound, match="keys"):
        slice_of(invoices(3), "json", "application/json", path="invoices[9].id")


def test_a_column_that_there_is_not_is_answered_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="id, name, city"):
        slice_of(CSV, "rows", "text/csv", columns="price")


def test_what_is_not_there_is_told() -> None:
    """A model takes an empty text for an empty artifact."""
    body = "a line\n" * 1_200
    assert slice_of(body, "search", pattern="7").text == "(no match, in 1,200 lines)\n"
    assert slice_of(body, "lines", start=2_000).text == "(there are 1,200 lines)\n"
    assert "tells of an error, in 1,200 lines" in slice_of(body, "errors").text


@pytest.mark.parametrize(
    ("view", "args", "told"),
    [
        ("rows", {"start": 300}, "(there are 300 rows)\n"),
        ("rows", {"start": 99_999, "count": 3}, "(there are 300 rows)\n"),
        ("head", {"offset": len(CSV)}, f"(there are {len(CSV):,} bytes)\n"),
        ("head", {"offset": 99_999_999}, f"(there are {len(CSV):,} bytes)\n"),
        ("tail", {"before": 0}, f"(there are {len(CSV):,} bytes)\n"),
        ("lines", {"start": 302}, "(there are 301 lines)\n"),
    ],
)
def test_what_lies_behind_the_end_is_told_and_nothing_follows(
    view: str, args: dict[str, Value], told: str
) -> None:
    part = slice_of(CSV, view, "text/csv", **args)
    assert (part.text, part.next) == (told, None)


@pytest.mark.parametrize("view", ["json", "keys"])
def test_members_behind_the_last_are_told(view: str) -> None:
    body = json.dumps({"a": list(range(2_000)), "b": {}})
    for args, told in (
        ({"path": "a[5990:5992]"}, "(there are 2,000 members)\n"),
        ({"path": "a", "start": 2_000}, "(there are 2,000 members)\n"),
        ({"path": "[150:152]"}, "(there are 2 members)\n"),
        ({"path": "b"}, "(there are 0 members)\n"),
    ):
        part = slice_of(body, view, "application/json", **args)
        assert (part.text, part.next) == (told, None)
    with pytest.raises(InvalidInput, match="holds no member"):
        slice_of(body, view, "application/json", path="a[7:7]")


def test_a_table_without_rows_has_no_next_ones() -> None:
    part = slice_of("id,name,city\n", "rows", "text/csv")
    assert (part.text, part.next) == ("id,name,city\n", None)


def test_keys_of_more_than_a_slice_go_on() -> None:
    body = json.dumps({f"key {n}": n for n in range(2_500)})
    part = slice_of(body, "keys", "application/json", most=100_000)
    assert part.text.count("\n") == 2_500
    assert everything(body, "keys", "application/json") == part.text
