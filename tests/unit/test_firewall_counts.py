"""What summaries and marks count is what they say: lines, sentences, files, tests."""

import pytest
from tests.firewall_made import envelope

from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.diff import summarise_diff
from weft.firewall.summarise.prose import summarise_prose
from weft.passages.part import leaves
from weft.passages.prose import split_prose
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=200, summary_tokens=300)
BUDGET = Budget(300, DEFAULT_ENCODING)
LONG = "and/a/long/path/of/something/that/takes/more/than/ninety/characters/in/each/of/these/lines"


@pytest.mark.parametrize("start", ["2024-05-01 10:00:00 INFO served", "src/a.py:12:", "./"])
def test_long_lines_of_a_program_are_lines(start: str) -> None:
    text = "".join(f"{start} {n} {LONG}/{n}.py\n" for n in range(90))
    found = list(leaves(split_prose(text)))
    assert {part.unit for part in found} == {"line"}
    assert sum(part.count for part in found) == 90


def test_the_summary_of_prose_counts_sentences() -> None:
    paragraphs = [
        f"The {'x' * (n + 3)} is old. Ann {n} built it in the {n}th year! Was it she?"
        for n in range(80)
    ]
    shown = summarise_prose("\n\n".join(paragraphs), BUDGET)
    assert "sentences …" in shown
    assert "lines …" not in shown


def test_the_summary_of_lines_counts_lines() -> None:
    text = "\n".join(f"name of number {n} {'y' * (n % 13)}" for n in range(300))
    assert "lines …" in summarise_prose(text, BUDGET)


def test_what_follows_after_many_lines_is_no_single_line() -> None:
    lines = [f"line {n} says {'z' * (n % 17)} once" if n % 10 else " \t" for n in range(2_000)]
    shown = summarise_prose("\n".join(lines), BUDGET).splitlines()
    assert all(line in lines or line.startswith("…") for line in shown)
    assert shown[-1].endswith("more characters …")


GIT = """\
diff --git a/old.py b/old.py
deleted file mode 100644
index 1..0
--- a/old.py
+++ /dev/null
@@ -1,3 +0,0 @@
-a
--- b
-c
diff --git a/x.py b/y.py
similarity index 100%
rename from x.py
rename to y.py
diff --git a/p.py b/q.py
similarity index 90%
rename from p.py
rename to q.py
--- a/p.py
+++ b/q.py
@@ -1,2 +1,2 @@
-old
+new

diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+x
+++ b/no_file
diff --git a/i.png b/i.png
index 1..2 100644
Binary files a/i.png and b/i.png differ
"""
PLAIN = """\
--- old/a.txt\t2024-05-01
+++ new/a.txt\t2024-05-01
@@ -1 +1 @@
-one
+two
--- /dev/null
+++ new/b.txt
@@ -0,0 +1 @@
+three
"""


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        (
            GIT,
            [
                "diff: 5 files, +3 -4",
                "old.py (deleted): 1 hunks, +0 -3",
                "y.py (renamed from x.py): 0 hunks, +0 -0",
                "q.py (renamed from p.py): 1 hunks, +1 -1",
                "new.py (new): 1 hunks, +2 -0",
                "i.png (binary): 0 hunks, +0 -0",
            ],
        ),
        (
            PLAIN,
            [
                "diff: 2 files, +2 -1",
                "new/a.txt: 1 hunks, +1 -1",
                "new/b.txt (new): 1 hunks, +1 -0",
            ],
        ),
    ],
)
def test_a_diff_counts_its_files_and_their_lines(text: str, heads: list[str]) -> None:
    shown = summarise_diff(text, Budget(2_000, DEFAULT_ENCODING)).splitlines()
    assert shown[: len(heads)] == heads
    assert shown[len(heads) :] == text.splitlines()


def test_a_diff_is_recognised() -> None:
    assert envelope(GIT * 20, RULES).content_type == "text/x-diff"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("diff --git a/docs/my file.md b/docs/my file.md", "docs/my file.md"),
        ("diff --git a/my file b/my file", "my file"),
        ("diff --git x.py x.py", "x.py"),
    ],
)
def test_a_name_with_a_space_is_whole(head: str, name: str) -> None:
    text = f"{head}\nindex 1..2\n@@ -1,1 +1,1 @@\n-a\n+b\n"
    summary = summarise_diff(text, BUDGET)
    assert f"\n{name}: 1 hunks, +1 -1\n" in summary


def test_a_hunk_of_more_digits_than_python_reads_is_text() -> None:
    assert summarise_diff(f"diff --git a/x b/x\n@@ -1,{'9' * 5_000} +1,1 @@\n", BUDGET)
