"""What a process writes to stderr: one JSON object per line, never the text of a body.

An exception from outside weft may quote the text that caused it, so only its type and location are
written. A repeated message is written once and then counted, so that an error on every event does
not hide the next one.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import time
import traceback
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput, WeftError

REPEAT_SECONDS = 30.0
"""How often a repeated message's count is written, and how long without it until it is over."""
MAX_CAUSES = 200
"""Messages that are counted at a time; others are written as they come."""
MAX_ERROR_CHARACTERS = 1_000
"""The longest messages say at their end what to do."""
ENDS = "the process ends"
"""The message that a service logs with the error that ended it."""

_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|\b[0-9a-f]{16,}\b|(?<![\w-])\d[\d.,]*")
"""The differences between occurrences of one cause: quoted names, digests and numbers."""


def set_up_logging(process: str, level: str) -> None:
    """Send every logger of this process to stderr as JSON, from `level` (such as `info`) on."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(_JsonLines(process))
    handler = _Counting(stream, logging.getLogger().level)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("nats", "faststream", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # It writes tracebacks of a failed start, which the process reports itself.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)


def end_logging() -> None:
    """Write the outstanding counts and remove the handler, before the stream is closed."""
    root = logging.getLogger()
    for handler in tuple(root.handlers):
        if isinstance(handler, _Counting):
            root.removeHandler(handler)
            handler.close()
            root.setLevel(handler.level_before)


def fields(**values: object) -> dict[str, object]:
    """`extra=fields(sequence=17)` of a log call: keys of its line."""
    return {"fields": values}


def safe_error(error: BaseException) -> str:
    """The error without any body: the message of weft's own, else type and place."""
    if isinstance(error, WeftError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class _Repeated(msgspec.Struct):
    """The occurrences of one cause, since its last line and in all."""

    since: int = 0
    total: int = 1
    last: logging.LogRecord | None = None


class _Counting(logging.Handler):
    """Writes the first line of a cause at once, then counts; without an event loop, writes all."""

    def __init__(self, stream: logging.Handler, level_before: int) -> None:
        super().__init__()
        self.level_before = level_before
        """Of the root logger, to be restored."""
        self._stream = stream
        self._causes: dict[str, _Repeated] = {}

    def emit(self, record: logging.LogRecord) -> None:
        cause = _cause(record)
        if (known := self._causes.get(cause)) is not None:
            known.since, known.total, known.last = known.since + 1, known.total + 1, record
            return
        if record.levelno >= logging.ERROR:
            self._write_counts()  # they may have led to the error
        self._stream.handle(record)
        if len(self._causes) < MAX_CAUSES and self._look_later(cause):
            self._causes[cause] = _Repeated()

    def close(self) -> None:
        """Write the counts of suppressed lines at the end of the process."""
        self._write_counts()
        self._causes.clear()
        super().close()

    def _write_counts(self) -> None:
        for repeated in self._causes.values():
            self._write_count(repeated)

    def _look_later(self, cause: str) -> bool:
        try:
            asyncio.get_running_loop().call_later(REPEAT_SECONDS, self._look, cause)
        except RuntimeError:
            return False
        return True

    def _look(self, cause: str) -> None:
        repeated = self._causes.get(cause)
        if repeated is None:
            return
        if repeated.since:
            self._write_count(repeated)
            self._look_later(cause)
            return
        del self._causes[cause]
        if repeated.last is not None and logging.getLogger().isEnabledFor(logging.INFO):
            self._stream.handle(_over(repeated.last, repeated.total))

    def _write_count(self, repeated: _Repeated) -> None:
        if repeated.since and repeated.last is not None:
            known = getattr(repeated.last, "fields", {})
            repeated.last.fields = {**known, "count": repeated.since}
            self._stream.handle(repeated.last)
            repeated.since = 0


def _cause(record: logging.LogRecord) -> str:
    """The same for lines that differ only in numbers and names."""
    error = record.exc_info[1] if record.exc_info else None
    parts = [record.name, record.levelname, record.getMessage(), safe_error(error) if error else ""]
    parts += [str(value) for value in getattr(record, "fields", {}).values()]
    return _OWN.sub("", "\n".join(parts))


def _over(last: logging.LogRecord, total: int) -> logging.LogRecord:
    message = f"over: {last.getMessage()}"
    line = logging.LogRecord(last.name, logging.INFO, last.pathname, last.lineno, message, (), None)
    line.fields = {"count": total}
    return line


class _JsonLines(logging.Formatter):
    """The values of `fields` become keys of the line."""

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
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            # The message of malformed input may name an item, whose erasure a log file outlives.
            line["error"] = error.code if isinstance(error, InvalidInput) else safe_error(error)
        said = line.get("error")
        if isinstance(said, str) and len(said) > MAX_ERROR_CHARACTERS:
            line["error"] = f"{said[: MAX_ERROR_CHARACTERS - 1]}…"
        return msgspec.json.encode(line, enc_hook=str).decode("utf-8", "replace")
