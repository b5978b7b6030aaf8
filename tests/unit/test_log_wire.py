"""The protocol's forms: what is written is one command, what is read is what was said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.log.wire import (
    Delivered,
    delivered,
    header,
    header_block,
    publish_command,
    servers_header,
    status,
    takes_replies,
    text_of,
)
from weft_schemas.errors import InvalidInput

printable = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=50)


def test_a_message_without_headers_is_a_pub() -> None:
    assert publish_command("a.b", "_INBOX.1", b"", b"hello") == b"PUB a.b _INBOX.1 5\r\nhello\r\n"


def test_a_message_with_headers_is_an_hpub_with_both_sizes() -> None:
    block = header_block({"Nats-Msg-Id": "m1"})
    assert block == b"NATS/1.0\r\nNats-Msg-Id: m1\r\n\r\n"
    assert publish_command("a", "r", block, b"xy") == b"HPUB a r 29 31\r\n" + block + b"xy\r\n"


@given(printable)
def test_a_header_value_comes_back(value: str) -> None:
    block = header_block({"a": "first", "ce-id": value, "z": "last"})
    assert header(block, b"ce-id") == value.strip(" \t")
    assert header(block, b"z") == "last"
    assert header(block, b"id") == ""


@pytest.mark.parametrize("value", ["a\r\nNats-Rollup: all", "a\nb", "a\rb"])
def test_a_header_cannot_carry_another(value: str) -> None:
    with pytest.raises(InvalidInput, match="header x holds a line break"):
        header_block({"x": value})


@pytest.mark.parametrize("subject", ["", "a b", "a\r\nPUB x 0", "a\tb", "a\x00"])
def test_a_subject_cannot_carry_a_command(subject: str) -> None:
    with pytest.raises(InvalidInput, match="white space"):
        publish_command(subject, "", b"", b"")


def test_the_servers_header_is_the_last_of_its_name() -> None:
    block = b"NATS/1.0\r\nNats-Sequence: 1\r\nNats-Stream: weft\r\nNats-Sequence: 7\r\n\r\n"
    assert servers_header(block, b"Nats-Sequence") == "7"
    assert servers_header(b"garbage", b"Nats-Sequence") == ""


@given(st.binary(max_size=20))
def test_any_bytes_are_a_text_with_one_mark_for_each_that_is_none(raw: bytes) -> None:
    text = text_of(raw)
    assert text.encode().decode() == text
    assert text_of(b"a\xff" + raw.replace(b"\xff", b"")) == "a\ufffd" + text_of(
        raw.replace(b"\xff", b"")
    )
    assert text_of(b"\xe2\x80") == "\ufffd\ufffd"


@pytest.mark.parametrize("inbox", ["_INBOX.a.1", "_R_.x", "mine.replies"])
def test_an_answer_may_go_to_an_inbox(inbox: str) -> None:
    assert takes_replies(inbox)


@pytest.mark.parametrize("place", ["", "weft.a.b.in.user_turn", "$JS.API.INFO", "w.in", "_I\x0b"])
def test_an_answer_is_no_event_and_no_call(place: str) -> None:
    assert not takes_replies(place)


def test_a_status_is_told_from_a_message() -> None:
    assert status(b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\n\r\n") == (
        408,
        "Request Timeout",
    )
    assert status(b"NATS/1.0 503\r\n\r\n") == (503, "")
    assert status(b"NATS/1.0\r\nNats-Msg-Id: m1\r\n\r\n") == (0, "")
    assert status(None) == (0, "")


def test_both_forms_of_an_ack_subject_are_understood() -> None:
    place = Delivered(2, 10, 7, 1_700_000_000_000_000_001)
    short = b"$JS.ACK.weft.firewall.2.10.7.1700000000000000001.3"
    long = b"$JS.ACK._.hash.weft.firewall.2.10.7.1700000000000000001.3.token"
    assert delivered(short) == place
    assert delivered(long) == place
