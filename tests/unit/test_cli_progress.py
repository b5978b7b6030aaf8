"""A command that takes its time shows at a terminal that it is at work, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

SCRIPT = """
import asyncio
from weft.cli import connecting
from weft.cli.progress import progress
connecting.SILENT_SECONDS = 0.2

async def work():
    {body}

connecting.running(work(), talks={talks})
print("done")
"""
PLAIN = "await asyncio.sleep(2)"
WITH_BAR = """
    with progress("events") as on_progress:
        on_progress(1, 9)
        await asyncio.sleep(2)
"""


def run(body: str, talks: bool = False) -> tuple[str, str]:
    """What it prints, and what a terminal shows on stderr."""
    mine, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    code = SCRIPT.format(body=body, talks=talks)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environ
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(mine, 4_096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(mine)
    assert process.returncode == 0, shown
    return out.decode(), shown.decode()


def test_a_terminal_sees_that_it_is_at_work() -> None:
    out, shown = run(PLAIN)
    assert out == "done\n"
    assert "at work for" in shown


@pytest.mark.parametrize(("body", "talks"), [(WITH_BAR, False), (PLAIN, True)])
def test_what_shows_more_or_talks_is_left_alone(body: str, talks: bool) -> None:
    _, shown = run(body, talks)
    assert "at work for" not in shown
    assert ("events" in shown) is not talks


def test_where_nobody_looks_nothing_is_written() -> None:
    code = SCRIPT.format(body=PLAIN, talks=False)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


SHORT = """
    import sys
    await asyncio.sleep(0)
    print("rich" in sys.modules)
"""


def test_a_short_command_does_not_load_what_would_show_it() -> None:
    out, _ = run(SHORT)
    assert out == "False\ndone\n"
