"""Tells from a text whether the call that returned it failed: by how it begins and ends, and never
by the errors of a log that was only read."""

from __future__ import annotations

import re
from itertools import takewhile

import re2

from weft.firewall.failure_forms import (
    begins_with_diagnostic,
    begins_with_named_error,
    ends_with_bad_status,
    has_error_code,
    is_fault,
)
from weft.firewall.refused_text import begins_with_refusal, says_not_done

_END = 3_000
"""Characters at each end that are searched for a verdict."""
_MARK = 400
"""Characters at each end that are searched for a mark of truncation."""

_ERROR_START = re.compile(
    r"\A\W{0,6}(?:(?:fatal )?error\b(?!,\S|\t| ?\|)"
    r"(?! ?(?:handling|codes?|messages?|logs?|rates?|types?)\b)"
    r"|err:|exception\b|traceback \(most recent call last\)"
    r"|fatal:|panic:"
    r"|(?:failed|failure)\b(?!:? *0\b)|[\w.]{0,80}(?:Error|Exception)\b\s*[:(]"
    r"|http(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d\b"
    r"|[45]\d\d (?:Bad |Unauthori|Payment|Forbidden|Not |Method|Proxy|Request|Conflict|Gone|Length"
    r"|Payload|URI|Unsupported|Range Not|Expectation|Unprocess|Locked|Too |Internal"
    r"|Service (?:Un|Temporarily )|Gateway Time|HTTP|Insufficient|Network (?:Auth|Connect|Read)"
    r"|Error)"
    r"|(?:access|permission) denied|unauthorized|forbidden\b|not found\b(?!:? *0\b)"
    r"|(?:fehler|erreur|errore|erro|fout|fel|virhe|b\u0142\u0105d|chyba|hiba|hata|l\u1ed7i"
    r"|\u043e\u0448\u0438\u0431\u043a\u0430|\u043f\u043e\u043c\u0438\u043b\u043a\u0430"
    r"|\u9519\u8bef|\u932f\u8aa4|\u30a8\u30e9\u30fc|\uc624\ub958)\s?[:\uff1a]"
    r"|command not found|(?:ba|z)?sh: [^\n]{0,200}(?:not found|no such|denied|error|line \d))",
    re.IGNORECASE,
)
_SHORT = 400
"""Characters of a text that is likely a message about the call if it begins with a refusal."""
_REFUSAL = re.compile(
    r"\A\W{0,6}(?:unable to |could not |cannot |invalid )"
    r"|\A% ?(?:(?:incomplete|ambiguous|unknown|unrecognized|bad) (?:command|input|host|ip|mask)"
    r"|rejected by )",  # as network devices refuse a command
    re.IGNORECASE,
)
_ERROR_ANYWHERE = re2.compile(
    rb"(?m)^Traceback \(most recent call last\):|^(?:[\w.]{1,80}(?:Error|Exception))(?::|$)"
    rb"|^.{0,80}(?i:\b(?:exit(?:ed)?(?: with)?(?: status| code| value)|exited with|exit_code"
    rb"|return(?:ed)?(?: a)?(?: non-zero)? code))[^\w\n]{1,4}-?[1-9][0-9]{0,2}[^\w\n]{0,3}$"
    rb"|^\x{2577}\s{0,3}\n\x{2502} Error: "  # Terraform
    rb"|^(?:npm ERR!|npm error|make(?:\[[0-9]+\])?: \*\*\*|[Ee]rror(?:\[E[0-9]+\])?: |FATAL"
    rb"|ERROR:  |fatal: |(?:\[INFO\] )?BUILD FAIL(?:ED|URE)|Segmentation fault|curl: \([0-9]+\)"
    rb"|PHP Fatal error|Unhandled exception|Exception in thread |Caused by: |--- FAIL: |FAIL\t"
    rb"|thread '.{1,80}' panicked)|^(?:bash|sh|zsh): .{1,200}(?:not found|No such file|denied)"
    rb"|^=+ .{0,60}\b[1-9][0-9]* (?:failed|errors?)\b|^FAILED \(|^test result: FAILED"
    rb"|^(?:FAILURES|ERRORS)!\s*$|^(?:[A-Z]{2,20} ){0,4}FAILED:? [1-9][0-9]* errors?\W{0,2}$"
    rb"|^(?:ORA|PLS|TNS|SP2)-[0-9]{4,5}: "
    rb"|^\s*Tests:?\s+[1-9][0-9]* failed(?:,| \||\s*\(|\s*$)|^\x{2716} [0-9]+ problems? \([1-9]"
    rb"|^[0-9]+ examples?, [1-9][0-9]* failures?"
    rb"|^\S{1,200}(?:\([0-9]+,[0-9]+\): error TS[0-9]|:[0-9]+:[0-9]+: (?:fatal )?error: )"
    rb"|^psql:(?:.{1,200}:)? (?:ERROR|FATAL):|^\s*<(?:\w+:)?Fault>"
    rb"|^(?:<\?xml[^>]*>\s*)?<Error>\s*<Code>"
    rb"|<title>\s*[45][0-9][0-9] "
    rb"|^[1-9][0-9]* (?:failed|errors?)(?:, [0-9]+ \w{1,20}){0,6} in [0-9.]+s"  # pytest -q
    rb"|^[\w.+-]{1,40}: (?:fatal )?error: |^E: (?:Unable|Could not|Failed|Package) "  # apt
    rb"|^An error occurred \(\w{1,80}\) when calling |^Uncaught \w{0,40}Error: "
    rb"|^'[^'\n]{1,200}' is not recognized as an internal or external command"
    rb"|^\*\* (?:[A-Z]+ ){1,3}FAILED \*\*\s*$"  # Xcode
    rb"|^ ! \[[^\]\n]{1,60}\] +\S{1,200} +-> "  # a branch that git could not push or fetch
    rb"|^\s*Executed [0-9]+ tests?, with (?:[0-9]+ tests? skipped and )?[1-9][0-9]* failures?\b"
)
_SYSTEM_ERROR = re2.compile(
    rb"[\w./\[\]-]{1,80}: (?:.{1,300}: )?(?:No such file or directory|Permission denied"
    rb"|Operation not permitted|Read-only file system|No space left on device|File exists"
    rb"|Is a directory|Not a directory|Directory not empty|Device or resource busy|Text file busy"
    rb"|Input/output error|Too many open files|Argument list too long|Exec format error"
    rb"|Cannot allocate memory|Broken pipe|Connection refused|command not found)"
)
"""A line of a program that gives the name of a system error, `rm: a: Read-only file system`."""
_MAX_SYSTEM_ERRORS = 4
"""Lines of a text that says nothing else."""
_LAST_ERROR = "ERROR: "
"""How the last line of many builds begins if they failed; above others, it may be a warning."""
_LEVELS = re2.compile(rb"(?m)^(?:INFO|DEBUG|WARN|WARNING|NOTICE): ")
_TRUNCATED = re2.compile(
    rb"(?i)\btruncated\b|\[\.\.\. ?[0-9]+|\.\.\. ?\[?[0-9]+ (?:more )?"
    rb"(?:lines|characters|chars|bytes|rows|items)|<response clipped>|content (?:too long|omitted)"
)
_EXIT_CODE = re.compile(
    r"\W{0,6}(?:the )?(?:(?:process|command|program|script) )?(?:finished with )?"
    r"(?:exit(?:ed)?(?: with)?(?: status| code| value)|exited with"
    r"|exit_code|return(?:ed)?(?: a)?(?: non-zero)? code)[^\w\n]{1,4}?(-?[0-9]{1,3})\W{0,3}",
    re.IGNORECASE,
)
"""A line that says with which code the call ended, and nothing else: not one of its steps, nor what
was expected."""


def reads_as_error(text: str) -> bool:
    """Whether a text that is no JSON says that its call failed."""
    if _ended_with_0(text):
        return False
    if len(text) <= _END:
        text = _NO_ERRORS.sub("", text)
    if is_dated_log(text):
        return _ERROR_ANYWHERE.search(_last_lines(text)) is not None
    if _ERROR_START.match(text[:400]) or (len(text) <= _SHORT and _REFUSAL.match(text)):
        return True
    if len(text) <= _END and (_is_refused(text) or _has_only_system_errors(text)):
        return True
    if _ends_with_error(text):
        return True
    if is_fault(text) or has_error_code(text) or ends_with_bad_status(text):
        return True
    if begins_with_diagnostic(text) or begins_with_named_error(text):
        return True
    if begins_with_refusal(text) or says_not_done(text):
        return True
    return any(_ERROR_ANYWHERE.search(part) for part in _ends(text, _END))


_NO_ERRORS = re.compile(
    r"^[ \t]{0,8}(?:errors?|err|failed|failures?)[ \t]?[:=][ \t]{0,4}"
    r"(?:0|none|null|false)[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A field that says that there was no error: `error: null`, above what was asked for."""


def is_dated_log(text: str) -> bool:
    """Whether many lines begin with a time, behind a level at most. Their errors are those of the
    program that wrote the log, often read long after; the call has only the last lines to itself.
    """
    lines = [line for line in text[:_END].splitlines() if line.strip() and not line[0].isspace()]
    dated = sum(_DATED.match(line) is not None for line in lines)
    return len(lines) >= _MIN_LINES and dated >= _DATED_SHARE * len(lines)


_DATED = re.compile(
    r"[\W_]{0,3}(?:[A-Za-z]{3,8}\W{1,4}){0,2}"
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d?[/.]\w{2,3}[/.]\d{2,4}[:, ]|(?:\d{1,2} )?\d\d:\d\d:\d\d"
    r"|1\d{9}(?:\.\d|\d{3}\b))"
)
"""A line that begins with a day, a time of day or a Unix time: `[INFO] [1764229008.56]`."""
_MIN_LINES = 6
"""Of a log; fewer may be what a command printed while it failed."""
_DATED_SHARE = 0.4
"""Of the lines that are not indented; exceptions stand between them."""
_LAST = 2
"""Lines of a log that may tell how the call ended."""


def _last_lines(text: str) -> bytes:
    """The lines without a time that end a log: what the caller's tool or the shell added. A log
    that ends with an exception is as often one that was read as one that was just written."""
    filled = [line for line in text[-_END:].splitlines() if line.strip()][-_LAST:]
    last = takewhile(lambda line: not _DATED.match(line), reversed(filled))
    added = [line for line in last if not _EXCEPTION.match(line)]
    return "\n".join(reversed(added)).encode()


_EXCEPTION = re.compile(r"[\w.]{1,80}(?:Error|Exception)\b|Caused by: |Traceback |panic: ")


def _has_only_system_errors(text: str) -> bool:
    """Whether each of a few lines gives the name of a system error."""
    lines = text.strip().splitlines()
    return 0 < len(lines) <= _MAX_SYSTEM_ERRORS and all(
        _SYSTEM_ERROR.fullmatch(line.strip().encode()) and not _ERROR_NAME.match(line.strip())
        for line in lines
    )


_ERROR_NAME = re.compile(r"E[A-Z0-9]{2,15}:")
"""The name of an error; the rest of its line says what it means."""


def _ends_with_error(text: str) -> bool:
    """Whether the last line is an error in a text that is no log with levels."""
    last = text[-_LINE:].rstrip().rpartition("\n")[2]
    if not last.startswith(_LAST_ERROR):
        return False
    return not any(_LEVELS.search(part) for part in _ends(text, _END))


def _is_refused(text: str) -> bool:
    """Whether a reply in lines says that it was not accepted or had no success, and why."""
    if "false" not in text.lower():
        return False
    no = yes = why = False
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field is None:
            if not _BRACKET.fullmatch(line.strip()):
                return False
            continue
        name, held = normalised_key(field[1]), field[2].strip().lower()
        no |= name in _VERDICTS and held == "false"
        yes |= name in _VERDICTS and held == "true"
        why |= name in REASONS and held not in NO_ERROR
    return no and why and not yes


def normalised_key(key: str) -> str:
    """A field's name without the signs between its words."""
    return key.replace("_", "").replace("-", "").lower()


NO_ERROR = frozenset((
    "", "0", "none", "null", "no", "false", "ok", "success", "keine", "keiner", "kein", "nein",
    "aucune", "aucun", "non", "ninguno", "ninguna", "nessuno", "nessun", "nenhum", "geen", "nej",
    "inga", "brak", "нет", "なし", "无", "無", "없음",
))  # fmt: skip
_FIELD = re.compile(r"\s{0,16}\"?([A-Za-z][\w-]{0,30})\"?\s{0,2}[:=]\s{0,4}(\S.{0,800})")
_BRACKET = re.compile(r"(?:[\w.-]{1,60} ?:? ?)?[{}\[\]]?,?")
_VERDICTS = frozenset(("accepted", "success", "ok", "succeeded"))
REASONS = frozenset(
    ("code", "errorcode", "error", "message", "msg", "reason", "detail", "details", "rejectreason")
)
"""Fields that give a reason beside `accepted: false`, which alone may be the state of a record."""


def _ended_with_0(text: str) -> bool:
    """Whether the first or the last line says so; if both tell a code, the last counts."""
    held = text.strip()
    last = _exit_code(held[-_LINE:].rpartition("\n")[2])
    return (_exit_code(held[:_LINE].partition("\n")[0]) if last is None else last) == 0


def _exit_code(line: str) -> int | None:
    found = _EXIT_CODE.fullmatch(line.strip())
    return int(found[1]) if found else None


_LINE = 200
"""Characters at each end in which a line is looked for."""


def is_truncated(text: str) -> bool:
    """Whether the tool says that it left something out."""
    return any(_TRUNCATED.search(part) for part in _ends(text, _MARK))


def _ends(text: str, size: int) -> list[bytes]:
    """The first and the last `size` characters, or all of a short text."""
    if len(text) <= 2 * size:
        return [text.encode()]
    return [text[:size].encode(), text[-size:].encode()]
