"""The few records of a list in lines that differ from the others, in whatever notation."""

import json
from collections.abc import Callable

import pytest

from weft.passages.part import Outline
from weft.passages.splitting import outline_of

WORDS = "It runs on the second machine of the row and is looked after by the team there."


def yaml(name: str, state: str) -> str:
    return f"- name: {name}\n  state: {state}\n  about: {WORDS}\n"


def vertical(name: str, state: str) -> str:
    return f"*********** row ***********\n  Name: {name}\n State: {state}\n About: {WORDS}\n"


def stanza(name: str, state: str) -> str:
    return f"Name: {name}\nState: {state}\nAbout: {WORDS}\n\n"


def markdown(name: str, state: str) -> str:
    return f"### {name}\n\n- **State:** {state}\n- **About:** {WORDS}\n\n"


def xml(name: str, state: str) -> str:
    return f"  <job>\n    <name>{name}</name>\n    <state>{state}</state>\n  </job>\n"


def json_line(name: str, state: str) -> str:
    return json.dumps({"name": name, "state": state, "about": WORDS}) + "\n"


def columns(name: str, state: str) -> str:
    return f"job/{name}    {state}    1/1    {len(name)}d\n"


FORMS = [yaml, vertical, stanza, markdown, xml, json_line, columns]


def outline(record: Callable[[str, str], str], states: list[str]) -> tuple[str, Outline]:
    text = f"Jobs:\n\n{WORDS * 4}\n\n" + "".join(
        record(f"job-{n}", state) for n, state in enumerate(states)
    )
    made = outline_of(text)
    assert made is not None
    return text, made


@pytest.mark.parametrize("record", FORMS)
def test_the_one_record_with_another_value_differs(record: Callable[[str, str], str]) -> None:
    states = ["fine"] * 60
    states[33] = "broken"
    text, made = outline(record, states)
    found = "".join(text[made.leaves[at].start : made.leaves[at].end] for at in made.outliers)
    assert "broken" in found
    assert "job-33" in found or record is markdown  # its heading is shown with what is below it
    assert "fine" not in found


@pytest.mark.parametrize("record", FORMS)
def test_where_values_vary_no_record_differs(record: Callable[[str, str], str]) -> None:
    _, made = outline(record, [f"s{n * 7 % 29}" for n in range(60)])
    assert not made.outliers


@pytest.mark.parametrize("record", FORMS)
def test_of_a_few_records_none_differs(record: Callable[[str, str], str]) -> None:
    _, made = outline(record, ["fine"] * 6 + ["broken"])
    assert not made.outliers
