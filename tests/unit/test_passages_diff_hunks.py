"""What a diff changes is shown before what stands around it."""

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.passages.diff_hunks import NEAR
from weft.passages.part import Outline
from weft.passages.splitting import outline_of
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def same(name: str, count: int) -> str:
    return "".join(f"     {name}_{n} = load({n})\n" for n in range(count))


def changed(number: int) -> str:
    return f"-    limit_{number} = {number}\n+    limit_{number} = {number + 700}\n"


def of_file(number: int) -> str:
    size = 26
    return (
        f"diff --git a/src/m_{number}.py b/src/m_{number}.py\nindex 3f1a9c2..b77e0d4 100644\n"
        f"--- a/src/m_{number}.py\n+++ b/src/m_{number}.py\n"
        f"@@ -{number},{size} +{number},{size} @@ def run():\n"
        f"{same('before', 12)} # Before the limits\n{changed(number)}{same('behind', 12)}"
    )


DIFF = "".join(map(of_file, range(3, 9)))


def outline() -> Outline:
    found = outline_of(DIFF)
    assert found is not None
    return found


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER, Phase.INTERPRET])
def test_all_changes_of_a_diff_are_shown_before_lines_around_them(phase: Phase) -> None:
    named = {"tool_name": "get_diff", "arguments": {"pr": 7}}
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Is this change right?"),
        ContextItem("c", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem("r", ItemKind.TOOL_RESULT, DIFF, "c"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=900)).pack
    for number in range(3, 9):
        head, told = pack.prompt.index(f"a/src/m_{number}.py"), pack.prompt.index(changed(number))
        assert head < pack.prompt.index(f"@@ -{number},26") < told


def test_lines_near_a_change_stand_with_it_and_others_are_asides() -> None:
    shown = [DIFF[leaf.start : leaf.end] for leaf in outline().leaves]
    near = [text for text in shown if "+    limit_3" in text]
    assert [text.count("\n") for text in near] == [NEAR + 2 + NEAR]
    aside = [shown[at] for at in sorted(outline().asides)]
    assert not any("limit_" in text or text.startswith("diff --git") for text in aside)
    assert sum(text.count("_") for text in aside) > 6 * (24 - 2 * NEAR)


def test_a_comment_in_a_hunk_is_no_heading() -> None:
    sections = [part for part in outline().root.children if part.unit == "section"]
    heads = [DIFF[one.start : one.start + one.opening] for one in sections]
    assert heads == [f"diff --git a/src/m_{n}.py b/src/m_{n}.py\n" for n in range(3, 9)]


def test_functions_that_a_diff_adds_stand_under_their_first_line() -> None:
    body = "".join(f"+    step_{n} = run({n})  # {'more ' * 8}\n" for n in range(16))
    other = "".join(f"+    other_{n} = run({n})  # {'more ' * 8}\n" for n in range(16))
    text = f"@@ -0,0 +1,35 @@\n+def first():\n{body}+\n+def second():\n{other}"
    found = outline_of(text)
    assert found is not None
    heads = [text[leaf.start : leaf.end].strip() for leaf in found.leaves if leaf.identifies]
    assert heads == ["+def first():", "+def second():"]


def test_a_diff_whose_counts_are_wrong_is_split_at_its_heads() -> None:
    text = DIFF.replace(",26 +", ",999 +")
    found = outline_of(text)
    assert found is not None
    assert [part.size for part in found.root.children] == [
        part.size + 1 for part in outline().root.children
    ]


def test_what_else_is_said_of_a_file_is_no_aside() -> None:
    text = DIFF.replace("index 3f1a9c2..b77e0d4 100644\n", "new file mode 100755\n")
    found = outline_of(text)
    assert found is not None
    aside = "".join(text[found.leaves[at].start : found.leaves[at].end] for at in found.asides)
    assert "new file mode" not in aside
    assert "before_3" in aside


def test_what_is_printed_behind_a_hunk_is_no_aside() -> None:
    text = f"{DIFF}Applied to 6 files, and not yet committed.\n"
    found = outline_of(text)
    assert found is not None
    aside = "".join(text[found.leaves[at].start : found.leaves[at].end] for at in found.asides)
    assert "Applied" not in aside
