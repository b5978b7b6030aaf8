"""JSON by its own structure: records, fields, and what identifies a record."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiler.renditions.assembling import assembled
from weft.passages.json_text import RECORD, say_nothing, says_nothing, split_call, split_json
from weft.passages.json_unquoted import unquoted
from weft.passages.literals import Decoded, decoded
from weft.passages.part import Part, leaves, outlined
from weft.passages.prose import split_prose

ROWS = [{"id": n, "name": f"N{n}", "note": "w " * 200} for n in range(6)]
RECORDS = json.dumps(ROWS)


def texts(part: Part, whole: str) -> list[str]:
    decoded_text = decoded(whole).text
    return [decoded_text[leaf.start : leaf.end] for leaf in leaves(part)]


def lines(held: Decoded) -> tuple[Part, ...]:
    return split_prose(held.text).children


def split(text: str) -> Part:
    made = split_json(decoded(text), lines)
    assert made is not None
    return made


def test_an_array_is_taken_apart_by_its_records() -> None:
    made = split(RECORDS)
    assert [child.unit for child in made.children] == ["record"] * 6
    assert sum(child.count for child in made.children) == 6


def test_small_records_stand_together_and_are_counted() -> None:
    text = json.dumps([{"id": n} for n in range(90)])
    made = split(text)
    assert sum(child.count for child in made.children) == 90
    assert len(made.children) < 30


@pytest.mark.parametrize("comma", [", ", "\n, \t", "," + " " * 600, " " * 600 + ","])
@pytest.mark.parametrize("size", range(RECORD - 3, RECORD + 4))
def test_blanks_between_records_change_no_part(size: int, comma: str) -> None:
    record = json.dumps({"id": 7, "note": "x" * (size - len(json.dumps({"id": 7, "note": ""})))})
    rows = ['{"id": 1}', record, '{"id": 2}', f"[{record}, 3]", record]
    close, wide = f"[{','.join(rows)}]", f"[{comma.join(rows)}]"
    assert len(record) == size
    assert [part.end - part.start for part in split(wide).children if part.children] == [
        part.end - part.start for part in split(close).children if part.children
    ]


def test_what_identifies_a_record_stands_with_any_of_it() -> None:
    text = json.dumps(
        [{"total": "1", "order_id": "R7", "lines": [{"n": n, "x": "y" * 99} for n in range(9)]}]
    )
    found = [part for part in _all(split(text)) if part.identifies]
    assert [text[part.start : part.end] for part in found] == ['"order_id": "R7"']


def identified(**fields: object) -> list[str]:
    """The names of the fields that identify such a record."""
    text = json.dumps([{**fields, "text": "w " * 400, "lines": [{"y": "y" * 499}]}] * 2)
    found = {text[part.start : part.end] for part in _all(split(text)) if part.identifies}
    return [name for name in fields if any(f'"{name}"' in one for one in found)]


def test_titles_come_before_ids_of_other_things() -> None:
    mail = {"id": "msg_1", "threadId": "thr_5", "historyId": "99", "subject": "Rent"}
    assert identified(**mail) == ["id", "threadId", "subject"]
    assert identified(**mail, date="12 May", label="Home") == ["id", "subject", "date"]


@pytest.mark.parametrize(
    "id", ["badee29509d8e1088b2ad7d10", "417392806651", "113db17d-fc13-4357-970c-1c24298cb3a5"]
)
def test_of_ids_that_programs_made_only_the_first_identifies(id: str) -> None:
    assert identified(id=id, etag_id=id, title="Stand-up") == ["id", "title"]
    assert identified(state="on", id=id, etag_id=id) == ["id"]
    assert identified(id=id, country_code="US", etag_id=id) == ["id", "country_code"]


def test_without_such_names_words_of_people_identify_too() -> None:
    assert identified(state="on", count="4", remark="The queue is paused.") == ["state", "remark"]


def test_the_own_id_identifies_beside_what_has_a_title() -> None:
    opaque = "badee29509d8e1088b2ad7d10"
    assert identified(summary="Rent", link="x.y/1", id=opaque) == ["summary", "link", "id"]
    assert identified(pageid="77", text_id="1", summary="Rent") == ["pageid", "text_id", "summary"]


def rules(odd: int, **other: object) -> list[dict[str, object]]:
    made = [
        {"rule": f"r{n}", "range": f"10.{n}.0.0/16", "remark": "", "open": False} for n in range(40)
    ]
    made[odd] |= other
    return made


@pytest.mark.parametrize("more", [{}, {"note": "n " * 400}])
@pytest.mark.parametrize("other", [{"remark": "for the museum"}, {"open": True}])
def test_the_record_that_differs_from_the_others_is_known(
    other: dict[str, object], more: dict[str, str]
) -> None:
    text = json.dumps([one | more for one in rules(17, **other)])
    found = [part for part in _all(split(text)) if part.differs]
    assert [json.loads(text[part.start : part.end])["rule"] for part in found] == ["r17"]


def test_a_list_may_be_cut_off_anywhere() -> None:
    text = json.dumps([{"id": f"O-{n}", "title": f"city {n}"} for n in range(9)])
    for end in range(2, len(text)):
        split_json(decoded(text[:end]), lines)


@pytest.mark.parametrize("cut", [1, 3, 30, 60])
def test_a_list_that_was_cut_off_has_the_same_differing_records(cut: int) -> None:
    text = json.dumps(rules(17, remark="for the museum"))[:-cut]
    found = [part for part in _all(split(text)) if part.differs]
    assert [text[part.start : part.end].count('"r17"') for part in found] == [1]


def test_among_records_that_are_alike_or_few_or_all_different_none_differs() -> None:
    for records in (rules(3), rules(3, open=True)[:9], [{"n": n} for n in range(40)]):
        assert not any(part.differs for part in _all(split(json.dumps(records))))


def test_without_a_name_that_says_so_the_first_field_identifies() -> None:
    text = json.dumps([{"colour": "red", "text": "w " * 400}])
    found = [part for part in _all(split(text)) if part.identifies]
    assert [text[part.start : part.end] for part in found] == ['"colour": "red"']


@pytest.mark.parametrize("nothing", ["null", "true", '""', "[]", "{}"])
def test_a_field_that_says_nothing_identifies_no_record(nothing: str) -> None:
    for name in ("meta", "id"):
        text = f'[{{"{name}": {nothing}, "type": "text", "text": "{"w " * 400}"}}]'
        found = [part for part in _all(split(text)) if part.identifies]
        assert [text[part.start : part.end] for part in found] == ['"type": "text"']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"meta": null', True),
        ('"meta": null, "tags": [], "note": ""', True),
        ('"seat": "4A", "meta": null', False),
        ('"insured": false', False),
        ('"said": "null"', False),
        ("null", False),
        ("", False),
    ],
)
def test_fields_that_say_nothing_are_those_without_any_value(text: str, expected: bool) -> None:
    assert says_nothing(text) == expected


def test_a_long_string_is_taken_apart_by_its_lines_under_its_key() -> None:
    text = json.dumps({"path": "a.py", "content": "print('a line of code')\n" * 100})
    leaf = texts(split(text), text)
    assert leaf[0] == '"path": "a.py"'
    assert len(leaf) > 5
    assert all("print(" in one for one in leaf[1:])


def test_a_call_is_taken_apart_by_its_arguments() -> None:
    text = 'write({"path": "a.py", "content": "' + "word " * 300 + '"})'
    made = split_call(decoded(text), lines)
    assert made is not None
    assert text[: made.opening] == "write({"
    assert text[made.end - made.closing :] == "})"
    assert texts(made, text)[0] == '"path": "a.py"'


@pytest.mark.parametrize("text", ["plain words", '{"a": 1', '"only a string"', "f(1, 2)", "[}"])
def test_what_is_no_json_is_not_taken_apart(text: str) -> None:
    assert decoded(text).form == "text"


def test_deep_json_ends() -> None:
    text = "[" * 200 + json.dumps(ROWS) + "]" * 200
    assert list(leaves(split(text)))


def test_quotes_are_left_out_where_nothing_becomes_ambiguous() -> None:
    text = json.dumps({"name": "Mia Li", "n": 1, "s": "1", "t": "true", "u": "a, b", "k x": None})
    assert unquoted(text) == '{name: Mia Li, n: 1, s: "1", t: "true", u: "a, b", k x: null}'


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: (
        st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner, max_size=9)
    ),
    max_leaves=60,
)


@settings(max_examples=37)
@given(values, st.booleans())
def test_leaves_stand_in_order_and_no_value_is_lost(value: object, indented: bool) -> None:
    text = json.dumps(value, indent=1 if indented else None, ensure_ascii=False)
    decoded_text = decoded(text)
    made = split_json(decoded_text, lines) if decoded_text.form == "json" else None
    if made is None:
        return
    place = 0
    for leaf in leaves(made):
        assert place <= leaf.start <= leaf.end <= len(text)
        place = leaf.end
    kept = "".join(texts(made, text))
    for scalar in _scalars(value):
        assert json.dumps(scalar, ensure_ascii=False).strip('"') in kept


def _scalars(value: object) -> list[object]:
    if isinstance(value, dict):
        return [one for held in value.values() for one in _scalars(held)]
    if isinstance(value, list):
        return [one for held in value for one in _scalars(held)]
    return [value]


def _all(part: Part) -> list[Part]:
    return [part, *(one for child in part.children for one in _all(child))]


@settings(max_examples=37)
@given(values)
def test_what_is_unquoted_states_every_value(value: object) -> None:
    written = msgspec.json.encode(value).decode()
    shown = unquoted(written)
    for scalar in _scalars(value):
        if isinstance(scalar, str):
            assert msgspec.json.encode(scalar).decode()[1:-1] in shown


_SCALARS = st.none() | st.booleans() | st.integers() | st.text('ab,:[]{}"\\\n ', max_size=30)
_NESTED = st.recursive(
    _SCALARS,
    lambda held: st.lists(held, max_size=4) | st.dictionaries(st.sampled_from("abcdefg"), held),
    max_leaves=40,
)


@settings(max_examples=75)
@given(st.lists(_NESTED, max_size=20), st.sampled_from([None, 1, 4]))
def test_each_element_of_an_array_is_a_part_or_whole_within_one(
    values: list[object], indent: int | None
) -> None:
    """Also where it has brackets in its strings, or more levels than are passed over at once."""
    values = ["long enough to be taken apart" * 9, *values]
    text = json.dumps(values, indent=indent)
    made = split_json(Decoded(text, "json"), lines)
    assert made is not None
    held = [json.loads(f"[{text[part.start : part.end]}]") for part in made.children]
    assert [value for part in held for value in part] == values
    assert [len(part) for part in held] == [part.count for part in made.children]


def test_values_that_stood_right_beside_each_other_do_not_run_together() -> None:
    text = (
        '{"status":["clientHold https://icann.org/epp#clientHold","ok"],"name":"a,b","n":[1,"c"]}'
    )
    shown = '{status:[clientHold https://icann.org/epp#clientHold, ok], name:"a,b", n:[1, c]}'
    assert unquoted(text) == shown
    assert unquoted('{"tool_name":"edit"}') == "{tool_name: edit}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"offerId": "of_XXbhqGLQrH"', True),
        ('"id": 40711', True),
        ('"id": "Lunch with Ada"', False),
        ('"flight_number": "HAT001"', False),
        ('"name": "general"', False),
        ('"id": "a1", "name": "Ada"', False),
        ('"id": ["a1"]', False),
        ('"user_id": "u7"', True),
        ('"uuid": "0b6c"', True),
        ('"cacheKey": "k7"', True),
        ('"paid": 120', False),
        ('"turkey": "x7"', False),
        ('"fullUrl": "urn:uuid:46a1547a-3c0f-1f42-6cc6636ec0eb"', True),
        ('"site": "the one at 46a1547a3c0f1f42"', False),
    ],
)
def test_an_id_alone_says_nothing_to_people(text: str, expected: bool) -> None:
    assert say_nothing([text]) == [expected]


def test_what_most_records_have_says_nothing() -> None:
    texts = [f'"object": "{kind}", "id": "{n}"' for n, kind in enumerate(["block"] * 8 + ["page"])]
    assert say_nothing(texts) == [True] * 8 + [False]


def observation(number: int, name: str) -> dict[str, object]:
    coding = [{"system": "http://codes.example", "code": f"{number}-2", "display": name}]
    held = {"type": "Observation", "profile": ["lab " * 50], "code": {"coding": coding}}
    notes = [f"{number} {at} " * 30 for at in range(4)]
    return {"fullUrl": f"urn:uuid:46a1547a3c0f{number:04}", "resource": {**held, "notes": notes}}


NAMES = ["Sodium", "Potassium", "Creatinine", "CRP", "Urea"]


def test_a_record_with_nothing_but_an_id_of_its_own_is_identified_by_words_inside_it() -> None:
    text = json.dumps([observation(n, name) for n, name in enumerate(NAMES)])
    outline = outlined(split(text), True)
    said = [text[outline.leaves[at].start : outline.leaves[at].end] for at in outline.identities]
    assert [sum(f'"display": "{name}"' in one for one in said) for name in NAMES] == [1] * 5
    last = assembled(text, outline, {len(outline.leaves) - 1})
    assert "display: Urea" in last
    assert "Sodium" not in last


def test_a_record_that_tells_something_itself_is_not_identified_by_what_is_inside() -> None:
    rows = [{**observation(n, name), "price": n * 7} for n, name in enumerate(NAMES)]
    text = json.dumps(rows)
    outline = outlined(split(text), True)
    said = [text[outline.leaves[at].start : outline.leaves[at].end] for at in outline.identities]
    assert not any("display" in one for one in said)
