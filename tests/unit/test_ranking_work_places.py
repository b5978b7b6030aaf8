"""At which lines of the files that it views an agent works."""

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MAX_POINTED_LINES, WORKING
from weft.compiler.ranking.work_places import work_places
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

Call = tuple[dict[str, object], str]
CODE = [
    line
    for n in range(60)
    for line in (f"def step_{n}(store):", f"    taken = store.take({n})", "    return taken", "")
]
PLAIN = "\n".join(CODE)
VIEW = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(CODE, 1))
WINDOW = f"[File: src/take.py (240 lines)]\n{VIEW}\n(Open file: src/take.py)"


def session(*calls: Call, task: str = "Make it pass.") -> ListView:
    items = [ContextItem("u", ItemKind.USER_TURN, task)]
    for number, (arguments, result) in enumerate(calls):
        named = {"tool_name": "run", "arguments": arguments}
        items.append(ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named))
        items.append(ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}"))
    return ListView(items)


def worked_on(*calls: Call, task: str = "Make it pass.") -> dict[str, list[tuple[str, int]]]:
    """By id of a result, the lines at which the agent works, and how many newer places it has."""
    view = session(*calls, task=task)
    groups = dependency_closure(view, view.recent(100), Ledger())
    rows = {row.sequence: row for group in groups for row in group.rows}

    def line(sequence: int, at: int) -> str:
        text = rows[sequence].readable
        return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0].split("\t")[-1].strip()

    return {
        rows[sequence].id: sorted((line(sequence, at), newer) for at, newer in places.items())
        for sequence, places in work_places(groups).items()
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "src/take.py 122"},
        {"path": "src/take.py", "line": 122},
        {"command": "edit 122:122\n    taken = 0\nend_of_edit"},
        {"lines": "122:122", "text": "    taken = 0"},
        {"command": "goto 122"},
    ],
)
def test_a_call_names_a_line_of_its_result(arguments: dict[str, object]) -> None:
    assert worked_on((arguments, WINDOW)) == {"r0": [("taken = store.take(30)", 0)]}


def test_the_first_and_the_last_line_of_a_view_only_say_how_far_it_goes() -> None:
    assert worked_on(({"path": "src/take.py", "range": [1, 240]}, VIEW)) == {}


def test_numbers_of_a_log_or_an_option_name_no_line() -> None:
    log = "\n".join(f"{12 + n // 60}:{n % 60:02d}:00 step {n} has been taken" for n in range(90))
    assert worked_on(({"command": "tail -n 12 steps.log"}, log)) == {}
    assert worked_on(({"command": "tail -122 src/take.py"}, VIEW)) == {}


def test_what_an_edit_has_written_is_looked_for_in_what_is_read_later() -> None:
    edit = {"path": "src/take.py", "old": CODE[121], "new": "    taken = store.give(30)"}
    read = {"path": "src/take.py"}
    changed = VIEW.replace("taken = store.take(30)", "taken = store.give(30)")
    assert worked_on((edit, "Edited."), (read, changed)) == {"r1": [("taken = store.give(30)", 0)]}


def test_of_several_edits_the_newest_comes_first() -> None:
    edits = [{"path": "src/take.py", "new": f"    taken = store.give({n})"} for n in (30, 40)]
    changed = VIEW
    for n in (30, 40):
        changed = changed.replace(f"taken = store.take({n})", f"taken = store.give({n})")
    calls = [*((edit, "Edited.") for edit in edits), ({"path": "src/take.py"}, changed)]
    assert worked_on(*calls) == {
        "r2": [("taken = store.give(30)", 1), ("taken = store.give(40)", 0)]
    }


def test_a_file_that_is_read_without_numbers_holds_all_lines_of_an_edit() -> None:
    written = "def step_30(store):\n    taken = store.take(30)"
    edit, shown = ({"path": "src/take.py", "new": written}, "Edited."), {"command": "cat take.py"}
    places = {"r1": [("def step_30(store):", 0), ("taken = store.take(30)", 0)]}
    assert worked_on(edit, (shown, PLAIN)) == places
    report = f">   taken = store.take(30)\nE   NameError: store\n{'.' * 200}"
    assert worked_on(edit, ({"command": "pytest -q"}, report)) == {}


def test_the_words_of_a_search_are_not_written() -> None:
    found = f"results for: steps that were taken\n{PLAIN}"
    assert worked_on(({"query": "steps that were taken"}, found)) == {}


def test_a_refused_edit_is_found_also_beside_the_original() -> None:
    edit = {"path": "src/take.py", "new": CODE[121]}
    shown = ({"path": "src/take.py"}, f"{VIEW}\nThe original was:\n   122\t{CODE[121]}")
    assert worked_on((edit, "Refused."), shown) == {"r1": [("taken = store.take(30)", 0)] * 2}
    often = ({"path": "src/take.py"}, VIEW + f"\n   122\t{CODE[121]}" * 2)
    assert worked_on((edit, "Refused."), often) == {}


def test_who_writes_a_whole_file_works_at_no_place_in_it() -> None:
    assert worked_on(({"path": "src/take.py", "text": PLAIN}, VIEW)) == {}


def test_what_a_search_has_found_is_looked_for_in_what_is_read_later() -> None:
    search = ({"pattern": "take\\(30"}, "src/take.py:122:    taken = store.take(30)")
    read = ({"path": "src/take.py"}, VIEW)
    assert worked_on(search, read) == {"r1": [("taken = store.take(30)", 0)]}
    assert worked_on(read, search) == {}
    assert worked_on(search, ({"path": "src/other.py"}, VIEW)) == {}


def test_a_search_that_lists_a_file_points_nowhere() -> None:
    hits = [f"src/take.py:{n}: taken" for n in range(2, 3 + MAX_POINTED_LINES)]
    assert worked_on(({"pattern": "taken"}, "\n".join(hits)), ({"path": "src/take.py"}, VIEW)) == {}


def test_a_user_names_a_place() -> None:
    for place in ("src/take.py:122", "https://example.com/dev/src/take.py#L122"):
        found = worked_on(({"path": "src/take.py"}, VIEW), task=f"It rounds wrongly, see {place}")
        assert found == {"r0": [("taken = store.take(30)", 0)]}


def test_work_of_long_ago_does_not_count() -> None:
    calls = [({"command": "ls"}, "take.py")] * WORKING
    assert worked_on(({"path": "src/take.py 122"}, WINDOW), *calls) == {}


TASK = "Parcel17Route should raise NoRoute for DEP-1717, as Parcel40Route does for DEP-4040."


def module(line: str) -> list[str]:
    """A file of functions, many of which say more than the one with `line`, its 182nd."""
    plain = "    return the next of them"
    return [
        text
        for n in range(60)
        for text in (
            f"def Parcel{n}Route(parcel_{n}, depot='DEP-{n}{n}'):",
            line if n == 30 else plain if n % 3 == 0 else f"    route_{n} = Map.load('RT-{n}A')",
            "    if not route:",
            "        return" if n % 3 == 0 else f"        raise NoRoute('E{n}01: none, DEP-{n}')",
            "    return None" if n % 3 == 0 else f"    return route_{n}.leg(cutoff_{n}='RX{n}')",
            "",
        )
    ]


def numbered(lines: list[str]) -> str:
    return "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(lines, 1))


def test_the_line_at_which_a_file_was_opened_is_shown_with_its_neighbours() -> None:
    lines = module("    return the first of them")
    view = session(({"path": "src/take.py 182"}, numbered(lines)), task=TASK)
    pack = compile_pack(view, CompileRequest(Phase.CALL, budget=500)).pack
    assert "\n".join(numbered(lines).splitlines()[174:192]) in pack.prompt


def test_the_line_that_was_edited_is_shown_when_the_file_is_read_again() -> None:
    edit = {"path": "src/take.py", "new": "    return the last of them"}
    lines = module("    return the last of them")
    view = session((edit, "Edited."), ({"path": "src/take.py"}, numbered(lines)), task=TASK)
    pack = compile_pack(view, CompileRequest(Phase.CALL, budget=500)).pack
    assert "   182\t    return the last of them" in pack.prompt
    assert "   181\tdef Parcel30Route" in pack.prompt
