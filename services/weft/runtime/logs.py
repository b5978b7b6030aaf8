"""What a process writes to stderr: one JSON object per line, never a body's text.

An exception from outside weft may quote the text it stumbled over, so of those only the type and
the place are written.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import Any

import msgspec

from weft_schemas.errors import WeftError


def set_up_logging(process: str, level: str) -> None:
    """Send every logger of this process to stderr as JSON, from `level` (such as `info`) on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines(process))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("nats", "faststream", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # It writes whole tracebacks of a failed start, which the process reports itself.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)


def safe_error(error: BaseException) -> str:
    """The error in words that hold no body: weft's own message, else type and place."""
    if isinstance(error, WeftError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class _JsonLines(logging.Formatter):
    """`extra={"fields": {…}}` of a log call become keys of the line."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "process": self._process,
            "pid": record.process,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = safe_error(record.exc_info[1])
        return msgspec.json.encode(line, enc_hook=str).decode("utf-8", "replace")
