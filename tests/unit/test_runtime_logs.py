"""JSON lines on stderr: one object a line, fields as keys, no text of a strange exception."""

import json
import subprocess
import sys

PROGRAM = """
import logging
from weft.runtime.logs import set_up_logging
from weft_schemas.errors import NotFound
set_up_logging("firewall", "info")
log = logging.getLogger("weft.test")
log.info("two\\nlines", extra={"fields": {"sequence": 7}})
log.debug("unheard")
for error in (ValueError("the body's text"), NotFound("session 's1' is unknown")):
    try:
        raise error
    except Exception:
        log.exception("it failed")
"""


def test_every_line_is_json_without_any_bodys_text():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    first, second, third = (json.loads(line) for line in done.stderr.splitlines())
    assert (first["message"], first["sequence"]) == ("two\nlines", 7)
    assert (first["process"], first["level"]) == ("firewall", "info")
    assert second["error"] == "ValueError at <string>:11"
    assert third["error"] == "session 's1' is unknown"
    assert "body's text" not in done.stderr


REPEATING = """
import asyncio, logging
from weft.runtime import logs
logs.REPEAT_SECONDS = 0.2
log = logging.getLogger("weft.test")

def fail(sequence):
    error = f"session 's{sequence}' waits for {sequence} items"
    log.warning("an event failed", extra={"fields": {"sequence": sequence, "error": error}})

async def main():
    logs.set_up_logging("summarizer", "info")
    for sequence in range(50):
        fail(sequence)
    for child in ("firewall-1", "firewall-2"):
        log.warning("a child ended", extra={"fields": {"child": child}})
    (handler,) = logging.getLogger().handlers
    while handler._causes:
        await asyncio.sleep(0.01)
    fail(50)
    fail(51)
    log.error("the process ends")

asyncio.run(main())
"""


def test_a_cause_is_written_once_then_counted_and_quiet_when_it_is_over():
    done = subprocess.run(
        [sys.executable, "-c", REPEATING], capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    logged = [(one["message"], one.get("sequence"), one.get("count")) for one in lines]
    assert logged == [
        ("an event failed", 0, None),
        ("a child ended", None, None),
        ("a child ended", None, None),
        ("an event failed", 49, 49),
        ("over: an event failed", None, 50),
        ("an event failed", 50, None),
        ("an event failed", 51, 1),
        ("the process ends", None, None),
    ]
    assert [one["level"] for one in lines] == ["warning"] * 4 + ["info"] + ["warning"] * 2 + [
        "error"
    ]
    assert lines[3]["error"] == "session 's49' waits for 49 items"


def test_a_long_error_is_cut():
    program = PROGRAM.replace("session 's1' is unknown", "x" * 5_000)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert json.loads(done.stderr.splitlines()[-1])["error"] == "x" * 999 + "…"
