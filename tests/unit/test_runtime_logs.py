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
