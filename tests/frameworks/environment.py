"""The frameworks' environment, in which scripts run as a user's do: the real frameworks, and of
weft the base install alone. `make integrations` makes it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import weft
from tests.data import ROOT
from weft_schemas.items import ContextItem

EXAMPLES = ROOT / "examples" / "frameworks"
PYTHON = os.environ.get("WEFT_FRAMEWORKS_PYTHON", str(ROOT / ".venv-frameworks/bin/python"))
PATIENCE_SECONDS = 300


async def run(script: Path, folder: Path, url: str, **settings: str) -> str:
    """Run a script; what it printed, complaints and all."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(EXAMPLES)}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONWARNINGS": "default"}
    process = await asyncio.create_subprocess_exec(
        PYTHON,
        str(script),
        cwd=folder,
        env=kept | quiet | {"WEFT_NATS_URL": url} | settings,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    finally:
        if process.returncode is None:  # with what it started
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, out.decode()
    return out.decode()


async def logged(url: str, session: str) -> list[ContextItem]:
    """The session's items as they stand in the log, doubles and all."""
    async with weft.connect(url) as client:
        events = [record.event() async for record in client.events(session)]
    return [event for event in events if isinstance(event, ContextItem)]
