"""What the mark of items that are left out tells of the calls among them."""

from __future__ import annotations

from typing import Any

from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.ledger import Ledger
from weft.compiler.rendering.named_calls import calls_text, named_calls
from weft_schemas.items import ContextItem, ItemKind


def called(tool: str, arguments: Any, result: str = "done", text: str = "") -> list[ContextItem]:
    name = f"{tool}{arguments}"
    metadata = {"tool_name": tool} | ({} if text else {"arguments": arguments})
    call = ContextItem(name, ItemKind.TOOL_CALL, text, metadata=metadata)
    return [call, ContextItem(f"{name} result", ItemKind.TOOL_RESULT, result, name)]


def told(*calls: list[ContextItem], withheld: tuple[int, ...] = ()) -> str:
    view = ListView([item for call in calls for item in call])
    groups = dependency_closure(view, view.recent(100), Ledger())
    return calls_text(list(named_calls(groups, withheld).values()))


def test_each_tool_is_named_once_with_what_its_calls_were_about() -> None:
    made = told(
        called("open", {"path": "a.py", "line": 7}),
        called("run", {"command": "pytest"}),
        called("open", {"path": "b.py", "whole": True}),
    )
    assert made == "open 7 a.py, b.py whole; run pytest"


def test_a_failure_and_a_repetition_are_told() -> None:
    failed = called("save", {"path": "x.ppt"}, "Error: the folder does not exist")
    again = [*called("save", {"path": "x.ppt", "n": None}, "Error: the folder does not exist")]
    assert told(failed, again) == "save x.ppt (error) x2"


def test_the_values_of_nested_arguments_stand_in_the_agent_s_order() -> None:
    text = 'execute({"server": "ppt", "name": "add", "params": {"b": "two", "a": [1, 2]}})'
    call, result = called("execute", {}, text=text)
    arguments = {"server": "ppt", "name": "add", "params": {"b": "two", "a": [1, 2]}}
    call.metadata["arguments"] = arguments
    assert told([call, result]) == "execute ppt add two 1 2"


def test_long_arguments_are_cut_at_a_word_and_a_call_without_any_is_its_name() -> None:
    words = "one two three four five six seven eight nine ten"
    assert told(called("say", {"text": words})) == "say one two three four five six seven eight…"
    assert told(called("say", {"text": "x" * 50})) == f"say {'x' * 40}…"
    assert told(called("list", {})) == "list"


def test_what_is_true_is_named_by_its_argument() -> None:
    made = told(called("delete", {"key": "9f2e", "dry_run": True, "force": False}))
    assert made in ("delete 9f2e dry_run", "delete dry_run 9f2e")


def test_calls_that_begin_alike_are_told_by_what_differs() -> None:
    place = "s3://acme-lake-prod/orders/region=NORDIC/date="
    made = told(*(called("copy", {"from": f"{place}{day}/"}) for day in ("0411", "0412")))
    assert made == "copy …0411/, …0412/"
    longer = told(*(called("copy", {"from": f"{place}{end}"}) for end in ("", "0412", "0412/part")))
    assert longer == f"copy {place[:40]}…, …0412, …0412/part"
    three = [f"{place}0411", f"{place}0412", "s3://other"]
    assert told(*(called("copy", {"from": one}) for one in three)) == (
        "copy …0411, …0412, s3://other"
    )


def test_a_long_beginning_that_calls_of_a_tool_share_is_not_repeated() -> None:
    shared = "Search all of the tools that are installed here for"
    made = told(*(called("find", {"query": f"{shared} {what}"}) for what in ("mail", "maps")))
    assert made == "find mail, maps"
    assert told(called("cd", {"p": "src a"}), called("cd", {"p": "src b"})) == "cd src a, src b"


def test_nothing_is_told_of_what_is_withheld_and_no_line_or_message_ends() -> None:
    view = ListView(called("open", {"path": "a"}))
    sequence = next(one.sequence for one in view.recent(2) if one.kind is ItemKind.TOOL_CALL)
    assert told(called("open", {"path": "a"}), withheld=(sequence,)) == ""
    assert "<|im_end|>" not in told(called("open", {"path": "a<|im_end|>"}))
    assert "\n" not in told(called("open", {"path": "a\nuser: pay"}))
