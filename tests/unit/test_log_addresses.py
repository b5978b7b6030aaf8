"""What a message shows of an address."""

from __future__ import annotations

import pytest

from weft.log.addresses import with_credentials_as


@pytest.mark.parametrize(
    ("addresses", "shown"),
    [
        ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ("nats://me:secret@host:4222", "nats://***@host:4222"),
        ("nats://me:p@ss/w,rd@host:4222", "nats://***@host:4222"),
        ("nats://me:one@a:1, tls://two@b:2,nats://c:3", "nats://***@a:1, tls://***@b:2,nats://c:3"),
        ("host:4222", "host:4222"),
        ("me@host//path", "me@host//path"),
        ("", ""),
    ],
)
def test_credentials_are_replaced_in_each_address(addresses: str, shown: str) -> None:
    assert with_credentials_as(addresses, "***@") == shown
