"""Tells from a result whether the call succeeded."""

from __future__ import annotations

import re

import msgspec
import re2

from weft_schemas.envelope import ResultStatus

_END = 3_000
"""Characters at each end that are searched for a verdict."""
_MARK = 400
"""Characters at each end that are searched for a mark of truncation."""

_ERROR_START = re.compile(
    r"\A\W{0,6}(?:(?:fatal )?error\b|err:|exception\b|traceback \(most recent call last\)"
    r"|fatal:|panic:"
    r"|failed\b|failure\b|[\w.]{0,80}(?:Error|Exception)\b\s*[:(]"
    r"|http(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d\b|[45]\d\d [A-Z]"
    r"|(?:access|permission) denied|unauthorized|forbidden\b|not found\b"
    r"|command not found|bash: |sh: "
    r"|unable to |could not |cannot |invalid )",
    re.IGNORECASE,
)
_ERROR_ANYWHERE = re2.compile(
    rb"(?m)^Traceback \(most recent call last\):|^(?:[\w.]{1,80}(?:Error|Exception))(?::|$)"
    rb"|(?i:\b(?:exit(?:ed)?(?: with)?(?: status| code| value)?|return code|exit_code))[^\w]{1,4}"
    rb"-?[1-9][0-9]{0,2}\b"
    rb"|^(?:npm ERR!|make(?:\[[0-9]+\])?: \*\*\*|error(?:\[E[0-9]+\])?: |FATAL|BUILD FAILED"
    rb"|Segmentation fault)|^(?:bash|sh|zsh): .{1,200}(?:not found|No such file|denied)"
    rb"|^=+ .{0,60}\b[1-9][0-9]* (?:failed|errors?)\b|^FAILED \(|^test result: FAILED"
    rb"|^Tests:\s+[1-9][0-9]* failed"
)
_TRUNCATED = re2.compile(
    rb"(?i)\btruncated\b|\[\.\.\. ?[0-9]+|\.\.\. ?\[?[0-9]+ (?:more )?"
    rb"(?:lines|characters|chars|bytes|rows|items)|<response clipped>|content (?:too long|omitted)"
)
_ERROR_KEYS = (
    "error",
    "errors",
    "exception",
    "isError",
    "is_error",
    "errorMessage",
    "error_message",
)
_STATUS_KEYS = (
    "status",
    "statusCode",
    "status_code",
    "code",
    "http_status",
    "exit_code",
    "exitCode",
)
_BAD_WORDS = frozenset(("error", "failed", "failure", "fail", "exception", "fatal", "denied"))
_PARTIAL_KEYS = ("truncated", "is_truncated", "isTruncated", "partial", "incomplete_results")


def status_of(text: str, value: object, is_error: bool | None) -> ResultStatus:
    """`is_error` is the tool's own statement (`isError`, metadata); `value` is the decoded JSON or
    None."""
    if is_error:
        return ResultStatus.ERROR
    inner = _payload(value)
    if isinstance(inner, dict):
        told = _of_object(inner)
        if told is not None:
            return told
    if value is None and is_error is None and _reads_as_error(text):
        return ResultStatus.ERROR
    if value is None and is_truncated(text):
        return ResultStatus.PARTIAL
    return ResultStatus.SUCCESS


def _reads_as_error(text: str) -> bool:
    if _ERROR_START.match(text[:200]):
        return True
    return any(_ERROR_ANYWHERE.search(part) for part in _ends(text, _END))


def is_truncated(text: str) -> bool:
    """Whether the tool says that it left something out."""
    return any(_TRUNCATED.search(part) for part in _ends(text, _MARK))


def _ends(text: str, size: int) -> list[bytes]:
    """The first and the last `size` characters, or all of a short text."""
    if len(text) <= 2 * size:
        return [text.encode()]
    return [text[:size].encode(), text[-size:].encode()]


def _payload(value: object) -> object:
    """The content of a server's own wrapper: frameworks return the result of a tool as `{"result":
    …}`, and a tool that returns text may have written JSON into it."""
    for _ in range(_WRAPPINGS):
        if not isinstance(value, dict) or value.keys() != {"result"}:
            return value
        held = value["result"]
        if isinstance(held, str):
            if not held.startswith("{") or len(held) > _READ:
                return value
            try:
                held = msgspec.json.decode(held)
            except (msgspec.DecodeError, RecursionError):
                return value
        value = held
    return value


_WRAPPINGS = 3
_READ = 100_000
"""How many characters of a wrapped text are read."""


def _of_object(value: dict[str, object]) -> ResultStatus | None:
    if any(value.get(key) for key in _ERROR_KEYS):
        return ResultStatus.ERROR
    if value.get("success") is False or value.get("ok") is False:
        return ResultStatus.ERROR
    for key in _STATUS_KEYS:
        if _is_bad(key, value.get(key)):
            return ResultStatus.ERROR
    if any(value.get(key) is True for key in _PARTIAL_KEYS):
        return ResultStatus.PARTIAL
    return None


def _is_bad(key: str, held: object) -> bool:
    if isinstance(held, str):
        if held.isdigit() and len(held) == 3:
            return held[0] in "45" and key != "code"
        return held.lower() in _BAD_WORDS
    if isinstance(held, bool) or not isinstance(held, int):
        return False
    return held != 0 if "exit" in key.lower() else 400 <= held <= 599
