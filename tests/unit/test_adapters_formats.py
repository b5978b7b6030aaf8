"""Files are recognised, and data sets of transcripts taken apart."""

import json

import pytest
from tests.data import DATA, needs_data

from weft.adapters import read_items, read_transcripts
from weft_eval.locomo import occurred_at
from weft_schemas.errors import InvalidInput
from weft_schemas.events import encode_event
from weft_schemas.items import ContextItem, ItemKind

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def test_weft_items_come_back_as_they_were() -> None:
    item = ContextItem("a", ItemKind.TOOL_RESULT, "x", parent_id="b", metadata={"call_id": "1"})
    other = ContextItem("ü", ItemKind.USER_TURN, "y")
    content = encode_event(item) + b"\n" + encode_event(other)
    assert read_items(content) == [item, other]


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (CHAT, "openai"),
        ({"messages": CHAT}, "openai"),
        ({"system": "s", "messages": CHAT}, "anthropic"),
        ([{"action": "message", "content": "x"}], "openhands"),
        ([{"id": "a", "kind": "user_turn"}], "weft"),
        ({"id": "a", "kind": "user_turn"}, "weft"),
        ({"items": [{"id": "a", "kind": "user_turn"}]}, "weft"),
        ([{"type": "user_turn", "id": "u", "text": "x"}], "contextweaver"),
    ],
)
def test_formats_are_recognised(content: object, format: str) -> None:
    assert [found.format for found in read_transcripts(json.dumps(content).encode())] == [format]


def test_a_data_set_gives_its_transcripts_by_name() -> None:
    content = json.dumps([{"task_id": 3, "trial": 1, "traj": CHAT}, {"traj": CHAT}]).encode()
    first, second = read_transcripts(content)
    assert (first.name, second.name) == ("3-1", "1")
    assert first.items == second.items


def test_a_fault_within_a_data_set_is_named_by_its_own_line() -> None:
    fine, bad = json.dumps(CHAT[0]), json.dumps({"role": "robot"})
    form = '[{"traj": [\n%s\n]},\n{"traj": [\n%s,\n%s\n]}]\n'
    with pytest.raises(InvalidInput, match=r"set\.json, line 6: \$\.role: invalid enum value"):
        read_transcripts((form % (fine, fine, bad)).encode(), file="set.json")


def test_one_session_is_not_made_of_many() -> None:
    content = json.dumps([{"traj": CHAT}, {"traj": CHAT}]).encode()
    with pytest.raises(InvalidInput, match=r"set\.json: holds 2 transcripts; choose one"):
        read_items(content, file="set.json")


def test_an_unknown_shape_says_what_was_seen_and_what_is_read() -> None:
    with pytest.raises(InvalidInput, match="with the keys colour, size; say which it is with"):
        read_items(b'[{"size": 3, "colour": "red"}]')


@pytest.mark.parametrize("content", [b"[]", b'{"messages": []}'])
def test_a_file_without_items_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="no items in this file"):
        read_items(content)


@pytest.mark.parametrize("content", [b"[1, 2]", b'"text"', b"[[1]]"])
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="line 1: expected an object"):
        read_items(content)


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput, match="format 'csv' is unknown; use auto or weft"):
        read_items(b"[]", "csv")


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00Z"),
        ("12:30 pm on 1 January, 2024", "2024-01-01T12:30:00Z"),
        ("yesterday", None),
    ],
)
def test_dates_in_words_become_times(words: str, time: str | None) -> None:
    assert occurred_at(words) == time


LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi"}],
    },
}


def test_a_data_set_is_read_by_the_package_that_offers_it() -> None:
    [found] = read_transcripts(json.dumps([LOCOMO]).encode())
    assert (found.name, found.format) == ("conv-1", "locomo")
    assert [(item.id, item.kind, item.text) for item in found.items] == [
        ("D1:1", ItemKind.USER_TURN, "Hi")
    ]
    other = {"conversation": "none of its own"}
    with pytest.raises(InvalidInput, match="line 2: expected a transcript with one of"):
        read_transcripts(b"%s\n%s" % (json.dumps(LOCOMO).encode(), json.dumps(other).encode()))


@needs_data
@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("taubench/*.json", 100),
        ("livemcpbench/*.json", 48),
        ("openhands/*.json*", 8),
        ("locomo/*.json", 5),
        ("contextweaver/scenarios/*.jsonl", 6),
    ],
)
def test_every_real_session_is_read_with_its_pairs_whole(pattern: str, count: int) -> None:
    found = [
        transcript
        for path in sorted(DATA.glob(pattern))
        for transcript in read_transcripts(path.read_bytes(), file=path.name)
    ]
    assert len(found) == count
    for transcript in found:
        ids = {item.id for item in transcript.items}
        answered = {item.parent_id for item in transcript.items}
        assert len(ids) == len(transcript.items)
        for item in transcript.items:
            if item.kind is ItemKind.TOOL_CALL:
                assert item.id in answered
            if item.kind is ItemKind.TOOL_RESULT:
                assert item.parent_id in ids
