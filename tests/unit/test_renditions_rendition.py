"""The ways to show an item, each honest, and each made again from its view and selector."""

import json

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.renditions.part_selector import (
    numbers_in,
    outdated_of,
    ranges,
    with_outdated,
    without_outdated,
)
from weft.compiler.renditions.rendition import (
    Rendition,
    beginning_rendition,
    compact_rendition,
    part_count,
    parts_rendition,
    reference_rendition,
    reproduced_rendition,
    stub_rendition,
    summary_rendition,
    whole_rendition,
)
from weft.compiler.renditions.stub_line import WHOLE
from weft.readmodel.rows import ItemRow
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

RECORDS = json.dumps([{"id": f"N{n:05d}X", "note": "w " * 40} for n in range(20)])
PROSE = "\n\n".join(f"Paragraph {n} tells of a day by the sea. " * 8 for n in range(5))


def row_of(kind: ItemKind, text: str, **metadata: object) -> ItemRow:
    return ListView([ContextItem("i", kind, text, metadata=metadata)]).recent(1)[0]


def test_a_result_is_shown_whole_byte_for_byte() -> None:
    text = "def f(x):\n\tif x:\n\t    return 'a  b'\n\n\n"
    shown = whole_rendition(row_of(ItemKind.TOOL_RESULT, text))
    assert (shown.view, shown.text) == ("whole", text)


def test_a_short_text_within_a_text_is_compact_without_escapes() -> None:
    said = {"_meta": None, "content": [{"type": "text", "text": 'Created "/root/ppt"'}]}
    text = f"content=[TextContent(text={json.dumps(said, indent=2)!r})] isError=False"
    row = row_of(ItemKind.TOOL_RESULT, text)
    assert row.parts is None
    shown = compact_rendition(row)
    assert shown.text == (
        "content=[TextContent(text='{_meta: null, content: [{type: text, text: "
        '"Created \\"/root/ppt\\""}]}\')] isError=False'
    )
    assert reproduced_rendition(row, shown.view, shown.selector) == shown
    plain = row_of(ItemKind.TOOL_RESULT, '{"state": "late", "dock": "D25"}')
    assert compact_rendition(plain) == whole_rendition(plain)


def test_a_masked_secret_stays_masked_in_the_whole() -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    text = f"aws_access_key_id = {secret}\n" + "region = eu-north-1\n" * 30
    shown = whole_rendition(row_of(ItemKind.TOOL_RESULT, text))
    assert shown.view == "whole"
    assert secret not in shown.text
    assert shown.text.count("region = eu-north-1\n") == 30


def test_an_empty_result_is_told_to_be_empty() -> None:
    for text in ("", " \n"):
        assert whole_rendition(row_of(ItemKind.TOOL_RESULT, text)) == Rendition("stub", "(empty)")


def test_a_call_has_its_arguments_verbatim_where_it_is_whole() -> None:
    given = {"name": "Mia", "where": {"city": "Oslo", "zip": "0150"}}
    shown = whole_rendition(row_of(ItemKind.TOOL_CALL, "", tool_name="f", arguments=given))
    assert shown.arguments == given
    assert "0150" in shown.text


def test_a_call_that_is_cut_has_no_arguments_and_says_what_is_missing() -> None:
    given = {"path": "a.py", "content": "print('line of code')\n" * 100}
    row = row_of(ItemKind.TOOL_CALL, "", tool_name="write", arguments=given)
    shown = parts_rendition(row, range(2))
    assert part_count(row) > 2
    assert shown.arguments is None
    assert shown.text.startswith("write(")
    assert "a.py" in shown.text
    assert " lines …" in shown.text


def test_some_parts_stand_exact_with_a_mark_for_the_others() -> None:
    row = row_of(ItemKind.AGENT_MSG, PROSE)
    shown = parts_rendition(row, {0})
    assert shown.view == "parts"
    said, _, mark = shown.text.partition("… ")
    assert PROSE.startswith(said.rstrip())
    assert mark.endswith(" paragraphs …")


def test_of_no_parts_a_line_says_how_much_there_is() -> None:
    row = row_of(ItemKind.AGENT_MSG, PROSE)
    assert parts_rendition(row, ()) == stub_rendition(row)
    lines = PROSE.count("\n") + 1
    assert stub_rendition(row).text.endswith(f" … {lines} lines, {len(PROSE):,} characters …")
    assert PROSE.startswith(stub_rendition(row).text.partition(" … ")[0])


WROTE = {"content": [{"type": "text", "text": "Successfully wrote to a.md"}], "isError": False}
ORDERS = json.dumps([{"id": at, "name": f"an order of {at} of them"} for at in range(40)])
WROTE_MORE = {**WROTE, "note": "", "flags": [0] * 99}
POSTED = json.dumps({"ok": True, "document": "51002", "tags": ["a"] * 12})
JSON_IN_TEXT = f"meta=None content=[TextContent(text={json.dumps(WROTE_MORE)!r}, meta=None)]"


@pytest.mark.parametrize(
    ("text", "stub_text"),
    [
        ("Tool call timed out.", "Tool call timed out."),
        (
            "Created a presentation: apple_presentation",
            "Created a presentation: apple_presentation",
        ),
        (json.dumps(WROTE), "Successfully wrote to a.md … MCP wrapper …"),
        (
            json.dumps({"content": [{"type": "text", "text": "Appended to a.md (29 lines) \n"}]}),
            "Appended to a.md (29 lines) … MCP wrapper …",
        ),
        ("EXECUTION TIMED OUT\n\nsee the log\n", "EXECUTION TIMED OUT\n\nsee the log\n"),
        (
            "EXECUTION TIMED OUT\n\nsee the log\n" + "\n" * 200,
            "EXECUTION TIMED OUT … 203 lines, 233 characters …",
        ),
        (JSON_IN_TEXT, f"text: Successfully wrote to a.md … {len(JSON_IN_TEXT)} characters …"),
        (
            ORDERS,
            f"… 40 records, {len(ORDERS):,} characters …",
        ),
        ('{"id": 7, "name": "Ada Lovelace"}', '{"id": 7, "name": "Ada Lovelace"}'),
        (json.dumps({"id": 7, "tags": ["a"] * 40}), "… 219 characters …"),
        (
            "{\n  a: this is no JSON at all,\n" + "\n" * 199,
            "a: this is no JSON at all, … 201 lines, 230 characters …",
        ),
        (POSTED, POSTED),
    ],
)
def test_a_stub_tells_how_a_call_went_or_how_much_it_found(text: str, stub_text: str) -> None:
    """A reader cannot tell a failure from a success by its size."""
    row = row_of(ItemKind.TOOL_RESULT, text)
    assert stub_rendition(row).text == stub_text
    again = reproduced_rendition(row, stub_rendition(row).view, stub_rendition(row).selector)
    assert again == stub_rendition(row)


def test_a_stub_says_all_of_the_one_line_that_a_wrapped_result_says() -> None:
    address = "https://img.example.com/one_clip/afts/img/lf9mQ6TmuekAAAAASCAAAAgAoEACAQFr/original"
    said = {"_meta": None, "content": [{"type": "text", "text": address, "annotations": None}]}
    text = f"meta=None content=[TextContent(type='text', text={json.dumps(said, indent=2)!r})]"
    assert stub_rendition(row_of(ItemKind.TOOL_RESULT, text + " " * 80)).text.startswith(address)


def test_a_stub_of_a_page_says_its_title() -> None:
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>\n  Corrigendum: silica'
    )
    page = f"{head} dust</title></head><body><p>{'Text. ' * 90}</p></body></html>"
    shown = stub_rendition(row_of(ItemKind.TOOL_RESULT, page)).text
    assert shown.startswith("Corrigendum: silica dust … ")
    untitled = page.replace("title>", "b>")
    assert stub_rendition(row_of(ItemKind.TOOL_RESULT, untitled)).text.startswith("<p>Text. ")


XML = """<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
  <s:Header>
    <p:Trace id="16ca4ffccdadacdb30bab2137b9e1272"/>
  </s:Header>
  <s:Body>
    <p:changed state="PARTIAL" id="A-1"/>
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (XML + "    <p:row/>\n" * 60, '<p:changed state="PARTIAL" id="A-1"/>'),
        ("header:\n  seconds: 176\n" + "  x: 1\n" * 99, "seconds: 176"),
        ("total 208\n" + "-rw-r--r-- a\n" * 60, "-rw-r--r-- a"),
        ("NAME    READY   STATUS\n" + "web 1/1 Running\n" * 30, "web 1/1 Running"),
        (json.dumps({"ok": True, "doc": {"status": "paid"}, "rows": [7] * 99}), "ok: true"),
        (json.dumps({"rows": [{"status": "paid", "n": [7] * 99}]}), ""),
        (
            json.dumps({"status": "paid", "note": "the rest comes later on", "n": [7] * 99}),
            "status: paid … note: the rest comes later on",
        ),
        (
            "".join(f"Ld /Users/ci/{n}.o in target a\n" for n in range(60)) + "** BUILD FAILED **",
            "** BUILD FAILED **",
        ),
    ],
)
def test_a_stub_tells_an_outcome_before_any_preamble(text: str, line: str) -> None:
    shown = stub_rendition(row_of(ItemKind.TOOL_RESULT, text)).text
    assert shown.rpartition("… ")[0] == (f"{line} " if line else "")


def test_a_stub_tells_which_thing_a_call_created_or_found() -> None:
    """Its status alone says nothing that a next call takes."""
    held = {"hold": {"hold_id": "H-7731", "until": "12:40", "rates": [{"id": 1}] * 30}}
    shown = stub_rendition(row_of(ItemKind.TOOL_RESULT, json.dumps({**held, "status": "HELD"})))
    assert shown.text.startswith("hold_id: H-7731 \u2026 status: HELD \u2026 ")
    listed = {"status": "ok", "rates": [{"rate_id": f"R-{n}", "of": "x" * 40} for n in range(9)]}
    shown = stub_rendition(
        row_of(ItemKind.TOOL_RESULT, json.dumps({**listed, "text": "y" * 4_000}))
    )
    assert "R-0" not in shown.text  # one of several passes for the answer


def test_a_stub_of_a_yes_or_no_needs_no_fence() -> None:
    """Its words are not the text's own, and a fence costs more than they do."""
    paid = {"ok": True, "transfer": {"id": "TR-99", "trace": "b5ba82ca" * 9}, "tags": [7] * 40}
    shown = stub_rendition(row_of(ItemKind.TOOL_RESULT, json.dumps(paid)))
    assert (shown.view, shown.text.partition(" …")[0]) == ("stub", "ok: true")
    named = stub_rendition(
        row_of(ItemKind.TOOL_RESULT, json.dumps({"status": "paid", **paid, "ok": 1}))
    )
    assert (named.view, named.text.partition(" …")[0]) == ("parts", "status: paid")


def test_the_status_of_a_reply_is_shown_with_any_part_of_it() -> None:
    rooms = [{"code": n, "note": "a room to the yard"} for n in range(40)]
    booking = {"reference": "219-55", "status": "CONFIRMED", "holder": "Bru", "rooms": rooms}
    row = row_of(ItemKind.TOOL_RESULT, json.dumps({"booking": booking, "ok": True}))
    last = parts_rendition(row, {part_count(row) // 2}).text
    assert "status: CONFIRMED" in last
    assert "ok: true" in last
    many = row_of(ItemKind.TOOL_RESULT, json.dumps({"hotels": [booking, booking], "page": 1}))
    assert "CONFIRMED" not in parts_rendition(many, {part_count(many) - 1}).text


def test_a_stub_of_what_is_not_stored_whole_tells_the_size_of_all_of_it() -> None:
    row = row_of(ItemKind.TOOL_RESULT, "60,000 records, the first is …")
    envelope = ResultEnvelope("60,000 records, the first is …", raw_size=5_808_890)
    assert (
        stub_rendition(msgspec.structs.replace(row, envelope=envelope)).text
        == "… 5,808,890 bytes …"
    )


def test_the_beginning_of_a_call_names_the_arguments_behind_it() -> None:
    arguments = {"at": "/srv/a.md", "content": "word " * 90, "mode": "w", "owner": "ada"}
    row = row_of(ItemKind.TOOL_CALL, "", tool_name="write", arguments=arguments)
    shown = beginning_rendition(row, 30)
    assert shown.text.startswith('write({"at":"/srv/a.md","content":"word ')
    assert shown.text.endswith(" characters: mode, owner …")


def test_a_call_is_not_cut_within_a_short_argument() -> None:
    places = [{"pos": 1, "new": "48112-V21"}, {"pos": 2, "new": "90330-V12"}]
    arguments = {"order": "A-7725536", "places": places, "wallet": "giro_77310"}
    row = row_of(ItemKind.TOOL_CALL, "", tool_name="exchange", arguments=arguments)
    assert (
        beginning_rendition(row, 7).text == "exchange({ … 110 characters: order, places, wallet …"
    )
    first = 'exchange({"order":"A-7725536", … 90 characters: places, wallet …'
    assert beginning_rendition(row, 12).text == beginning_rendition(row, 18).text == first
    for limit in range(4, 40):
        said, _, _ = beginning_rendition(row, limit).text.partition(" … ")
        assert said.count('"') % 2 == 0
        assert said.endswith(("({", ",", "})"))
    free = row_of(ItemKind.TOOL_CALL, "a" * 100)
    assert beginning_rendition(free, 10).text == f"{'a' * 30} … 70 characters …"


LOADING = "".join(f"queue.orders_{n}: Modifying [id=https://sqs.example/q{n}]\n" for n in range(12))


@pytest.mark.parametrize("limit", [24, 40, 96])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LOADING + "╷\n│ Error: retention is too long\n" + LOADING, "│ Error: retention is too lo"),
        (
            json.dumps({"a": ["x y"] * 40, "message": "Card declined by its bank"}),
            '"message": "Card',
        ),
    ],
)
def test_a_failed_result_begins_with_its_error(limit: int, text: str, told: str) -> None:
    row = row_of(ItemKind.TOOL_RESULT, text, is_error=True)
    shown = beginning_rendition(row, limit)
    before, _, rest = shown.text.removeprefix("… ").partition(" characters … ")
    assert rest.startswith(told)
    assert text[int(before.replace(",", "")) :].startswith(rest.partition(" … ")[0])
    assert (
        len(shown.text)
        <= len(beginning_rendition(row_of(ItemKind.TOOL_RESULT, text), limit).text) + 30
    )
    assert reproduced_rendition(row, shown.view, shown.selector) == shown


def test_a_redacted_item_has_no_parts() -> None:
    row = row_of(ItemKind.AGENT_MSG, "[REDACTED: restricted]")
    assert part_count(row, redacted=True) == 1
    assert whole_rendition(row, redacted=True) == Rendition("redacted", "[REDACTED: restricted]")


def test_a_beginning_keeps_about_its_tokens_and_says_how_much_is_missing() -> None:
    text = "Never do this. " * 50
    shown = beginning_rendition(row_of(ItemKind.POLICY, text), 12)
    said, _, mark = shown.text.partition(" … ")
    assert text.startswith(said)
    assert mark == f"{len(text) - len(said):,} characters …"
    assert len(said) <= 12 * 3
    assert beginning_rendition(row_of(ItemKind.POLICY, "Be kind."), 12).view == "whole"


@pytest.mark.parametrize("chosen", [{0}, {0, 1, 2}, {1, 3, 4, 9}, set()])
def test_a_recipe_gives_the_same_parts_again(chosen: set[int]) -> None:
    assert numbers_in(ranges(chosen)) == chosen


@pytest.mark.parametrize("selector", ["0-3,7", "<40", ""])
def test_a_recipe_says_which_outdated_facts_are_left_out(selector: str) -> None:
    assert with_outdated(selector, ()) == selector
    written = with_outdated(selector, (0, 2, 1))
    assert outdated_of(written) == (0, 1, 2)
    assert without_outdated(written) == selector


def test_every_rendition_is_made_again_from_its_view_and_recipe() -> None:
    for row in (row_of(ItemKind.TOOL_RESULT, RECORDS), row_of(ItemKind.AGENT_MSG, PROSE)):
        made = [
            whole_rendition(row),
            parts_rendition(row, {0, 2}),
            parts_rendition(row, ()),
            beginning_rendition(row, 20),
        ]
        made += [
            stub_rendition(row),
            reference_rendition(),
            whole_rendition(row, redacted=True),
            summary_rendition(row),
        ]
        for one in made:
            assert reproduced_rendition(row, one.view, one.selector) == one
    with pytest.raises(InvalidInput, match="'hologram' is unknown"):
        reproduced_rendition(row, "hologram", "")


URL = f"https://docs.example.org/{'guide/part/' * 9}install.html"
PATH = f"/srv/{'data/' * 30}report.pdf"


@pytest.mark.parametrize(
    ("line", "stub_text"),
    [
        (f"Contents of {URL}:", "Contents of https://docs.example.org/ … {} characters … {}"),
        (PATH, "/srv/ … {} characters … {}"),
        (f"Saved {PATH} at last", "Saved /srv/ … {} characters … {}"),
        ("x" * 80 + "y" * 80, "{} … {} characters … {}"),
    ],
)
def test_a_stub_that_is_cut_at_a_long_word_shows_both_ends_of_it(line: str, stub_text: str) -> None:
    word = max(line.split(), key=len)
    text = line + "\n" + "words of a page. " * 150
    shown = stub_rendition(row_of(ItemKind.TOOL_RESULT, text)).text.rpartition(" … 2 lines, ")[0]
    begins, _, rest = shown.partition(" … ")
    count, _, ends = rest.partition(" characters … ")
    assert begins.startswith(stub_text.partition("{")[0].partition(" … ")[0])
    assert line.startswith(begins)
    assert word.endswith(ends)
    assert len(begins.split()[-1]) + int(count) + len(ends) == len(word)
    assert len(shown) <= WHOLE
    assert (
        ends in ("/install.html:", "/part/install.html:") or "/" not in word or "/report." in ends
    )


def test_a_long_word_behind_many_others_is_left_out_of_a_stub() -> None:
    text = f"This is what the page says that was asked for: {URL}\n" + "words of a page. " * 150
    said = "This is what the page says that was asked for: … 2 lines, "
    assert stub_rendition(row_of(ItemKind.TOOL_RESULT, text)).text.startswith(said)


def test_the_summary_stands_above_some_parts_and_not_above_nearly_all() -> None:
    text = json.dumps(
        [{"id": at, "name": f"order {at} " + "of some words " * 8} for at in range(400)]
    )
    row = row_of(ItemKind.TOOL_RESULT, text)
    half, nearly = (parts_rendition(row, range(part_count(row) * n // 10)).text for n in (5, 9))
    assert half.startswith("(of all of it:)\n")
    assert nearly.startswith("[{id: 0, ")
