"""The line that a stub tells of a text."""

from __future__ import annotations

import json

import pytest

from weft.compiler.renditions.stub_line import first_line
from weft.passages.literals import decoded

ERROR = "2025-06-11T14:35:55.921Z ERROR payments db: acquiring connection: timeout after 3s"
REFUSED = "Only whole numbers can be entered as a reading, so this was refused by the form itself"


@pytest.mark.parametrize("text", [f"{ERROR}\n" * 40, json.dumps({"error": REFUSED, "rest": 1})])
def test_the_line_of_an_error_is_told_to_its_end(text: str) -> None:
    error = ERROR if text.startswith("2025") else REFUSED
    assert len(error) > 75
    assert error in first_line(decoded(text))


def test_an_error_that_is_too_long_is_cut_between_words() -> None:
    said = first_line(decoded(f"{ERROR} {'and so on ' * 20}\n" * 40))
    assert said
    assert ERROR.startswith(said)
    assert ERROR[len(said)] == " "


def test_another_line_is_cut_as_before() -> None:
    said = first_line(
        decoded(f"{ERROR.replace('ERROR', 'INFO').replace('timeout', 'done')}\n" * 40)
    )
    assert said == "2025-06-11T14:35:55.921Z INFO payments db: acquiring"
