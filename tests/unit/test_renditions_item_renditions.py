"""What is shown of an item whenever it is shown."""

import json

import msgspec
import pytest
from tests.choosing import choice_of

from weft.compiler.renditions.error_parts import error_parts
from weft.compiler.renditions.item_renditions import required_parts
from weft.passages.splitting import outline_of
from weft_schemas.items import ContextItem, ItemKind


def test_a_call_never_stands_without_each_of_its_arguments() -> None:
    asked = {"tool_name": "write", "arguments": {"path": "a.py", "content": "a line\n" * 200}}
    (group,) = choice_of([ContextItem("c", ItemKind.TOOL_CALL, "", metadata=asked)], 100).groups
    needed = required_parts(group.rows[0])
    assert len(needed) == 2
    assert 0 in needed


def test_a_result_that_failed_never_stands_without_the_line_of_the_error() -> None:
    log = "\n".join([*(f"step {n} is done" for n in range(90)), "ERROR: disk full", "bye " * 40])
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    failed = ContextItem("r", ItemKind.TOOL_RESULT, log, "c", metadata={"is_error": True})
    choice = choice_of([call, failed], 100)
    item_renditions = next(one for one in choice.renditions.values() if one.row.id == "r")
    assert "ERROR: disk full" in item_renditions.choose(()).text
    assert "step 0" not in item_renditions.choose(()).text


@pytest.mark.parametrize("word", ["error", "rejected"])
def test_a_failure_in_json_never_stands_without_why(word: str) -> None:
    """A status and a trace were shown, and the sentence beside them was left out."""
    why = "the old text has curly quotes, and the file has straight ones"
    reply = {"trace": "4c07d21cbda634de" * 12, "status": word, "data": {"at": "x" * 300}}
    text = json.dumps({**reply, "errors": [{"n": 1, "message": why, "at": "9" * 200}]})
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    failed = ContextItem("r", ItemKind.TOOL_RESULT, text, "c", metadata={"is_error": True})
    choice = choice_of([call, failed], 100)
    item_renditions = next(one for one in choice.renditions.values() if one.row.id == "r")
    assert why in item_renditions.choose(()).text
    assert "x" * 300 not in item_renditions.choose(()).text


def test_why_a_call_failed_is_the_field_that_says_so() -> None:
    items = [{"sku": f"S{n}", "note": "large blue bottle of water"} for n in range(40)]
    reply = {"status": "error", "code": "E1", "items": items, "message": "The shop is closed now"}
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    failed = ContextItem(
        "r", ItemKind.TOOL_RESULT, json.dumps(reply), "c", metadata={"is_error": True}
    )
    choice = choice_of([call, failed], 100)
    item_renditions = next(one for one in choice.renditions.values() if one.row.id == "r")
    assert "The shop is closed now" in item_renditions.choose(()).text
    assert "large blue bottle" not in item_renditions.choose(()).text


FRAMES = "".join(f'  File "/opt/lib/frame_{n}.py", line {n}, in f\n    g()\n' for n in range(20))
RAISED = "ValueError: cannot insert kwh, already exists"
DENIED = "Error from server: the request was blocked due to these policies\n\n" + "".join(
    f"policy-{n}:\n  check: the memory limit must be at least {n} Gi\n" for n in range(5)
)
FAULT = (
    '<?xml version="1.0"?>\n<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">\n'
    f'  <s:Header>\n    <p:Trace id="{"16ca" * 90}"/>\n  </s:Header>\n'
    "  <s:Body>\n    <s:Fault>\n      <faultstring>ABS-1 est verrouillée</faultstring>\n"
    "    </s:Fault>\n  </s:Body>\n</s:Envelope>\n"
)
INVALID = json.dumps(
    {
        "message": "Validation Failed",
        "errors": [{"field": "milestone", "message": "milestone 61 is not writable"}] * 3,
        "url": "https://docs.example.com/" + "a" * 200,
    }
)
BUILD = "".join(f"Ld /Users/ci/{n}.o (in target {n * 7})\n" for n in range(99)) + (
    "a.swift:14:33: error: no member 'iso'\n" + "CopySwift a b c d\n" * 9 + "** BUILD FAILED **\n"
)


@pytest.mark.parametrize(
    ("text", "told", "left_out"),
    [
        (f"Traceback (most recent call last):\n{FRAMES}{RAISED}", RAISED, "frame_3"),
        (DENIED, "at least 4 Gi", ""),
        (FAULT, "verrouillée", "16ca"),
        (INVALID, "milestone 61 is not writable", "aaaa"),
        (BUILD, "** BUILD FAILED **", "Ld /Users"),
        (BUILD, "no member 'iso'", "CopySwift"),
    ],
)
def test_a_failure_is_shown_with_its_outcome_first(text: str, told: str, left_out: str) -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    failed = ContextItem("r", ItemKind.TOOL_RESULT, text, "c")
    choice = choice_of([call, failed], 100)
    item_renditions = next(one for one in choice.renditions.values() if one.row.id == "r")
    assert item_renditions.row.failed
    assert told in item_renditions.choose(()).text
    assert not left_out or left_out not in item_renditions.choose(()).text


def test_without_a_sign_of_an_error_the_first_part_that_says_something_is_shown() -> None:
    said = "".join(f"  <r{n} a='1'>{'Le document est pris. ' * 4}</r{n}>\n" for n in range(9))
    text = f'<?xml version="1.0"?>\n<r:Reply xmlns:r="http://example.org/r">\n{said}</r:Reply>\n'
    outline = outline_of(text)
    assert outline is not None
    (shown,) = error_parts(text, outline)
    leaf = outline.leaves[shown]
    assert text[leaf.start : leaf.end].lstrip().startswith("<r0 a='1'>")


def test_a_redacted_item_is_never_shown_as_a_stub() -> None:
    item = ContextItem("i", ItemKind.AGENT_MSG, "[REDACTED: restricted]")
    (item_renditions,) = choice_of([item], 1_000).renditions.values()
    redacted = msgspec.structs.replace(item_renditions, redacted=True)
    assert redacted.choose(()) == redacted.choose({0})
    assert redacted.choose(()).view == "redacted"
