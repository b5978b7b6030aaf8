"""Ids: subject tokens that come back as they went, digests that do not collide by joining."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data import ROOT

from weft_schemas.errors import InvalidInput
from weft_schemas.ids import (
    TENANT_SESSION,
    artifact_handle,
    body_name,
    decode_token,
    digest,
    encode_token,
)
from weft_schemas.subjects import derived_subject, item_subject, parse_request, parse_stored

PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
names = st.text(min_size=1, max_size=60).filter(
    lambda name: len(name.encode("utf-8", "ignore")) > 0 and name.isprintable()
)


@given(names)
def test_any_name_is_one_token_and_comes_back(name: str) -> None:
    token = encode_token(name)
    assert not set(token) & set(".*> \t\r\n")
    assert decode_token(token) == name


@given(names, names)
def test_two_names_never_share_a_token(one: str, other: str) -> None:
    assert (encode_token(one) == encode_token(other)) == (one == other)


@pytest.mark.parametrize("token", ["", "a.b", "a b", "=", "=!!", "=YQ", "@other", "a\n"])
def test_a_token_that_encoding_never_makes_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput):
        decode_token(token)


def test_digest_keeps_its_parts_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", "") != digest("a")


def test_a_handle_is_short_and_belongs_to_one_item_of_one_session() -> None:
    handle = artifact_handle("acme", "s1", "call-1")
    assert handle == artifact_handle("acme", "s1", "call-1")
    assert handle.startswith("art:")
    assert len(handle) == 14
    assert handle != artifact_handle("acme", "s2", "call-1")


def test_subjects_carry_tenant_and_session_and_come_apart_again() -> None:
    assert item_subject("acme", "s1", "user_turn") == "weft.acme.s1.in.user_turn"
    assert derived_subject("acme", TENANT_SESSION, "catalog") == "weft.acme.@tenant.out.catalog"
    stored = parse_stored(f"w.in.7.acme.{encode_token('sess:1')}.tool_result")
    assert (stored.partition, stored.tenant, stored.session) == (7, "acme", "sess:1")
    assert parse_request("weft-rpc.acme.s1.compile") == ("acme", "s1", "compile")


@pytest.mark.parametrize(
    "subject",
    ["", "w.in.1.a.b", "w.up.1.a.b.c", "w.in.x.a.b.c", "w.out.1.a.b.c.d", "weft.a.b.in.c"],
)
def test_a_foreign_subject_is_refused(subject: str) -> None:
    with pytest.raises(InvalidInput):
        parse_stored(subject)


def test_the_protocols_example_of_a_bodys_name_is_right() -> None:
    (digest,) = re.findall(r"^sha256:  (\w+)$", PROTOCOL, re.M)
    assert digest == hashlib.sha256(b"hello").hexdigest()
    assert re.findall(r"^object:  (\w+)$", PROTOCOL, re.M) == [body_name("acme", digest)]
