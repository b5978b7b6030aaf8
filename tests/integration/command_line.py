"""Runs `weft` as a user does: a process, its exit code and what it printed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, NamedTuple


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def weft(*arguments: str, url: str = "", given: bytes = b"") -> Ran:
    """Run a command to its end; `url` is the server, `given` its stdin."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    if url:
        environ["WEFT_NATS_URL"] = url
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "weft.cli.main",
        *arguments,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(given)
    return Ran(process.returncode or 0, out.decode(), err.decode())
