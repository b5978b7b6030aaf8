"""Runs `weft` as a user does: a process, its exit code and what it printed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.preloaded import program

PIPES = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
READY_SECONDS = 120.0
COMPILES = ("--summarizer", "0", "--memory", "0", "--router", "0")
"""Of `services`, where a test publishes, compiles and drills down only."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def weft(
    *arguments: str,
    url: str = "",
    given: bytes = b"",
    interrupt_after: int = 0,
    settings: Mapping[str, str] = {},
) -> Ran:
    """Run a command to its end; `url` is the server, `given` its stdin, `settings` are further
    `WEFT_` variables. With `interrupt_after` it gets Ctrl-C after so many lines."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    environ |= settings
    if url:
        environ["WEFT_NATS_URL"] = url
    if not interrupt_after:
        forked = await program("weft.cli.main", *arguments, env=environ, **PIPES)
        out, err = await forked.communicate(given)
        return Ran(forked.returncode or 0, out.decode(), err.decode())
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "weft.cli.main", *arguments),
        env=environ,
        preexec_fn=_heed_ctrl_c,
        **PIPES,
    )
    seen = b""
    assert process.stdout is not None
    for _ in range(interrupt_after):
        seen += await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate(given)
    return Ran(process.returncode or 0, (seen + out).decode(), err.decode())


def _heed_ctrl_c() -> None:
    """Also where the tests run in the background of a shell, which has them ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@asynccontextmanager
async def services(
    folder: Path, *options: str, settings: Mapping[str, str] = {}
) -> AsyncIterator[str]:
    """`weft up` on a folder and a free port; gives the server's address when it is ready.
    `settings` are `WEFT_` variables."""
    process = await program(
        "weft.cli.main",
        "up",
        "--data",
        str(folder),
        *([] if any(option.startswith("--nats") for option in options) else ["--port", "0"]),
        *options,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("WEFT_")},
            **settings,
        },
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(READY_SECONDS):
            async for line in process.stderr:
                lines.append(line.decode())
                if lines[-1].startswith("ready"):
                    break
        url = lines[0].split()[2].rstrip(",")
        assert url.startswith("nats://"), lines
        drained = asyncio.create_task(process.stderr.read())
        yield url
    except TimeoutError:
        raise AssertionError(f"weft up is not ready: {lines}") from None
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    assert b"stopped" in await drained
