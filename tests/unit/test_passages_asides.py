"""What stands beside what a text says: footers, and sentences said before."""

import pytest
from tests.outlines import beside

from weft.passages.asides import MAX_FOOTER_LENGTH

POINTS = "".join(
    f"{n}. The point number {n} of the mail, with a sum of {n * 77} euros.\n" for n in range(9)
)
FOOTER = "This e-mail is confidential and may be privileged. Tell the sender and delete it.\n"


@pytest.mark.parametrize("line", ["--\n", "-- \n", "-- \r\n"])
def test_the_footer_of_a_mail_is_beside_it(line: str) -> None:
    assert beside(f"Hello,\n\n{POINTS}\n{line}{FOOTER}") == f"{line}{FOOTER}"


def test_a_mail_that_is_quoted_behind_its_answer_is_beside_it() -> None:
    quoted = "".join(f"> {line}\n" for line in POINTS.splitlines())
    answer = f"Hello,\n\n{POINTS}\n"
    assert beside(answer + quoted) == quoted
    assert beside(f"{answer}-- \n{FOOTER}\n{quoted}") == f"-- \n{FOOTER}\n{quoted}"
    by_line = "".join(f"> {line}\nYes, we pay this.\n\n" for line in POINTS.splitlines())
    assert beside(answer + by_line) == ""
    assert beside(quoted) == ""


@pytest.mark.parametrize(
    "text",
    [
        POINTS * 1 + "-- note: no footer\n" + FOOTER,
        "--\n" + POINTS,
        "Hello\n--\n" + "".join(f"{n:>{MAX_FOOTER_LENGTH}}\n" for n in range(9)) + POINTS,
    ],
)
def test_other_lines_and_most_of_a_text_are_no_footer(text: str) -> None:
    assert "Hello" not in beside(text)
    assert "point number 3" not in beside(text)


def test_comments_of_programs_are_no_footer() -> None:
    code = "".join(f"SELECT {n} FROM accounts;\n" for n in range(60))
    text = f"-- first part\n{code}\n--\n" + "DELETE FROM accounts WHERE closed;\n" * 5
    assert "--\n" not in beside(text)


def test_sentences_that_were_said_before_are_beside_whatever_their_number() -> None:
    said = [
        "The parties shall meet quarterly to review what was done, and shall record it.",
        "Notices that are served by e-mail are received on the next business day.",
    ]
    filler = "".join(f"7.{n} {said[n % 2]}\n" for n in range(12))
    text = f"{filler}9.1 The supplier defends the customer against claims of others.\n"
    found = beside(text)
    assert found.count("The parties") >= 3
    assert "7.0" not in found
    assert "7.1 " not in found
    assert "9.1" not in found


def test_short_lines_and_values_are_not_said_before() -> None:
    assert beside("".join(f"value: {n % 3}\nend\n\n" for n in range(60))) == ""
