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
    r"\A\W{0,6}(?:(?:fatal )?error\b(?! ?(?:handling|codes?|messages?|logs?|rates?|types?)\b)"
    r"|err:|exception\b|traceback \(most recent call last\)"
    r"|fatal:|panic:"
    r"|(?:failed|failure)\b(?!:? *0\b)|[\w.]{0,80}(?:Error|Exception)\b\s*[:(]"
    r"|http(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d\b"
    r"|[45]\d\d (?:Bad |Unauthori|Payment|Forbidden|Not |Method|Proxy|Request|Conflict|Gone|Length"
    r"|Payload|URI|Unsupported|Range|Expectation|Unprocess|Locked|Too |Internal|Service"
    r"|Gateway|HTTP|Insufficient|Network|Error)"
    r"|(?:access|permission) denied|unauthorized|forbidden\b|not found\b(?!:? *0\b)"
    r"|command not found|(?:ba|z)?sh: [^\n]{0,200}(?:not found|no such|denied|error|line \d))",
    re.IGNORECASE,
)
_SHORT = 400
"""Characters of a text that is likely a message about the call if it begins with a refusal."""
_REFUSAL = re.compile(r"\A\W{0,6}(?:unable to |could not |cannot |invalid )", re.IGNORECASE)
_ERROR_ANYWHERE = re2.compile(
    rb"(?m)^Traceback \(most recent call last\):|^(?:[\w.]{1,80}(?:Error|Exception))(?::|$)"
    rb"|^.{0,80}(?i:\b(?:exit(?:ed)?(?: with)?(?: status| code| value)|exited with|exit_code"
    rb"|return(?:ed)?(?: a)?(?: non-zero)? code))[^\w\n]{1,4}-?[1-9][0-9]{0,2}[^\w\n]{0,3}$"
    rb"|^(?:npm ERR!|npm error|make(?:\[[0-9]+\])?: \*\*\*|[Ee]rror(?:\[E[0-9]+\])?: |FATAL"
    rb"|ERROR:  |fatal: |(?:\[INFO\] )?BUILD FAIL(?:ED|URE)|Segmentation fault|curl: \([0-9]+\)"
    rb"|PHP Fatal error|Unhandled exception|Exception in thread |Caused by: |--- FAIL: |FAIL\t"
    rb"|thread '.{1,80}' panicked)|^(?:bash|sh|zsh): .{1,200}(?:not found|No such file|denied)"
    rb"|^=+ .{0,60}\b[1-9][0-9]* (?:failed|errors?)\b|^FAILED \(|^test result: FAILED"
    rb"|^Tests:\s+[1-9][0-9]* failed|^[0-9]+ examples?, [1-9][0-9]* failures?"
    rb"|^\S{1,200}(?:\([0-9]+,[0-9]+\): error TS[0-9]|:[0-9]+:[0-9]+: (?:fatal )?error: )"
    rb"|^psql:.{1,200}: (?:ERROR|FATAL):|^\s*<(?:\w+:)?Fault>|^(?:<\?xml[^>]*>\s*)?<Error>\s*<Code>"
    rb"|<title>\s*[45][0-9][0-9] "
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
        status = _of_object(inner)
        if status is not None:
            return status
    if _all_failed(inner):
        return ResultStatus.ERROR
    if value is None and is_error is None and _reads_as_error(text):
        return ResultStatus.ERROR
    if value is None and is_truncated(text):
        return ResultStatus.PARTIAL
    return ResultStatus.SUCCESS


def _reads_as_error(text: str) -> bool:
    if _ERROR_START.match(text[:400]) or (len(text) <= _SHORT and _REFUSAL.match(text)):
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
    if any(_says_error(value.get(key)) for key in _ERROR_KEYS):
        return ResultStatus.ERROR
    if value.get("success") is False or value.get("ok") is False:
        return ResultStatus.ERROR
    for key in _STATUS_KEYS:
        if _is_bad(key, value.get(key)) and (key != "code" or _TELLING.intersection(value)):
            return ResultStatus.ERROR
    if any(value.get(key) is True for key in _PARTIAL_KEYS):
        return ResultStatus.PARTIAL
    return None


def _all_failed(value: object) -> bool:
    """Whether a call did several things and each of them failed: all records of a list, or of a
    list in an object, say that they had no success, and why."""
    lists = [value] if not isinstance(value, dict) else [*value.values()]
    records = [held for held in lists if isinstance(held, list) and held]
    return len(records) == 1 and all(
        isinstance(record, dict)
        and (record.get("success") is False or record.get("ok") is False)
        and any(_says_error(record.get(key)) for key in _ERROR_KEYS)
        for record in records[0]
    )


_TELLING = frozenset(("message", "msg", "detail", "details", "reason", "description", "title"))
"""What stands beside a `code` that says how the call went."""
_NO_ERROR = frozenset(("", "0", "none", "null", "no", "false", "ok", "success"))


def _says_error(held: object) -> bool:
    """Whether the value of an error field says that there was one; counts of 0 do not."""
    if isinstance(held, str):
        return held.strip().lower() not in _NO_ERROR
    if isinstance(held, dict):
        return any(map(_says_error, held.values()))
    return bool(held)


def _is_bad(key: str, held: object) -> bool:
    if isinstance(held, str):
        if held.isdigit() and len(held) == 3:
            return held[0] in "45" and key != "code"
        return held.lower() in _BAD_WORDS
    if isinstance(held, bool) or not isinstance(held, int):
        return False
    return held != 0 if "exit" in key.lower() else 400 <= held <= 599
