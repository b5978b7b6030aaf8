"""What is told of a connection that could not be made."""

import pytest

from weft.log.connect_errors import _without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("nats://ann:p@ss@one:1", "nats://one:1"),
        ("nats://ann:p,a/ss@one:1", "nats://one:1"),
        ("nats://ann:pass@one:1, tls://bob:word@two:2", "nats://one:1, tls://two:2"),
        ("nats://one:1,nats://two:2", "nats://one:1,nats://two:2"),
    ],
)
def test_passwords_are_left_out_to_their_end(address: str, shown: str) -> None:
    assert _without_password(address) == shown
