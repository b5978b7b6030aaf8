"""Which lines of viewed files the newest failures point at."""

import time
from collections.abc import Mapping, Sequence

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import LINES_ABOVE, MAX_POINTED_LINES, POINTING
from weft.compiler.ranking.places import lines_above, pointed_lines, quoted_lines
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

LINES = [f"    step_{n % 7} = store.take(slot={n % 5}, of=121)  # unknown" for n in range(1, 181)]
VIEW = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(LINES, 1))


def call_and_result(number: int, arguments: dict[str, object], result: str) -> list[ContextItem]:
    named = {"tool_name": "bash", "arguments": arguments}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}"),
    ]


def groups_of(*calls: tuple[str, str]) -> Sequence[Group]:
    """These calls, each with its result."""
    items = [
        item
        for number, (command, result) in enumerate(calls)
        for item in call_and_result(number, {"command": command}, result)
    ]
    view = ListView(items)
    return dependency_closure(view, view.recent(len(items)), Ledger())


def by_id(groups: Sequence[Group], found: Mapping[int, frozenset[int]]) -> dict[str, list[int]]:
    ids = {row.sequence: row.id for group in groups for row in group.rows}
    return {ids[at]: sorted(lines) for at, lines in found.items()}


def pointed(*calls: tuple[str, str]) -> dict[str, list[int]]:
    """By id of a result, the lines of it that are pointed at after these calls."""
    groups = groups_of(*calls)
    return by_id(groups, pointed_lines(groups))


def above(*calls: tuple[str, str]) -> dict[str, list[int]]:
    """By id of a result, the lines of it above those at which the newest of these calls failed."""
    groups = groups_of(*calls)
    return by_id(groups, lines_above(groups, pointed_lines(groups)))


CODE = "".join(
    f"pub fn step_{n}() {{\n    let taken = store.take(of, {n});\n}}\n" for n in range(90)
)


def quoted(*calls: tuple[str, str]) -> dict[str, list[str]]:
    """By id of a result, the lines of it that are quoted after these calls."""
    items = [
        item
        for number, (command, result) in enumerate(calls)
        for item in call_and_result(number, {"command": command}, result)
    ]
    view = ListView(items)
    groups = dependency_closure(view, view.recent(len(items)), Ledger())
    rows = {row.sequence: row for group in groups for row in group.rows}
    return {
        rows[at].id: [rows[at].readable[begin:].splitlines()[0] for begin in sorted(places)]
        for at, places in quoted_lines(groups).items()
    }


@pytest.mark.parametrize(
    "quote",
    [
        "180 |     let taken = store.take(of, 60);",
        "    let taken = store.take(of, 60);",
        "> let taken = store.take(of, 60);",
    ],
)
def test_an_error_quotes_a_line_of_a_file_that_is_viewed_without_numbers(quote: str) -> None:
    error = f"error[E0308]: mismatched types\n  --> src/store/take.rs:180:5\n{quote}"
    assert quoted(("cargo check", error), ("cat src/store/take.rs", CODE)) == {
        "r1": ["    let taken = store.take(of, 60);"]
    }


@pytest.mark.parametrize(
    ("command", "quote"),
    [
        ("cat src/store/give.rs", "180 |     let taken = store.take(of, 60);"),  # another file
        ("cat src/store/take.rs", "180 |     let given = store.give(of, 60);"),  # not in it
        ("cat src/store/take.rs", "180 | }"),  # may stand anywhere
    ],
)
def test_other_lines_are_not_quoted(command: str, quote: str) -> None:
    error = f"error[E0308]: mismatched types\n  --> src/store/take.rs:180:5\n{quote}"
    assert quoted(("cargo check", error), (command, CODE)) == {}


def test_the_quoted_line_of_a_long_file_is_shown() -> None:
    error = (
        "error[E0308]: mismatched types\n  --> src/store/take.rs:180:5\n"
        "180 |     let taken = store.take(of, 60);"
    )
    question = ContextItem("u0", ItemKind.USER_TURN, "Please make it compile.")
    items = [
        question,
        *call_and_result(1, {"command": "cargo check"}, error),
        *call_and_result(2, {"command": "cat src/store/take.rs"}, CODE),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=500)).pack
    result = pack.prompt.rpartition("take.rs")[2]
    assert "pub fn step_60() {\n    let taken = store.take(of, 60);\n}" in result


@pytest.mark.parametrize(
    "error",
    [
        "src/store/take.py:121:3: unknown field",
        'Traceback (most recent call last):\n  File "/srv/app/src/store/take.py", line 121, in a',
        "error: it is wrong\n   --> store/take.py:121:5",
        "Error: take.py(121,3): no such slot",
        "Fatal error: Uncaught Error in /srv/app/src/store/take.py on line 121",
        "panic: gone\n\t/srv/app/src/store/take.py:121 +0x1d",
        "Exception: gone\n   at A.B() in C:\\app\\src\\store\\take.py:line 121",
    ],
)
def test_an_error_points_at_a_line_of_a_viewed_file(error: str) -> None:
    assert pointed(("cat -n src/store/take.py", VIEW), ("make", error)) == {"r0": [121]}


def test_the_number_of_a_line_may_stand_apart_from_the_bar_behind_it() -> None:
    view = "\n".join(f"{n:4d} | {line}" for n, line in enumerate(LINES, 1))
    assert pointed(("view take.py", view), ("make", "error: take.py:121: no")) == {"r0": [121]}


def test_a_view_may_say_in_its_head_what_it_is_of() -> None:
    view = f"[File: /srv/app/src/store/take.py (180 lines)]\n{VIEW}"
    assert pointed(("view", view), ("make", "error: take.py:7: no")) == {"r0": [7]}


def test_of_several_views_the_newest_that_has_the_line_is_meant() -> None:
    old, short = ("cat -n take.py", VIEW), ("head take.py", VIEW[: VIEW.index("    60\t")])
    error = ("make", "error: take.py:50: no\nerror: take.py:90: no")
    assert pointed(old, short, error) == {"r0": [90], "r1": [50]}


@pytest.mark.parametrize(
    "error",
    [
        "error: src/other/take.py:121: of another file",
        "error: src/store/retake.py:121: of another file",
        "error: take.py:999: beyond its end",
        "error: at 12:50 in take",
        "src/store/take.py:121: what a search has found",
    ],
)
def test_other_places_point_nowhere(error: str) -> None:
    assert pointed(("cat -n src/store/take.py", VIEW), ("make", error)) == {}


def test_an_error_of_long_ago_and_one_that_lists_a_file_point_nowhere() -> None:
    view, error = ("cat -n take.py", VIEW), ("make", "error: take.py:121: no")
    assert pointed(view, error, *[("ls", "take.py")] * POINTING) == {}
    many = "\n".join(f"error: take.py:{n}: no" for n in range(1, MAX_POINTED_LINES + 2))
    assert pointed(view, ("make", many)) == {}


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_the_line_that_an_error_names_is_shown(phase: Phase) -> None:
    task = ContextItem("u", ItemKind.USER_TURN, "Make the build pass.")
    viewed = call_and_result(0, {"command": "cat -n src/take.py"}, VIEW)
    error = call_and_result(1, {"command": "make"}, "src/take.py:121:3: error: unknown slot")
    request = CompileRequest(phase, budget=700)
    made = compile_pack(ListView([task, *viewed, *error]), request)
    assert "   121\t" in made.pack.prompt


def test_calls_that_list_many_files_and_results_with_many_places_take_little_time() -> None:
    files = " ".join(f"a{number}/b" for number in range(700))
    items = [item for at in range(64) for item in call_and_result(at, {"command": files}, VIEW)]
    for at in range(64, 64 + POINTING):
        places = "\n".join(f"q{at}{line}/b:{line}:3: no" for line in range(1, 65))
        items += call_and_result(at, {"command": "make"}, f"Error: failed\n{places}")
    view = ListView(items)
    groups = dependency_closure(view, view.recent(len(items)), Ledger())
    began = time.process_time()
    assert pointed_lines(groups) == {}
    assert time.process_time() - began < 1.5


def test_an_error_points_at_several_lines() -> None:
    error = "error: the old text matches 2 times in src/store/take.py (lines 64, 121). Not changed."
    assert pointed(("cat -n src/store/take.py", VIEW), ("edit", error)) == {"r0": [64, 121]}


def test_lines_of_no_file_are_not_pointed_at() -> None:
    error = "error: it has 2 lines 64, 121 and more in lines 3-9"
    assert pointed(("cat -n src/store/take.py", VIEW), ("edit", error)) == {}


def test_the_lines_above_the_place_of_the_newest_failure_belong_to_it() -> None:
    view, error = ("cat -n take.py", VIEW), ("make", "error: take.py:50: no")
    assert above(view, error) == {"r0": [*range(50 - LINES_ABOVE, 50)]}
    assert above(view, error, ("ls", "take.py")) == {}


@pytest.mark.parametrize("budget", [400, 500, 700, 900])
def test_the_place_is_shown_with_what_stands_above_it(budget: int) -> None:
    items = [
        ContextItem("u0", ItemKind.USER_TURN, "Make the build pass."),
        *call_and_result(0, {"command": "cat -n src/take.py"}, VIEW),
        *call_and_result(1, {"command": "make"}, "src/take.py:121:3: error: unknown slot"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "\n".join(VIEW.splitlines()[115:121]) in pack.prompt


def test_a_listing_of_several_files_shows_the_line_though_the_last_has_none_behind_it() -> None:
    found = "\n".join(f"src/{name}.py\n{VIEW}" for name in ("take", "give", "keep"))
    items = [
        ContextItem("u0", ItemKind.USER_TURN, "Make the build pass."),
        *call_and_result(0, {"command": "grep -n . src/take.py src/give.py"}, found),
        *call_and_result(1, {"command": "make"}, "src/take.py:3:3: error: unknown slot"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=700)).pack
    assert pack.stats.prompt_tokens <= 700
    assert VIEW.splitlines()[2] in pack.prompt
