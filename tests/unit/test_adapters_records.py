"""A file is taken apart into records that know their line."""

import pytest

from weft.adapters.records import read_source
from weft_schemas.errors import InvalidInput


def lines(content: str) -> list[int]:
    return [record.line for record in read_source(content.encode()).records]


def test_json_lines_know_their_line_and_skip_empty_ones() -> None:
    assert lines('{"a": 1}\n\n{"a": 2}\r\n{"a": 3}\n') == [1, 3, 4]


def test_elements_of_an_array_know_the_line_they_start_on() -> None:
    assert lines('[\n  {"a": 1},\n\n  {"a":\n 2}, {"a": 3}\n]') == [2, 4, 5]


def test_an_object_gives_the_list_it_holds_and_what_stands_around() -> None:
    source = read_source(b'{"system": "be kind",\n "messages": [\n{"role": "user"}]}', "c.json")
    assert source.around == {"system": "be kind"}
    assert [(record.line, record.value) for record in source.records] == [(3, {"role": "user"})]


def test_a_byte_order_mark_is_no_fault() -> None:
    assert lines('\ufeff[{"a": 1}]') == [1]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "chat.json, line 1: the file is empty"),
        (b"  \n ", "chat.json, line 1: the file is empty"),
        (b'[{"a": 1},\n{"a" 2}]', "chat.json, line 2: not JSON: Expecting ':' delimiter"),
        (b'[{"a": 1}\n{"a": 2}]', "chat.json, line 2: not JSON: expected `,` or `]`"),
        (b'[{"a": 1}', "chat.json, line 1: not JSON"),
        (b'{"a": 1}\n{"a": ', "chat.json, line 2: not JSON"),
        (b'{"a": 1}\n{"a":\n{"a": 2}\n', "chat.json, line 2: not JSON"),
        (b'{"a": 1\n{"a": 2}\n{"a": 3}\n', "chat.json, line 1: not JSON"),
        (b'{"a": "cut off\n{"a": 2}\n', "chat.json, line 1: not JSON"),
        (b'{"a": 1}\n{"a": [1, 2\n', "chat.json, line 2: not JSON"),
        (b'{"a": 1}\n{"a": 2} {"a": 3}\n', "chat.json, line 2: more than one value on a line"),
        (b'{"a": NaN}', "chat.json, line 1: not JSON that can be read: NaN"),
        (b'{"a": 1}\n\xff\xfe', "chat.json, line 2: byte 9 is not UTF-8"),
        (b"[" * 200_000, "chat.json, line 1: not JSON that can be read"),
    ],
)
def test_what_is_not_json_is_named_by_file_and_line(content: bytes, named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_source(content, "chat.json")
    assert named in str(caught.value)
    assert "nothing was published" in str(caught.value)
