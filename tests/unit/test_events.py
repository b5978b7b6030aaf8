"""Events: canonical bytes out, strict decoding in, errors that name the path."""

import pytest

from weft_schemas.errors import InvalidInput, UnknownVersion
from weft_schemas.events import decode_event, encode_event
from weft_schemas.items import ContextItem, ItemKind


def test_the_same_event_has_the_same_bytes_whatever_the_order_of_its_keys() -> None:
    one = ContextItem("a", ItemKind.USER_TURN, metadata={"x": 1, "b": 2})
    two = ContextItem("a", ItemKind.USER_TURN, metadata={"b": 2, "x": 1})
    assert encode_event(one) == encode_event(two)
    assert decode_event(encode_event(one)) == one


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "not an event in JSON"),
        (b"[]", "not an event in JSON"),
        (b'"\xff"', "not an event in JSON"),
        (b'{"type":"nothing"}', "an unknown type"),
        (b'{"type":"item","id":"a","kind":"shout"}', "$.kind"),
        (b'{"type":"item","id":"a","kind":"policy","wrong":1}', "unknown field"),
        (b'{"type":"item","id":"a","kind":"policy","v":0}', "$.v"),
        (b'{"type":"envelope","origin":{"sequence":"x"},"envelope":{}}', "$.origin.sequence"),
        (b"[" * 100_000, "not an event in JSON"),
        (
            b'{"type":"item","id":"a","kind":"policy","metadata":' + b'{"a":' * 5_000,
            "not an event in JSON",
        ),
        (
            b'{"type":"item","id":"a","kind":"policy","metadata":'
            + b'{"a":' * 65
            + b"1"
            + b"}" * 66,
            "$.metadata is nested deeper than 64",
        ),
    ],
)
def test_a_malformed_event_is_refused_with_its_path(payload: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        decode_event(payload)
    assert message in str(refusal.value)


def test_a_future_version_is_unknown_and_not_guessed() -> None:
    with pytest.raises(UnknownVersion, match="version 2"):
        decode_event(b'{"type":"item","v":2,"id":"a","kind":"policy","later":true}')
    with pytest.raises(UnknownVersion, match="version 9"):
        decode_event(b'{"type":"item","v":9,"id":"a","kind":"policy"}')


def test_an_event_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be encoded"):
        encode_event(ContextItem("a", ItemKind.USER_TURN, text="\ud800"))


def test_metadata_may_be_nested_to_the_limit() -> None:
    payload = (
        b'{"type":"item","id":"a","kind":"policy","metadata":' + b'{"a":' * 64 + b"1" + b"}" * 65
    )
    assert decode_event(payload)
