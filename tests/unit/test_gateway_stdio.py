"""What ended a server that speaks over its standard streams."""

import signal

from weft.gateway.transports.stdio import _name_of


def test_signals_without_a_name_are_told_by_their_number() -> None:
    assert _name_of(signal.SIGKILL) == "SIGKILL"
    assert _name_of(40) == "signal 40"
