"""Which lines of a printed text tell how its call ended."""

import pytest

from weft.passages.outcome import (
    MAX_LENGTH,
    MAX_VERDICTS,
    NEAR_END,
    is_verdict,
    outcome_lines,
    raised_at,
)

RAISED = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nKeyError: 1\n'
)


@pytest.mark.parametrize(
    "line",
    [
        "BUILD FAILED in 41s",
        "[INFO] BUILD SUCCESS",
        "Executed 12 tests, with 0 failures",
        "====== 3 passed, 1 failed in 0.12s ======",
        "ERROR: disk is full",
        "exit code: 1",
        "Process exited with status 0",
        'deployment "map" successfully rolled out',
        "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.",
        "Plan: 2 to add, 2 to change, 1 to destroy.",
    ],
)
def test_a_line_that_says_how_all_of_it_ended_is_a_verdict(line: str) -> None:
    assert is_verdict(line)


@pytest.mark.parametrize(
    "line", ["the build failed earlier", "step 3 passed", "", "ERROR: " + "x" * MAX_LENGTH]
)
def test_another_line_is_none(line: str) -> None:
    assert not is_verdict(line)


def told(*lines: str) -> list[str]:
    kept = [f"{line}\n" for line in lines]
    return [kept[at].rstrip() for at in sorted(outcome_lines("".join(kept), kept))]


def test_the_last_verdicts_near_the_end_tell_the_outcome() -> None:
    steps = [f"step {n}" for n in range(NEAR_END)]
    early = [f"exit code {n}" for n in range(3)]
    assert told(*early, *steps, "exit code 7", "", "BUILD FAILED in 41s", "") == [
        "exit code 7",
        "BUILD FAILED in 41s",
    ]
    assert len(told(*early, "exit code 7")) == MAX_VERDICTS
    assert told(*early, *steps) == []


def test_what_the_last_traceback_of_a_chain_raised_tells_the_outcome() -> None:
    text = (
        f"{RAISED}\nDuring handling of it, another one:\n\n{RAISED.replace('KeyError', 'OSError')}"
    )
    assert text[raised_at(text) :] == "OSError: 1\n"
    assert told(*text.splitlines(), "done") == ["OSError: 1"]
    assert raised_at("KeyError: 1") is None


def test_a_traceback_of_a_notebook_tells_what_was_raised_at_its_end() -> None:
    text = (
        "a  1\n-----\nKeyError         Traceback (most recent call last)\nCell In[2], line 3\n"
        "----> 3 a[0]\n\nFile x.py:7, in get(key)\n      7 raise KeyError(key)\n\nKeyError: 0\n"
    )
    assert text[raised_at(text) :] == "KeyError: 0\n"
    again = text.replace("KeyError", "OSError")
    assert raised_at(text + again) == len(text) + raised_at(again)
    assert raised_at("KeyError         Traceback (most recent call last)\nOSError: 1\n") is None
