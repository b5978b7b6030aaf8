"""What the newest edits wrote and no result states."""

from __future__ import annotations

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MAX_EDITS
from weft.compiler.ranking.written_parts import written_parts
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

Call = tuple[dict[str, object], str]
OLD = "\n".join(f"    old_{n} = store.take({n})" for n in range(3))
VIEW = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(OLD.splitlines(), 1))


def body(name: str) -> str:
    return "\n".join(f"    {name}_{n} = store.give({n} + rest)" for n in range(12))


def edited(name: str, path: str = "src/take.py", done: str = "Edited.") -> Call:
    return {"path": path, "old": OLD, "new": body(name)}, done


def session(*calls: Call) -> list[ContextItem]:
    items = [ContextItem("u", ItemKind.USER_TURN, "Make it pass.")]
    for number, (arguments, result) in enumerate(calls):
        named = {"tool_name": "run", "arguments": arguments}
        outcome = {"is_error": True} if "FAILED" in result else {}
        items += [
            ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=named),
            ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}", metadata=outcome),
        ]
    return items


def written(*calls: Call) -> dict[str, str]:
    """By id of a call, the text of the parts that it wrote, the most needed first."""
    view = ListView(session(*calls))
    groups = dependency_closure(view, view.recent(100), Ledger())
    rows = {row.sequence: row for group in groups for row in group.rows}
    found = {}
    for at, parts in written_parts(groups).items():
        row = rows[at]
        leaves = row.parts.leaves if row.parts is not None else ()
        texts = [row.readable[leaf.start : leaf.end] for leaf in leaves]
        found[row.id] = "".join(texts[number] for number in parts) if texts else row.readable
    return found


READ: Call = ({"path": "src/take.py"}, VIEW)
RAN: Call = ({"command": "make test"}, "12 passed")


def test_it_is_the_new_text_and_not_the_one_that_was_read() -> None:
    assert written(READ, edited("new"), RAN) == {"c1": body("new")}


def test_a_text_that_a_result_shows_is_read_there() -> None:
    assert written(READ, edited("new", done=f"Edited:\n{body('new')}\n")) == {}


@pytest.mark.parametrize(
    "call",
    [
        ({"text": body("new")}, "Sent."),
        ({"path": "src/take.py", "new": body("new")}, "FAILED: no such text"),
    ],
    ids=["no-path", "refused"],
)
def test_no_edit(call: Call) -> None:
    assert written(READ, call, RAN) == {}


def test_few_edits_count_and_the_newest_first() -> None:
    names = ["one", "two", "three"]
    found = written(READ, *(edited(name, f"src/{name}.py") for name in names))
    assert list(found) == ["c3", "c2"]
    assert len(found) == MAX_EDITS


def test_edits_of_the_file_that_a_failure_names_come_first() -> None:
    edits = [edited("one", "src/one.py"), edited("two", "src/two.py")]
    failed = ({"command": "make test"}, "src/one.py:4: FAILED")
    assert list(written(READ, *edits)) == ["c2", "c1"]
    assert list(written(READ, *edits, failed)) == ["c1", "c2"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": f"cat > src/new.py <<'END'\n{body('new')}\n{body('more')}\nEND"},
        {"patch": f"*** Begin Patch\n*** Add File: src/new.py\n+{body('new')}\n{body('more')}"},
    ],
    ids=["heredoc", "patch"],
)
def test_a_command_or_a_patch_names_its_file_in_its_first_lines(
    arguments: dict[str, object],
) -> None:
    told = written(READ, (arguments, "Done."))["c1"].replace("\\n", "\n")
    assert body("new") in told


def test_a_text_that_only_mentions_a_path_is_none() -> None:
    assert (
        written(({"page": "4711", "text": f"See docs/start for more.\n{body('new')}"}, "ok")) == {}
    )


@pytest.mark.parametrize("budget", [550, 600])
def test_it_comes_before_older_views(budget: int) -> None:
    noise = "\n".join(f"{n:4d}\tconst_{n}: ID-{n * 7_919} = {n * 104_729}" for n in range(40))
    read = ({"path": "a.py"}, noise), edited("new"), ({"path": "b.py"}, noise)
    pack = compile_pack(
        ListView(session(READ, *read, RAN)), CompileRequest(Phase.CALL, budget=budget)
    )
    assert all(line in pack.pack.prompt for line in body("new").splitlines())
