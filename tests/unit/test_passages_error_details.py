"""What stands below an error's line and belongs with it."""

import pytest

from weft.passages.error_details import MAX_DETAILS, MAX_LENGTH, details_below

REQUIRED = ["  required: Options", "  found:    no arguments", "  reason: lengths differ"]


def told(*lines: str) -> list[str]:
    """What belongs with the first of these lines."""
    return [lines[at] for at in details_below([f"{line}\n" for line in lines], 0)]


def test_what_is_indented_below_an_error_belongs_with_it() -> None:
    assert told("A.java:7: error: cannot be applied", *REQUIRED, "1 error") == REQUIRED
    assert told("assert failed", "  left: 1", " right: 0", "note") == ["  left: 1", " right: 0"]
    assert told("  deep error", " less deep", "  more") == []


def test_what_both_lines_begin_with_is_no_indentation() -> None:
    steps = [f"#12 18.41 {line}" for line in ["[ERROR] cannot be applied", *REQUIRED]]
    assert told(*steps, "#12 18.41 [ERROR] Failed") == steps[1:]
    assert told("error: x", "error  y") == []


def test_the_line_below_a_place_belongs_with_it() -> None:
    panicked = "thread 'a' panicked at src/a.rs:93:5:"
    assert told(panicked, "lost 0.8 tokens", "", "failures:") == ["lost 0.8 tokens"]
    both = ["assertion `left == right` failed", "  left: 1"]
    assert told(panicked, *both, "note: more") == both
    assert told(panicked) == told(panicked, "") == []


@pytest.mark.parametrize(
    "below",
    [[f"  at frame {n}" for n in range(MAX_DETAILS + 1)], ["  " + "x" * MAX_LENGTH]],
)
def test_a_stack_or_a_long_text_does_not(below: list[str]) -> None:
    assert told("error: refused", *below) == []


def test_nor_does_the_code_below_a_line_with_an_arrow() -> None:
    assert told("-> 7   raise KeyError(key)", "   8 else:") == []


def test_what_stands_in_the_frame_of_an_error_belongs_with_it() -> None:
    framed = [
        "│",
        "│   with module.cache.group.this,",
        "│   on cache/main.tf line 31, in resource:",
    ]
    assert told("│ Error: deleting the group (g7): in use", *framed, "╵", "more") == framed
    many = [f"│ line {n}" for n in range(MAX_DETAILS + 2)]
    assert told("│ Error: in use", *many) == many[:MAX_DETAILS]
    assert told("│ Error: in use", *framed, "│ " + "x" * MAX_LENGTH) == framed


def test_a_row_of_a_table_has_no_frame() -> None:
    assert told("│ error │ 7 │", "│ ok    │ 9 │") == []
