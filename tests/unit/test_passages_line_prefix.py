"""Lines of a log that collects what other programs print, without their prefix."""

import pytest

from weft.passages.line_prefix import MOST, bare_lines

SAID = ["FAIL src/a.test.ts", "", "  expected 3", "  received 4", "done"]


@pytest.mark.parametrize(
    "prefix",
    [
        "2025-10-02T09:15:14.6797105Z ",
        "2025-10-02 09:15:14,123 ",
        "build\tRun tests\t2025-10-02T09:15:14.6797105Z ",
        "#12 18.41 ",
        "web-1      | ",
    ],
)
def test_lines_say_what_they_would_say_without_their_prefix(prefix: str) -> None:
    lines = [f"{prefix}{one}\n" for one in SAID]
    assert bare_lines(lines) == [f"{one}\n" for one in SAID]
    lines[1] = f"{prefix.rstrip()}\n"
    assert bare_lines(lines) == [f"{one}\n" for one in SAID]


def test_a_text_that_quotes_a_log_stays_as_it_is() -> None:
    lines = [f"2025-10-02T09:15:14Z {one}\n" for one in SAID[2:]] + ["This is what I saw:\n"]
    assert bare_lines(lines) is lines
    few = ["2025-10-02T09:15:14Z on\n"] * 3
    assert bare_lines(few) is few
    assert bare_lines([]) == []
    assert MOST < 1


def test_one_line_without_a_prefix_among_many_is_no_reason() -> None:
    lines = [f"#12 18.41 {one}\n" for one in SAID * 4] + ["------\n"]
    assert bare_lines(lines) == [f"{one}\n" for one in SAID * 4] + ["------\n"]
