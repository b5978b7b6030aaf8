"""Crash points: empty unless armed, deadly at the n-th hit, and all of them known."""

import signal
import subprocess
import sys

import pytest

from weft.runtime.crashpoints import POINTS, crash_point
from weft_schemas.errors import ConfigurationError


def test_every_point_is_harmless_unless_armed():
    for name in POINTS:
        assert crash_point(name, {})() is None


def test_an_armed_point_kills_the_process_at_the_given_hit():
    program = (
        "from weft.runtime.crashpoints import crash_point\n"
        "point = crash_point('firewall.after_ack')\n"
        "other = crash_point('memory.after_ack')\n"
        "for turn in range(5):\n"
        "    other(); print(turn, flush=True); point()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"WEFT_CRASH_AT": "firewall.after_ack:3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["0", "1", "2"]
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("setting", ["firewall.after_lunch", "firewall.after_ack:0", "x:y"])
def test_arming_nonsense_is_refused(setting):
    with pytest.raises(ConfigurationError, match="WEFT_CRASH_AT"):
        crash_point("firewall.after_ack", {"WEFT_CRASH_AT": setting})


def test_an_unregistered_point_cannot_be_placed():
    with pytest.raises(ConfigurationError, match="no crash point"):
        crash_point("firewall.after_lunch", {})
