"""Text by its lines: sections, paragraphs, hunks of code, sentences of a long line."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.passages.bare_pieces import is_bare
from weft.passages.part import Part, leaf_count, leaves, outlined
from weft.passages.prose import split_prose
from weft.passages.sentences import MAX_LEAF_LENGTH, sentence_ends

CODE = "import os\n\n" + "\n".join(
    f"def function_{n}(x):\n    if x:\n        return {n}\n\n    return x * {n}\n"
    for n in range(40)
)
SECTIONS = (
    "Before.\n\n# One\n\n" + "A paragraph of words. " * 40 + "\n\n## Under\n\n" + "More. " * 99
)


def texts(text: str) -> list[str]:
    return [text[leaf.start : leaf.end] for leaf in leaves(split_prose(text))]


def openings(part: Part, text: str) -> list[str]:
    found = [text[part.start : part.start + part.opening].strip()] if part.opening else []
    return [*found, *(one for child in part.children for one in openings(child, text))]


def test_sections_open_with_their_headings() -> None:
    assert openings(split_prose(SECTIONS), SECTIONS) == ["# One", "## Under"]


def test_paragraphs_of_prose_are_counted_as_such() -> None:
    text = "\n\n".join(f"Paragraph {n} has quite some words in it. " * 6 for n in range(9))
    assert {leaf.unit for leaf in leaves(split_prose(text))} == {"paragraph"}
    assert sum(leaf.count for leaf in leaves(split_prose(text))) == 9


def test_code_is_cut_where_the_indentation_is_least() -> None:
    for text in texts(CODE):
        assert not text.startswith(" ")
    assert {leaf.unit for leaf in leaves(split_prose(CODE))} == {"line"}
    assert sum(leaf.count for leaf in leaves(split_prose(CODE))) == CODE.count("\n")


def test_a_line_stands_with_what_is_indented_below_it() -> None:
    text = "class A:\n" + "".join(f"    def f{n}(self):\n        return {n}\n" for n in range(40))
    first = next(iter(split_prose(text).children))
    assert first.unit == "block"
    assert first.children[0].identifies
    assert text[first.children[0].start : first.children[0].end] == "class A:\n"


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize("number", [False, True])
def test_items_of_a_list_stand_below_the_line_that_opens_it(indent: str, number: bool) -> None:
    items = "".join(
        f"{indent}- name: tool {n}\n{indent}  about: {'word ' * 30}\n" for n in range(9)
    )
    text = f"success: true\nmatched:\n{items}total: 9\n"
    if number:
        lines = enumerate(text.splitlines(), 1)
        text = "".join(f"{at:6d}\t{line}\n" for at, line in lines)
    block = next(one for one in split_prose(text).children if one.unit == "block")
    head, *below = block.children
    assert text[head.start : head.end].endswith("matched:\n")
    assert head.identifies
    assert text[below[0].start : below[-1].end].count("- name: tool") == 9
    assert "total: 9" not in text[block.start : block.end]


def test_numbered_lines_are_nested_by_their_own_indentation() -> None:
    numbered = "".join(f"{n:5d}\t{line}\n" for n, line in enumerate(CODE.splitlines(), 1))
    firsts = [text.splitlines()[0].partition("\t")[2] for text in texts(numbered)]
    assert len(firsts) > 1
    assert not [first for first in firsts if first.startswith(" ")]


def test_a_long_line_is_cut_at_its_sentences() -> None:
    found = texts("One sentence is here. " * 100)
    assert all(text.strip().endswith(".") for text in found)
    assert max(map(len, found)) <= MAX_LEAF_LENGTH


def test_a_sentence_may_begin_before_the_stretch_in_which_it_ends() -> None:
    assert sentence_ends("One.  Two. Three.", 4, 17) == [6, 11]
    assert sentence_ends("One.  Two. Three.", 5, 17) == [11]


def test_a_line_without_sentences_is_cut_at_blanks() -> None:
    found = texts("word " * 900)
    assert max(map(len, found)) <= 2 * MAX_LEAF_LENGTH
    assert all(text.split(" ")[0] == "word" for text in found)


def test_written_line_breaks_are_breaks_where_there_are_no_others() -> None:
    text = "".join(f"server {n}: is up\\n" for n in range(80))
    assert leaf_count(split_prose(text)) > 3
    assert all(one.startswith("server") for one in texts(text))


@settings(max_examples=75)
@given(
    st.lists(
        st.sampled_from(
            [
                "word",
                " ",
                "\n",
                "\n\n",
                "# Head\n",
                "    in(x)\n",
                "12: a\n",
                ". ",
                "\\n",
                "x" * 400,
            ]
        ),
        max_size=80,
    ).map("".join)
)
def test_leaves_and_openings_are_all_of_the_text(text: str) -> None:
    made = split_prose(text)
    spans = sorted(_spans(made))
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    if text and made.children:
        assert (spans[0][0], spans[-1][1]) == (0, len(text))


def _spans(part: Part) -> list[tuple[int, int]]:
    if not part.children:
        return [(part.start, part.end)]
    own = [(part.start, part.start + part.opening)] if part.opening else []
    return [*own, *(span for child in part.children for span in _spans(child))]


def test_no_leaf_of_lines_is_much_larger_than_it_may_be() -> None:
    text = "".join(f"{'x' * (n % 70)} value\n" for n in range(300))
    assert max(map(len, texts(text))) <= MAX_LEAF_LENGTH


def test_names_and_numbers_stand_with_any_line_of_a_record_written_in_lines() -> None:
    text = "".join(
        f"- server_name: office\n  tool_name: make_{n}\n  description: {'words ' * 40}\n"
        + "".join(f"  field_{m}: {'value ' * 5}\n" for m in range(9))
        for n in range(4)
    )
    heads = [text[part.start : part.end] for part in _all(split_prose(text)) if part.identifies]
    assert heads == [f"- server_name: office\n  tool_name: make_{n}\n" for n in range(4)]


def shown_with(text: str, wanted: str) -> str:
    """What stands above a leaf of this text in a prompt: headings and heads of its blocks."""

    def above(part: Part) -> list[str] | None:
        if not part.children:
            return [text[part.start : part.end]] if wanted in text[part.start : part.end] else None
        for child in part.children:
            if (found := above(child)) is not None:
                heads = [text[one.start : one.end] for one in part.children if one.identifies]
                return [text[part.start : part.start + part.opening], *heads, *found]
        return None

    return "".join(above(split_prose(text)) or [])


DIFF = "".join(
    f"diff --git a/m_{n}.py b/m_{n}.py\nindex 1..2 100644\n--- a/m_{n}.py\n+++ b/m_{n}.py\n"
    + "".join(f"@@ -{at},2 +{at},2 @@\n-    wait = {n} + {at}\n+    wait = 9\n" for at in (3, 60))
    for n in range(20)
)
GIT_LOG = "".join(
    f"commit {n:040x}\nAuthor: Ada <ada@x.org>\nDate:   Mon May 6 2024\n\n"
    f"    Change number {n}\n\n    It closes the ticket T-{n}. {'More words. ' * 20}\n\n"
    for n in range(20)
)
NMAP = "".join(
    f"Nmap scan report for host-{n}.example.net\nHost is up (0.1s latency).\n"
    + "".join(f"{port}/tcp open  service  Version {n}.{port}\n" for port in range(20, 32))
    + "\n"
    for n in range(20)
)
INI = "".join(f"[section-{n}]\nenabled = false\ntimeout = {n}7\n\n" for n in range(60))


@pytest.mark.parametrize(
    ("text", "wanted", "identity", "other"),
    [
        (DIFF, "wait = 12 + 60", "diff --git a/m_12.py", "m_13"),
        (GIT_LOG, "T-12.", f"commit {12:040x}", f"{13:040x}"),
        (NMAP, "Version 12.31", "host-12.example.net", "host-13"),
        (INI, "timeout = 127", "[section-12]", "section-13"),
    ],
)
def test_a_line_stands_under_the_first_line_of_its_record(
    text: str, wanted: str, identity: str, other: str
) -> None:
    shown = shown_with(text, wanted)
    assert identity in shown
    assert other not in shown


def _all(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from _all(child)


@pytest.mark.parametrize("escape", ["\\u0000", "\\\\u00e9", "\\x1b"])
def test_no_escape_is_divided(escape: str) -> None:
    text = "\u00e9t\u00e9" + escape * 2_000
    parts = list(leaves(split_prose(text)))
    assert len(parts) > 2
    for part in parts[1:]:
        assert text[part.start] == "\\" != text[part.start - 1]


TOOLS = "success: true\nmatched_tools:\n" + "".join(
    f"- server_name: server-{n}\n  tool_name: tool_{n}\n  tool_description: Does {'much ' * 40}\n"
    f"  inputschema:\n    path: (string) Where it is.\n"
    for n in range(6)
)
HITS = "Found 5 papers:\n\n" + "".join(
    f"{n}. About the {n}th kind of tides\n   Authors: A. Lovelace, C. Babbage\n   Abstract: "
    f"{'It rises and falls. ' * 10}\n\n"
    for n in range(1, 6)
)


@pytest.mark.parametrize(
    ("text", "things"),
    [
        (TOOLS, [f"- server_name: server-{n}\n  tool_name: tool_{n}\n" for n in range(6)]),
        (HITS, [f"{n}. About the {n}th kind of tides\n" for n in range(1, 6)]),
    ],
    ids=["YAML", "numbered"],
)
def test_the_first_lines_of_a_lists_records_say_which_things_it_lists(
    text: str, things: list[str]
) -> None:
    outline = outlined(split_prose(text))
    found = [outline.leaves[number] for number in sorted(outline.identities)]
    assert [text[part.start : part.end] for part in found] == things


@pytest.mark.parametrize(
    "text",
    [
        "- one\n- two\n- three: with a word\n" * 30,
        "1. Go.\n2. Stop.\n" * 40,
        "".join(f"{n}. **Go there**\n   - by {'bus ' * 30}\n   - or on foot\n\n" for n in range(9)),
        f"- name: the only one\n  text: {'words ' * 100}\n{'Other lines. ' * 9}\n",
        "\n".join(f"- fix{n}: {'It works. ' * 30}\n- b{n}: {'More. ' * 40}\n" for n in range(3)),
    ],
)
def test_short_items_steps_and_a_single_record_are_no_list_of_records(text: str) -> None:
    assert outlined(split_prose(text)).identities == frozenset()


def test_records_are_divided_to_a_depth_that_is_limited() -> None:
    fields = "".join(f"{{0}}  {name}: {'x' * 60}\n" for name in "cde")
    levels = "".join(f"{{0}}- a: b\n{fields}{{0}}- a: b\n".format(" " * n) for n in range(14))
    text = levels + "".join(f"{' ' * n}k\n" for n in range(14, 314)) + "x\n" * 1_000

    def depth(part: Part) -> int:
        return 1 + max(map(depth, part.children), default=0)

    assert depth(split_prose(text)) < 40


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("}\n", False),
        ("    59\t}\n    60\t\n    61\t});\n", False),
        ("  12:    ]\n", False),
        ("    59\t} else {\n", True),
        ("return x)\n", True),
        ("42\n", True),
        ("12.5, 13]\n", True),
        ("\n", True),
        ("  <results>\n", False),
        ("  <p:list>\n    <p:item>\n", False),
        ('  <item id="7">\n', True),
        ("  <item>\n    <name>Ann</name>\n", True),
        ("server {\n", False),
        ("  {\n", False),
        ("   12\tspec:\n", False),
        ("location /static {\n", True),
        ("def total(self):\n", True),
    ],
)
def test_lines_that_only_open_or_close_others_are_told(text: str, says: bool) -> None:
    assert is_bare(text) is not says


def test_a_long_block_of_short_lines_is_cut_in_linear_time() -> None:
    def seconds(lines: int) -> float:
        began = time.process_time()
        split_prose("\n" * lines)
        return time.process_time() - began

    seconds(1_000)
    assert seconds(400_000) < 14 * seconds(50_000)


@pytest.mark.parametrize("sign", ["\t", "|", ": ", " | ", "  | ", "\u2192"])
def test_code_behind_numbers_is_split_by_its_own_indentation(sign: str) -> None:
    functions = [
        [f"pub fn step_{n}(&self) {{", *[f"    self.go({n}, {line});" for line in range(14)], "}"]
        for n in range(4)
    ]
    lines = [line for one in functions for line in one]
    text = "".join(f"{n:4d}{sign}{line}\n" for n, line in enumerate(lines, 1))
    blocks = [one for one in split_prose(text).children if one.unit == "block"]
    assert [text[one.start : one.end].count("\n") for one in blocks] == [15] * 4
    assert all("pub fn" in text[one.children[0].start : one.children[0].end] for one in blocks)
