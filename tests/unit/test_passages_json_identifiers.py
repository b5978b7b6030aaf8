"""Which fields identify a JSON record, and which say nothing to people."""

import json

import pytest
from tests.json_parts import all_parts, split

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.json_identifiers import are_nameless, has_only_empty_fields
from weft.passages.part import outlined


def test_what_identifies_a_record_stands_with_any_of_it() -> None:
    text = json.dumps(
        [{"total": "1", "order_id": "R7", "lines": [{"n": n, "x": "y" * 99} for n in range(9)]}]
    )
    found = [part for part in all_parts(split(text)) if part.identifies]
    assert [text[part.start : part.end] for part in found] == ['"order_id": "R7"']


def identified(**fields: object) -> list[str]:
    """The names of the fields that identify such a record."""
    text = json.dumps([{**fields, "text": "w " * 400, "lines": [{"y": "y" * 499}]}] * 2)
    found = {text[part.start : part.end] for part in all_parts(split(text)) if part.identifies}
    return [name for name in fields if any(f'"{name}"' in one for one in found)]


def test_titles_come_before_ids_of_other_things() -> None:
    mail = {"id": "msg_1", "threadId": "thr_5", "historyId": "99", "subject": "Rent"}
    assert identified(**mail) == ["id", "threadId", "subject"]
    assert identified(**mail, date="12 May", label="Home") == ["id", "subject", "date"]
    assert identified(state="on", reference="219-55", made="12 May") == ["reference"]


def test_an_address_identifies_what_has_no_other_name() -> None:
    place = "https://tracker.example.net/v2/issues"
    issue = {"url": f"{place}/7344", "repository_url": place, "id": 196, "number": 7344}
    assert identified(**issue, title="Truncated manifest") == ["id", "number", "title"]
    assert identified(title="Wages rise", url="https://press.example.org/1") == ["title", "url"]
    assert identified(url="https://press.example.org/1", rank=7) == ["url"]


def test_the_links_of_an_interface_are_asides_and_a_few_addresses_are_not() -> None:
    names = ["url", "labels_url", "events_url", "html_url"]
    for count, are_links in ((4, True), (3, False)):
        links = {name: f"https://tracker.example.net/{name}/7344" for name in names[:count]}
        text = json.dumps([{**links, "number": 7344, "state": "open", "text": "w " * 400}] * 2)
        asides = [part for part in all_parts(split(text)) if part.is_aside]
        assert bool(asides) is are_links
        assert all("://" in text[part.start : part.end] for part in asides)
        assert not any("state" in text[part.start : part.end] for part in asides)


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


def test_without_a_name_that_says_so_the_first_field_identifies() -> None:
    text = json.dumps([{"colour": "red", "text": "w " * 400}])
    found = [part for part in all_parts(split(text)) if part.identifies]
    assert [text[part.start : part.end] for part in found] == ['"colour": "red"']


@pytest.mark.parametrize("nothing", ["null", "true", '""', "[]", "{}"])
def test_a_field_that_says_nothing_identifies_no_record(nothing: str) -> None:
    for name in ("meta", "id"):
        text = f'[{{"{name}": {nothing}, "type": "text", "text": "{"w " * 400}"}}]'
        found = [part for part in all_parts(split(text)) if part.identifies]
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
    assert has_only_empty_fields(text) == expected


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
    assert are_nameless([text]) == [expected]


def test_what_most_records_have_says_empty_fields() -> None:
    texts = [f'"object": "{kind}", "id": "{n}"' for n, kind in enumerate(["block"] * 8 + ["page"])]
    assert are_nameless(texts) == [True] * 8 + [False]


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
    last = assembled_text(text, outline, {len(outline.leaves) - 1})
    assert "display: Urea" in last
    assert "Sodium" not in last


def test_a_record_that_tells_something_itself_is_not_identified_by_what_is_inside() -> None:
    rows = [{**observation(n, name), "price": n * 7} for n, name in enumerate(NAMES)]
    text = json.dumps(rows)
    outline = outlined(split(text), True)
    said = [text[outline.leaves[at].start : outline.leaves[at].end] for at in outline.identities]
    assert not any("display" in one for one in said)
