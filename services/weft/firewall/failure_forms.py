"""Failures that a text tells by its form, without the words that most programs use: a document of
XML that is a fault, an error's code in a line of its own, a bad status of HTTP behind a body, a
compiler's first message."""

from __future__ import annotations

import re
from itertools import islice

_READ = 1_000
"""Characters at each end of a document that are read."""
_XML_START = re.compile(
    r"\s*(?:<\?xml[^<>]{0,200}>\s*)?(?:<!--[^<>]{0,400}-->\s*)?"
    r"<((?:[\w.-]{1,40}:)?([\w.-]{1,80}))((?:\s[^<>]{0,600})?)>"
    r"(?:\s*<((?:[\w.-]{1,40}:)?([\w.-]{1,80}))((?:\s[^<>]{0,600})?)>)?"
)
"""The first two tags of a document, each with its name, its name without a prefix, and what else
it holds."""
_FAULTS = frozenset(("fault", "error", "exception"))
_NO = r"(?:0|none|null|nil|false|ok|success|no errors?)?+"
_NOTHING = re.compile(
    rf"\s*+(?:{_NO}\s*+</|<(?:[\w.-]{{1,40}}:)?(?:error_?)?code>\s*+0\s*+</)", re.IGNORECASE
)
"""The content of an element that says that there was no error, if only by its code."""
_SAYS_NOTHING = re.compile(
    r"\s(?:xmlns(?::[\w.-]{1,40})?=(?:\"[^\"]{0,300}\"|'[^']{0,300}')"
    rf"|(?:\w{{1,40}}:)?nil=[\"']true[\"']|[\w:.-]{{1,40}}=(?:\"{_NO}\"|'{_NO}'))",
    re.IGNORECASE,
)
"""An attribute that says that there is no error, or in which namespace the element is."""


def is_fault(text: str) -> bool:
    """Whether a text is a document of XML whose root, or the only child of its root, is a fault, an
    error or an exception."""
    found = _XML_START.match(text[:_READ])
    if found is None:
        return False
    root, bare, more, child, bare_child, more_child = found.groups("")
    if bare.lower() in _FAULTS or bare.lower().endswith("_error"):
        # The slash of an element that is empty, `<fault code="7"/>`, is part of what it holds.
        return _says_something(text, more, found.end(3) + 1) and _ends(text, more, (root,))
    if bare_child.lower() not in _FAULTS or _is_repeated(text, child):
        return False
    ends = (root,) if more_child.endswith("/") else (child, root)
    return _says_something(text, more_child, found.end()) and _ends(text, "", ends)


def _is_repeated(text: str, name: str) -> bool:
    """Whether a second element has this name, and not only one that begins with it."""
    found = re.finditer(rf"<{re.escape(name)}(?=[\s/>])", text)
    return len(list(islice(found, 2))) > 1


def _says_something(text: str, attributes: str, inner: int) -> bool:
    if _SAYS_NOTHING.sub("", attributes).strip(" \t\r\n/"):
        return True
    return not attributes.endswith("/") and _NOTHING.match(text[inner : inner + _READ]) is None


def _ends(text: str, attributes: str, names: tuple[str, ...]) -> bool:
    """Whether the text ends with the end tags of these elements."""
    if attributes.endswith("/"):
        return text.rstrip().endswith(">")
    last = "".join(text[-_READ:].split())
    return last.endswith("".join(f"</{name}>" for name in names))


_SHORT = 400
"""Characters of a text that tells of an error by a line with its code."""
_CODED = re.compile(
    r"^-?([A-Z]{2,8})(?:[ \t]?:)?[ \t]{1,2}"
    r"(?:[1-9]\d{2,4}|[A-Z]{1,20}[_-][A-Z\d_-]{1,60}|[A-Z]{1,3}\d{1,4}:)(?![\w.%]|[/-]\d)",
    re.MULTILINE,
)
"""A word in capitals and a code, not a date: `ERR 404 NO_SUCH_SUBSCRIBER`, `ERR E12: no source`."""
_COUNTED = re.compile(r"^[A-Z]{2,8}(?:[ \t]?:)?[ \t]{1,8}\d{1,9}[ \t\r]*$", re.MULTILINE)
"""A word in capitals and a number alone: `WARN 12`, below `INFO 340`."""


def has_error_code(text: str) -> bool:
    """Whether one line of a short text is an error with its code. Where several lines have such a
    word and a code, they are a log or a list."""
    if len(text) > _SHORT or "ERR" not in text:
        return False
    return _CODED.findall(text) in (["ERR"], ["ERROR"]) and len(_COUNTED.findall(text)) < 2


_BODY_AND_STATUS = re.compile(r"\s*[{<][^\x00]{0,3000}[}>]\s*[45]\d\d\s*")


def ends_with_bad_status(text: str) -> bool:
    """Whether a status of HTTP stands behind a body, as `curl -w '%{http_code}'` writes it."""
    return _BODY_AND_STATUS.fullmatch(text) is not None


_MAX_OUTPUT_LENGTH = 3_000
"""Most characters of the output of a compiler that stopped at an error."""
_DIAGNOSTIC = re.compile(
    r"(?:# \S{1,200}\n)?(?:[A-Za-z]:)?[\w./\\@+-]{1,200}\.\w{1,8}:[1-9]\d{0,6}:\d{1,5}: "
    r"(?!(?:warning|note|info|remark|hint|style)\b)[a-z]"
)
"""The place of an error, and a message; Go writes the package above. `grep --column` has no blank
before the line that it found, or the line's own indentation."""


def begins_with_diagnostic(text: str) -> bool:
    """Whether the first line of a short output is a compiler's message that does not only warn."""
    return len(text) <= _MAX_OUTPUT_LENGTH and _DIAGNOSTIC.match(text) is not None


_NAMED_ERROR = re.compile(
    r"\s{0,4}(?:[A-Z][a-z\d]{1,30}){1,6}(?:Denied|Error|Exception|Exceeded|Expired|Failed|Failure"
    r"|Fault|Forbidden|Invalid|NotAllowed|NotFound|Refused|Rejected|Throttled|Throttling|Timeout"
    r"|Unauthorized|Unavailable): \s?(?=[A-Z\"'])\S{1,60}\s+\S"
)
"""The name of an error as programs spell it, and a sentence: `AccessDenied: User ada may not …`. A
setting has one word behind its name."""
_KIND_OF_ERROR = re.compile(
    r"\s{0,4}(?!(?:no|without|zero|last|previous|any|known|possible|common)\b)"
    r"(?:[a-z][\w-]{0,30} ){1,3}error ?: ?(?=[a-z\"'\r\n])(?!(?:none|null|no|ok)\b)",
    re.IGNORECASE,
)
"""`SQL compilation error:`, before what it is, and not `mean squared error: 0.3`."""


def begins_with_named_error(text: str) -> bool:
    """Whether a short text begins with the name or the kind of an error, and then tells of it."""
    if len(text) > _SHORT:
        return False
    return _NAMED_ERROR.match(text) is not None or _KIND_OF_ERROR.match(text) is not None
