"""Blocks of lines: the first lines that tell one from its neighbours, the line that closes it, and
those that differ from the others."""

from collections.abc import Iterator

import pytest
from tests.growing import QUADRATIC, growth

from weft.passages.blocks import separators_of
from weft.passages.lines import lines_of
from weft.passages.part import Part, leaves, outlined
from weft.passages.prose import split_prose


def xml(n: int, number: bool = False) -> str:
    opening = f'<record nr="{n}">' if number else "<record>"
    fields = "".join(f"    <f{m}>{'value ' * 8}{n}</f{m}>\n" for m in range(9))
    nested = f"    <more>\n      <one>{'text ' * 40}{n}</one>\n      <two>z{n}</two>\n    </more>\n"
    return f"  {opening}\n    <kod>k-{n}</kod>\n{fields}{nested}  </record>\n"


PLAIN = f"<all>\n{''.join(xml(n) for n in range(9))}</all>\n"
NUMBERED = f"<all>\n{''.join(xml(n, True) for n in range(9))}</all>\n"
PROTO = "".join(
    f'person {{\n  login: "l{n}"\n' + f'  text: "{"words " * 20}"\n' * 4 + "}\n" for n in range(9)
)
LINT = "<issues>\n\n" + "".join(
    f'    <issue\n        id="{"AB"[n % 2]}"\n        place="p{n}"\n'
    + f'        about="{"words " * 20}"\n' * 3
    + '        priority="5">\n    </issue>\n\n'
    for n in range(9)
)


def heads(text: str) -> list[str]:
    """The first lines that are shown with any other line of their block."""
    return [text[part.start : part.end] for part in _all(split_prose(text)) if part.identifies]


def _all(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from _all(child)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (PLAIN, [f"  <record>\n    <kod>k-{n}</kod>\n" for n in range(9)]),
        (NUMBERED, [f'  <record nr="{n}">\n' for n in range(9)]),
        (PROTO, [f'person {{\n  login: "l{n}"\n' for n in range(9)]),
        (
            LINT,
            [f'    <issue\n        id="{"AB"[n % 2]}"\n        place="p{n}"\n' for n in range(9)],
        ),
    ],
    ids=["XML", "attributes", "braces", "attributes in lines"],
)
def test_a_block_begins_with_the_lines_that_tell_it_from_its_neighbours(
    text: str, wanted: list[str]
) -> None:
    found = [head for head in heads(text) if head.strip() not in ("<all>", "<more>", "<issues>")]
    assert found == wanted


def test_the_line_that_tells_a_block_may_stand_further_down() -> None:
    entries = "".join(
        f"  <entry>\n    <by>\n      <name>bot</name>\n    </by>\n    <lang>en</lang>\n"
        f"    <title>About {n}</title>\n    <text>{'words ' * 50}{n}</text>\n    <z>z</z>\n"
        "  </entry>\n"
        for n in range(9)
    )
    found = heads(f"<feed>\n{entries}</feed>\n")[1:]
    told = [("  <entry>\n", f"    <title>About {n}</title>\n") for n in range(9)]
    assert found == [line for lines in told for line in lines]


PREVIEW = "It says how agents of several makers may trade, and proves that this is fair. "


def test_the_id_of_a_record_is_shown_wherever_it_stands() -> None:
    papers = "".join(
        f"{n}. Trade of agents, part {n}\n   Authors: A. Bee, C. Dee {n}\n   ID: 2507.0{n}v1\n"
        f"   Preview: {PREVIEW}{n}\n   Comment: {PREVIEW}\n   More: {PREVIEW}\n\n"
        for n in range(1, 9)
    )
    told = [(f"{n}. Trade of agents, part {n}\n", f"   ID: 2507.0{n}v1\n") for n in range(1, 9)]
    assert heads(f"Results:\n\n{papers}") == [line for lines in told for line in lines]


def test_the_id_may_be_the_last_line_of_a_record() -> None:
    tasks = "".join(
        f"- name: task {n}\n  about: {PREVIEW}{n}\n  more: {PREVIEW}\n  ticket_id: T-7{n}\n"
        for n in range(1, 5)
    )
    told = [(f"- name: task {n}\n", f"  ticket_id: T-7{n}\n") for n in range(1, 5)]
    assert heads(tasks) == [line for lines in told for line in lines]


def test_a_record_without_a_name_of_its_own_is_told_by_the_one_inside_it() -> None:
    pods = "".join(
        f"- apiVersion: v1\n  kind: Pod\n  metadata:\n    labels:\n      app: shop\n"
        f"    name: shop-{n}\n  spec:\n    text: {PREVIEW}\n"
        for n in range(9)
    )
    told = [("- apiVersion: v1\n", f"    name: shop-{n}\n") for n in range(9)]
    found = [head for head in heads(f"items:\n{pods}")[1:] if head != "  spec:\n"]
    assert found == [line for lines in told for line in lines]


def test_no_line_of_a_record_stands_with_another_where_rules_part_them() -> None:
    tickets = "".join(
        f"Ticket: Login {n}\nReporter: ann\nAbout: {PREVIEW[:150]}\nSolved by: nobody {n}\n"
        f"{'-' * 20}\n"
        for n in range(9)
    )
    held = [tickets[leaf.start : leaf.end] for leaf in leaves(split_prose(tickets))]
    assert all(one.startswith("Ticket: ") for one in held)


def test_many_lines_that_may_separate_are_read_in_linear_time() -> None:
    def work(text: str) -> None:
        separators_of(text, lines_of(text, 0, len(text)))

    assert growth(work, "----\n\n\n", (40_000, 320_000)) < QUADRATIC
    assert growth(work, "----\n", (40_000, 320_000)) < QUADRATIC


def test_a_line_below_a_title_parts_nothing() -> None:
    text = "".join(f"Part {n}\n=======\n{PREVIEW * 5}\n" for n in range(9))
    assert not separators_of(text, lines_of(text, 0, len(text)))


@pytest.mark.parametrize("text", [PLAIN, PROTO])
def test_a_passage_holds_no_end_of_one_record_with_the_beginning_of_the_next(text: str) -> None:
    starts = {place.start for place in outlined(split_prose(text)).places}
    begins = [text.index(head) for head in heads(text) if "record" in head or "person" in head]
    assert len(begins) == 9
    assert starts.issuperset(begins[1:])


@pytest.mark.parametrize("text", [PLAIN, NUMBERED])
def test_a_closing_tag_stands_with_what_it_closes(text: str) -> None:
    found = [text[leaf.start : leaf.end] for leaf in leaves(split_prose(text))]
    assert "".join(found) == text
    assert not any(one.lstrip().startswith("</") for one in found)
    assert [one.endswith("</record>\n") for one in found].count(True) == 8  # the last ends all


def test_records_that_differ_from_the_others_are_told() -> None:
    def case(n: int, result: str = "ok", below: str = "") -> str:
        lines = "".join(f"    <line>{'text ' * 20}{n}</line>\n" for _ in range(4))
        return f'  <case name="c{n}" result="{result}">\n{lines}{below}  </case>\n'

    failed, broken = case(14, "bad"), [case(n, below="    <why>z</why>\n") for n in (20, 22)]
    cases = [case(n) for n in range(26)]
    cases[14], cases[20], cases[22] = failed, *broken
    text = f"<run>\n{''.join(cases)}</run>\n"
    outline = outlined(split_prose(text))
    found = [outline.leaves[number] for number in sorted(outline.outliers)]
    assert "".join(text[one.start : one.end] for one in found) == failed + "".join(broken)
