"""Results in wrappers of the Model Context Protocol: what a tool said, and nothing else."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.compiler.renditions.assembling import assembled_text, unquoted_text
from weft.passages.literals import decoded
from weft.passages.part import leaf_count
from weft.passages.splitting import outline_of, passages_of, readable

Wrap = Callable[[str], str]
SAID = "Process started with PID 123565\nInitial output:"


def in_json(text: str, **fields: object) -> str:
    block = {"type": "text", "text": text, "annotations": None}
    result = {"_meta": None, "content": [block], "isError": False, **fields}
    return json.dumps(result, ensure_ascii=False)


def printed(text: str, is_error: bool = False) -> str:
    block = f"[TextContent(type='text', text={text!r}, annotations=None)]"
    return f"meta=None content={block} isError={is_error}"


@pytest.mark.parametrize(
    "wrapped",
    [
        in_json(SAID),
        in_json(SAID, structuredContent={"result": SAID}),
        printed(SAID),
        printed(in_json(SAID)),
        in_json(in_json(in_json(SAID))),
        f"[TextContent(type='text', text={SAID!r}, annotations=None, meta=None)]",
        f"CallToolResult(meta=None, content=[TextContent(type='text', text={SAID!r}, "
        "annotations=None, meta=None)], structuredContent=None, isError=False)",
    ],
)
def test_what_a_tool_said_is_shown_without_its_wrapper(wrapped: str) -> None:
    assert unquoted_text(decoded(wrapped)) == f"{SAID} \u2026 MCP wrapper \u2026"
    assert passages_of(wrapped) == (None, [SAID])


@pytest.mark.parametrize(
    "wrapped",
    [
        json.dumps([{"type": "text", "text": SAID}]),
        json.dumps([{"type": "text", "text": SAID}], indent=2),
        f"[TextContent(type='text', text={SAID!r})]",
    ],
)
def test_a_list_of_one_text_is_not_said_to_be_of_the_protocol(wrapped: str) -> None:
    """Several interfaces write results as such a list."""
    assert unquoted_text(decoded(wrapped)) == f"{SAID} \u2026 in a list of one text \u2026"
    assert passages_of(wrapped) == (None, [SAID])


def test_a_list_in_a_wrapper_and_a_wrapper_in_a_list_are_both_told() -> None:
    listed = json.dumps([{"type": "text", "text": SAID}])
    text = f"{SAID} \u2026 MCP wrapper, in a list of one text \u2026"
    assert unquoted_text(decoded(in_json(listed))) == text
    within = json.dumps([{"type": "text", "text": in_json(SAID, isError=True)}])
    text = f"{SAID} \u2026 MCP wrapper, in a list of one text, isError: true \u2026"
    assert unquoted_text(decoded(within)) == text


@pytest.mark.parametrize(
    "wrapped", [in_json(SAID, isError=True), printed(in_json(SAID), True), printed(SAID, True)]
)
def test_a_wrapper_that_tells_an_error_still_does(wrapped: str) -> None:
    assert unquoted_text(decoded(wrapped)) == f"{SAID} \u2026 MCP wrapper, isError: true \u2026"


@pytest.mark.parametrize("metadata", [{"fastmcp": {"wrap_result": True}}, {"trace": "7e6e9dbe"}])
def test_what_a_wrapper_says_about_the_message_is_left_out_with_a_mark(metadata: object) -> None:
    wrapped = in_json(SAID, _meta=metadata, structuredContent={"result": SAID})
    assert unquoted_text(decoded(wrapped)) == f"{SAID} \u2026 MCP wrapper, 1 field: _meta \u2026"
    wrapped = in_json(in_json(SAID, isError=True), _meta=metadata)
    marked = "\u2026 MCP wrapper, 1 field: _meta, isError: true \u2026"
    assert unquoted_text(decoded(wrapped)) == f"{SAID} {marked}"
    elements = json.loads(listed(["1", "2"], [1, 2]))
    assert decoded(json.dumps({**elements, "_meta": metadata})).wrapper.endswith(": _meta \u2026")


@pytest.mark.parametrize(
    "text",
    [
        in_json(SAID, structuredContent={"pid": 123565}),
        in_json("1", structuredContent={"result": True}),
        in_json(SAID, took_ms=12),
        in_json(SAID, _meta=["page 2"]),
        json.dumps({"content": [{"type": "text", "text": SAID, "annotations": {"priority": 1}}]}),
        json.dumps({"content": [{"type": "text", "text": SAID}, {"type": "text", "text": "!"}]}),
        json.dumps({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
        json.dumps({"content": SAID}),
        printed(SAID).replace("annotations=None", "annotations=Annotations(priority=1.0)"),
        printed(SAID)[:-20],
        in_json(SAID)[:-20],
        in_json(""),
        "[]",
        "{",
    ],
)
def test_a_wrapper_that_says_more_stays(text: str) -> None:
    assert decoded(text).wrapper == ""


@pytest.mark.parametrize("wrap", [in_json, printed])
def test_structured_content_that_says_the_same_is_not_shown_twice(wrap: Wrap) -> None:
    said = {"error": "No presentation is loaded"}
    inner = in_json(json.dumps(said), structuredContent={"result": said})
    shown = unquoted_text(decoded(wrap(inner)))
    assert shown == "{error: No presentation is loaded} \u2026 MCP wrapper \u2026"


@pytest.mark.parametrize(
    "elements", [[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], ["two words", "5"], [{"id": 1}]]
)
def test_a_list_of_which_each_text_says_an_element_is_shown_once(elements: list[object]) -> None:
    texts = [one if isinstance(one, str) else json.dumps(one, indent=2) for one in elements]
    wrapped = listed(texts, elements)
    assert decoded(wrapped).text == json.dumps(elements)
    assert decoded(wrapped).wrapper == "\u2026 MCP wrapper \u2026"


@pytest.mark.parametrize("texts", [['{"id": 1}', '{"id": 3}'], ['{"id": 1}'], []])
def test_a_list_of_which_the_texts_say_something_else_stays(texts: list[str]) -> None:
    wrapped = listed(texts, [{"id": 1}, {"id": 2}])
    assert decoded(wrapped).wrapper == ""


@pytest.mark.parametrize("value", [5, [], "x", {}, {"result": 5}, {"result": {}}, {"a": 1, "b": 2}])
def test_structured_content_of_any_kind_that_says_more_stays(value: object) -> None:
    blocks = [{"type": "text", "text": "four"}]
    wrapped = json.dumps({"content": blocks, "structuredContent": value})
    assert decoded(wrapped).wrapper == ""


@pytest.mark.parametrize("text", [5, None, {"a": 1}, ["a"], True])
@pytest.mark.parametrize("structured", [lambda text: text, lambda text: [text]])
def test_a_text_that_is_none_breaks_nothing(
    text: object, structured: Callable[[object], object]
) -> None:
    blocks = [{"type": "text", "text": text}]
    result = {"content": blocks, "structuredContent": {"result": structured(text)}}
    assert decoded(json.dumps(result)).wrapper == ""


def listed(texts: list[str], elements: list[object]) -> str:
    blocks = [{"type": "text", "text": text} for text in texts]
    return json.dumps({"content": blocks, "structuredContent": {"result": elements}})


def test_parts_of_a_wrapped_list_are_those_of_the_list() -> None:
    rows = [{"id": n, "title": f"Harbour {n}", "text": "w " * 150} for n in range(9)]
    wrapped = printed(in_json(json.dumps(rows)))
    outline = outline_of(wrapped)
    assert outline is not None
    text = readable(wrapped, outline)
    assert text == json.dumps(rows)
    shown = assembled_text(text, outline, [leaf_count(outline.root) - 1])
    assert shown.startswith("[\u2026 8 of 9 records \u2026, {id: 8")
    assert shown.endswith("}] \u2026 MCP wrapper \u2026")


@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_shown_as_if_it_were_not_wrapped(text: str) -> None:
    shown = unquoted_text(decoded(in_json(text)))
    if "\\" not in json.dumps(text, ensure_ascii=False) and not text.startswith(("{", "[")):
        assert shown == f"{text.rstrip()} \u2026 MCP wrapper \u2026"
    assert shown.endswith("\u2026 MCP wrapper \u2026")


def test_what_an_encoder_escapes_for_html_is_read() -> None:
    written = in_json("HERE").replace("HERE", "\\u003ca\\u003e \\u0026 b")
    assert unquoted_text(decoded(written)).startswith("<a> & b")


def test_escapes_that_could_hide_stay_as_they_are_written() -> None:
    written = in_json("before HERE").replace("HERE", "\\u202eafter\\u001b[2J")
    assert unquoted_text(decoded(written)).startswith("before \\u202eafter\\u001b[2J")


LOG = "\n".join(f"2025-06-01T10:00:{n:02}Z INFO request {n} took {n * 7} ms" for n in range(60))


@pytest.mark.parametrize("name", ["result", "output", "stdout", "page"])
def test_a_long_text_in_a_field_is_shown_as_the_text(name: str) -> None:
    wrapped = json.dumps({name: LOG})
    assert decoded(wrapped).wrapper == f"\u2026 in the field {name} \u2026"
    outline, alone = outline_of(wrapped, "text/x-log"), outline_of(LOG, "text/x-log")
    assert outline is not None
    assert alone is not None
    assert outline.root == alone.root
    assert readable(wrapped, outline) == LOG


def test_short_fields_beside_a_long_text_are_told_as_they_are_written() -> None:
    said = {"exit_code": 1, "took": 1.10, "stderr": "a \u202e b", "files": [], "stdout": LOG}
    mark = decoded(json.dumps(said).replace("1.1", "1.10")).wrapper
    assert mark == (
        "\u2026 in the field stdout, with exit_code: 1, took: 1.10, "
        'stderr: "a \\u202e b", files: [] \u2026'
    )
    both = in_json(json.dumps({"result": json.dumps(said)}), isError=True)
    mark = decoded(both).wrapper
    assert mark.startswith("\u2026 MCP wrapper, in the field result, in the field stdout, with e")
    assert mark.endswith("files: [], isError: true \u2026")
    assert decoded(both).text == LOG


@pytest.mark.parametrize(
    "said",
    [
        {"result": LOG[:600]},
        {"result": LOG, "other": LOG},
        {"result": LOG, "record": {"id": 5}},
        {"result": LOG, "note": "n" * 100},
        {"result": LOG, "note": "\u2026 12 lines \u2026"},
        {"result": LOG, "a b": 1},
        {"what it said": LOG},
        {"result": LOG, **{f"field_{n}": n for n in range(7)}},
        {"result": json.dumps([{"id": n, "name": f"harbour {n}"} for n in range(90)])},
        {"data": "aGVsbG8gd29ybGQ" * 100},
    ],
)
def test_an_object_that_says_more_than_a_text_stays(said: dict[str, object]) -> None:
    assert decoded(json.dumps(said, ensure_ascii=False)).wrapper == ""
