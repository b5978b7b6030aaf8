"""Values next to a telling name: the whole value of a setting, a field, a declaration or an
argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import re2

from weft.secrets.harmless import WEFTS, HarmlessValues, is_reference_of_step
from weft.secrets.masking import Finding
from weft.secrets.names import (
    ends_in_key,
    is_weak,
    names_key,
    names_password,
    names_phrase,
)
from weft.secrets.published import SERVICES
from weft.secrets.rule import WORD_START
from weft.secrets.values import (
    is_bare_code,
    is_basic,
    is_cut_placeholder,
    is_irregular,
    is_key_like,
    is_ledger_address,
    is_mixed,
    is_passphrase,
    is_place,
    is_placeholder,
    is_plain,
    is_quoted_code,
    is_well_known,
    is_word_of_secrecy,
    looks_random,
)

NAMES = (
    b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"apikey", b"api_key",
    b"api-key", b"accesskey", b"access_key", b"access-key", b"auth", b"private_key", b"privatekey",
    b"encryption_key", b"signing_key", b"account_key", b"pass", b"x-api-key", b"pw", b"p/w",
    b"api key", b"access key", b"private key", b"api.key", b"key=", b"key:", b'key"', b"key'",
    b"key ", b"key[", b"key]", b"crumb", b"_pat",
)  # fmt: skip
_DECLARED = (
    rb"(?::[ \t]{0,4}(?:&(?:'static )?)?(?:str|string|bytes|secretstr|text|any|optional\[str\])\??"
    rb"[ \t]{0,4})?"
)
"""The type between a name and its value: `password: str = "…"`."""
_MADE = (
    rb"(?:(?:new[ \t]{1,4})?(?:string|securestring|secretstr)(?:::from)?\([ \t]{0,4}"
    rb"|[\[({][ \t]{0,4}(?:[0-9]{1,4},[ \t]{0,4})?|[0-9]{1,4},[ \t]{0,4}|!!?[a-z]{3,8}[ \t]{1,4}"
    rb"|[\w.:]{0,40}(?:env|environ\.get|config|setting|property|\.get|fetch)\w{0,12}\([ \t]{0,4}"
    rb"[\"'][\w.-]{1,60}[\"'],[ \t]{0,4}(?:default[ \t]{0,2}=[ \t]{0,2})?"
    rb"|(?:try|coalesce|lookup|sensitive|optional)\([^\"'\n]{0,80})?"
)
"""What a value may be wrapped in: `new String("…")`, `{0, "…"}`, `!!binary "…"`, the default of
`getenv("NAME", "…")`."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.max_mem = 32 << 20
_ASSIGNED = re2.compile(
    rb"(?i)((?:passw(?:or)?d|passwd|pwd|passphrase|secret(?: key)?|token|credentials?"
    rb"|(?:user|db|root|admin|mysql|ftp|smtp|store)_?pass|" + SERVICES.encode() + rb"[._ -]?key"
    rb"|api[ ._-]?key|access[ _-]?key|account[_-]?key|private[ _-]?key|encryption[_-]?key"
    rb"|signing[_-]?key|shared[_-]?key|auth(?:entication key)?|crumb|_pat\b|(?-i:[A-Z0-9]_KEY\b)|"
    + WORD_START.encode()
    + rb"(?:pass|pw|p/w)|[_-](?:pass|pw))[\w.-]{0,20})"
    rb"[ \t\\]{0,40}[\"'\]]{0,2}(?:\[\])?[ \t]{0,40}"
    + _DECLARED
    + rb"(?::=|=>|[!=]={1,2}|\+?=|:)[ \t\\]{0,20}"
    rb"(?:" + _MADE + rb"[bfrul@$]?([\"'`])|(?:!!?[a-z]{3,8}[ \t]{1,4})?([^\s\"',;)\]}>]))",
    _OPTIONS,
)
"""Starts at the telling part of a name: a pattern that began with what may precede it would be far
slower."""
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_MAX_NAME_LENGTH = 40
"""How many bytes before the telling part belong to the name."""
_QUOTE = 2
"""Group of the quote that opens a value, and group of the first character of a bare value."""
_QUOTED = re.compile(rb"\"([^\"\n]{4,4000})\"|'([^'\n]{4,4000})'|`([^`\n]{4,4000})`")
_BARE = re.compile(rb"[^\s\"',;)\]}<>(]{4,4000}")
_BRACKETED = re.compile(
    rb"\[([\w+/-]{16,512}={0,2})\]|\(([\w+/-]{16,512}={0,2})\)"
    rb"|\{([\w+/-]{16,512}={0,2})\}|<([\w+/-]{16,512}={0,2})>"
)
"""A value in brackets, which is a placeholder more often than a key."""
_REST, _REST_IN_QUOTES = (
    re.compile(
        rb"[^\s%b]{0,200}?(?=[,;)\]}]{0,4}(?:[ \t]{0,80}(?:[\r\n]|\Z)|[ \t]{1,80}#%b))" % but
    )
    for but in ((b"", b""), (b"\"'`", rb"|[ \t\\]{0,80}\""))
)
"""How the value of a setting continues if it is the rest of its line; and of a line that may stand
in a string of JSON, whose quote ends it."""
_SHORT = 6
"""Shortest value that is not quoted or is not a password, in characters."""
_LONG_NUMBER = 16
"""Digits that are not a count, next to the name of a key."""
_LONGER_NUMBER = 24
"""The same next to the name of a token, which is as often a count."""


def assigned_secrets(data: bytes, harmless: HarmlessValues = WEFTS) -> Iterator[Finding]:
    """The values next to the names of passwords and keys, except harmless ones. Linear in the
    length of `data`."""
    done = 0
    for match in _ASSIGNED.finditer(data):
        begin = name_begins(data, match.start())
        if match.start() < done or data[max(0, begin - 2) : begin] == b"::":
            continue  # inside a value, or the name of a type
        name, quoted = data[begin : match.end(1)], match.group(_QUOTE) is not None
        span = _quoted(data, match) if quoted else _bare(data, match, begin)
        if span is None:
            continue
        start, end = span
        done = end
        if _is_said_of_another(data, begin, match) or _is_of_listing(data, begin, name):
            continue
        alone = quoted or _is_field(data, begin, end)
        value = data[start:end].replace(b' "', b'"').lstrip(b" ")
        if _is_of_step(data, begin, name, value):
            continue
        if is_secret_value(name, value, alone, quoted, harmless):
            # A backslash before a bare value is its first character.
            while data[start - 1 : start] == b"\\" and not quoted:
                start -= 1
            yield Finding(start, end, "secret", assignment_rule(name))


_OF_ARN = re.compile(rb"(?:\barn:[a-z-]{1,12}:|:[0-9]{6,14}:)\Z")
_NO_BLANK = re.compile(rb":[^\s\"']")
_VERDICT = re.compile(
    rb"[ \t]*(?:[0-9]+ ?/ ?[0-9]|(?i:[\w./-]{0,80}test|[\w-]{1,80}(?:[./][\w-]{1,80})+(?:\s|\Z)))"
)
"""A test that passed, by its name or its file, or how many passed."""
_REFERS = re.compile(rb"(?i)!(?:ref|sub|getatt|secret|env_var|importvalue)[ \t]\Z")
_ERRORS = re.compile(rb"(?i)errors?[\"']?[ \t]{0,4}[:=]>?[ \t]{0,4}\{[^{}]{0,60}\Z")


def _is_said_of_another(data: bytes, begin: int, match: Any) -> bool:
    """Whether the value is none of a secret: of a resource or a file whose name ends in such a
    word, of a test that passed; or a reference of a template, or why a form was refused."""
    before, behind = data[max(0, begin - _AROUND) : begin], data[match.end(1) : match.end()]
    if _OF_ARN.search(before) or (before.endswith(b"/") and _NO_BLANK.match(behind)):
        return True
    if data[begin : match.end(1)].lower() in (b"pass", b"xpass") and behind[:1] == b":":
        return _VERDICT.match(data, match.end(1) + 1) is not None
    return _REFERS.search(data[match.end(1) : match.end() - 1]) is not None or (
        match.group(_QUOTE) is not None and _ERRORS.search(before) is not None
    )


_BESIDE_TOKEN = re.compile(
    rb"(?i)(?:\A|[^\w-])"
    rb"(?:(?:page|pagination|paging|next|prev|previous|cursor|sync|continuation|resume) "
    rb"|(?:pagination|paging|next|prev|previous|cursors?|continuation)[\"']?\s{0,8}[:=]>?\s{0,8}"
    rb"\{[^{}]{0,40})\Z"
)


def _is_of_listing(data: bytes, begin: int, name: bytes) -> bool:
    """Whether a mere `token` is one of a listing by the word before it, or by the object that it
    stands in: `Next page token: …`, `"paging": {"token": …}`."""
    if name.lower() != b"token":
        return False
    return _BESIDE_TOKEN.search(data[max(0, begin - _AROUND) : begin]) is not None


_WORD_BEFORE = re.compile(
    rb"(?:([A-Za-z]{2,20}) |([A-Za-z]{2,20})[\"']?\s{0,8}[:=]>?\s{0,8}\{[^{}]{0,40})\Z"
)


def _is_of_step(data: bytes, begin: int, name: bytes, value: bytes) -> bool:
    """The same of a reference, as of a step: `Confirmation token: CNF-88121`."""
    if name.lower() != b"token":
        return False
    word = _WORD_BEFORE.search(data[max(0, begin - _AROUND) : begin])
    return word is not None and is_reference_of_step(word[word.lastindex or 0] + b" token", value)


def _quoted(data: bytes, match: Any) -> tuple[int, int] | None:
    value = _QUOTED.match(data, match.end() - 1)
    if value is None or _is_key_of_object(data, value.start() + 1, value.end()):
        return None
    end = value.end() - 1
    in_json = data[match.end(1) : match.end(1) + 1] == b'"'
    goes_on = _BEHIND_ESCAPED if in_json else _BEHIND_QUOTE
    rest = goes_on.match(data, end) if data[end : end + 1] == b'"' else None
    return value.start() + 1, _without_escape(data, value.start() + 1, rest.end() if rest else end)


_BEHIND_QUOTE = re.compile(
    rb"(?:\"[^\s\"'=:,;(){}\[\]<>]{2,80} ?)+(?=\"[ \t]{0,8}(?:[\r\n,;)\]}]|\Z))"
)
"""How a value goes on behind a quote that is part of it, whether it is escaped or not."""
_BEHIND_ESCAPED = re.compile(
    _BEHIND_QUOTE.pattern + rb"|(?:(?<= )\"(?![ \t]{0,8}(?:[,}\]\r\n]|\Z))[^\"\n]{0,200})+"
    rb"(?=\"[ \t]{0,8}(?:[\r\n,;)\]}]|\Z))"
)
"""The same in a member of JSON, whose string ends before a comma or a bracket only."""


def _bare(data: bytes, match: Any, begin: int) -> tuple[int, int] | None:
    held = _BRACKETED.match(data, match.end() - 1)
    if held is not None and _is_key(held.group(held.lastindex or 0)):
        return held.span(held.lastindex or 0)
    value = _BARE.match(data, match.end() - 1)
    if value is None:
        return None
    start, end = value.span()
    if _NESTED_NUMBER.match(data, start, end):
        start += len(data[start:end]) - len(data[start:end].lstrip(b"["))
    if data[begin - 1 : begin] in (b"?", b"&"):
        end = start + len(data[start:end].partition(b"&")[0])
    elif (line := _line_before(data, begin, match)) is not None:
        rest = _REST_IN_QUOTES.match(data, end) if line.group(1) else _REST.match(data, end)
        end = rest.end() if rest and not is_bare_code(data[start : rest.end()]) else end
    if data[end : end + 1] in (b"(", b"["):
        return None  # code that does something with a password
    return start, _without_escape(data, start, end)


_WORDS = re.compile(rb"[A-Za-z]+(?:[_-](?:[A-Za-z]+|[0-9]{1,3}))*\Z")


def _is_key(value: bytes) -> bool:
    """Whether a value in brackets is none of the words that stand for one."""
    return is_key_like(value) and (_WORDS.match(value) is None or is_irregular(value))


_NESTED_NUMBER = re.compile(rb"\[+-?[0-9][0-9.eE+-]*\Z")
"""In lists of lists of JSON: `[[12345678]]`."""


def _without_escape(data: bytes, start: int, end: int) -> int:
    """The rest of an escaped quote at the end belongs to the text around the value."""
    return start + len(data[start:end].rstrip(b" \\"))


_OPENS = re.compile(rb"[\[({][ \t]{0,4}[\"'`]\Z")
_NAMES = re.compile(rb"[ \t]{0,4}(?::|=>)")


def _is_key_of_object(data: bytes, start: int, end: int) -> bool:
    """Whether the quoted text in brackets is not a value but the name of one."""
    return (
        _OPENS.search(data[max(0, start - 6) : start]) is not None
        and _NAMES.match(data[end : end + 6]) is not None
    )


def name_begins(data: bytes, tells: int) -> int:
    before = data[max(0, tells - _MAX_NAME_LENGTH) : tells]
    return tells - len(before) + len(before.rstrip(_NAME_BYTES))


def assignment_rule(name: bytes) -> str:
    """The rule for a value next to `name`."""
    return "password" if names_password(name) else "assigned_secret"


_LINE_BEGINS = re.compile(rb"(?:\A|( ?)\n)(?:export |set |\$env:)?\Z")
_YAML_BEGINS = re.compile(rb"(?:\A|( ?)\n)[ \t]{0,40}(?:- )?\Z")


def _line_before(data: bytes, begin: int, match: Any) -> re.Match[bytes] | None:
    """What stands before a name that begins its line, as in a file of settings or in YAML; its
    group is a blank if the line may be one in a string of JSON."""
    setting = _LINE_BEGINS.search(data[max(0, begin - 9) : begin])
    if setting is not None or data[match.end(1) : match.end(1) + 2] != b": ":
        return setting
    return _YAML_BEGINS.search(data[max(0, begin - _AROUND) : begin])


_FIELD_BEGINS = re.compile(rb"(?:\A|[\n;&?])[ \t-]{0,40}(?:export |set |\$env:|\$)?\Z")
_FIELD_ENDS = re.compile(rb"[ \t]{0,8}(?:\Z|\\?[\r\n;&]|,?[ \t]*\\?[\r\n]|[ \t](?:#|//))")
_AROUND = 64
"""Bytes around a value that are examined."""


def _is_field(data: bytes, start: int, end: int) -> bool:
    """Whether a name and its bare value are a whole line, or a whole field of a connection string:
    then it is a setting, while in running text a sentence goes on."""
    before = data[max(0, start - _AROUND) : start]
    if before[-1:] in (b"?", b"&", b";"):
        return True
    behind = data[end : end + _AROUND]
    return _FIELD_ENDS.match(behind) is not None and _FIELD_BEGINS.search(before) is not None


def is_secret_value(
    name: bytes, value: bytes, alone: bool, quoted: bool, harmless: HarmlessValues = WEFTS
) -> bool:
    """Whether the value next to `name` is a secret. `alone`: it is quoted, or is a whole field; a
    bare value may be a variable."""
    shown = value if quoted else value.rstrip(b":.")
    if (
        shown.lower() == name.lower()
        or is_placeholder(shown)
        or harmless.has(name, shown)
        or (is_quoted_code(value) if quoted else is_bare_code(value) or is_cut_placeholder(value))
    ):
        return False
    if _is_object_of_cluster(name, value) or is_ledger_address(value):
        return False
    if b" " in value:
        return quoted and names_phrase(name) and is_passphrase(value)
    if is_weak(name):
        return is_key_like(value)
    if names_password(name):
        return _is_password(value, alone, quoted)
    if looks_random(value) or is_basic(value):
        return True
    if not alone or len(value) < 8 or not names_key(name):
        return False
    if len(value) >= _LONG_NUMBER and value.isdigit():
        return ends_in_key(name) or len(value) >= _LONGER_NUMBER
    if is_plain(value):
        return ends_in_key(name) and is_word_of_secrecy(value, quoted)
    return is_mixed(value) and not is_place(value)


_HOLDS_NAME = re.compile(rb"(?i)(?:existing|pull|password|tls|cert)[ _.-]?secret\Z")
_OBJECT_NAME = re.compile(rb"\A(?=[a-z0-9-]*\b[a-z]{3,})[a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){1,8}\Z")


def _is_object_of_cluster(name: bytes, value: bytes) -> bool:
    """Whether it is the name of a Kubernetes Secret, which says where the secret is."""
    return _HOLDS_NAME.search(name) is not None and _OBJECT_NAME.search(value) is not None


def _is_password(value: bytes, alone: bool, quoted: bool) -> bool:
    """A sentence about passwords is prose; a password with a digit or a sign is not."""
    if alone and is_well_known(value):
        return True
    if is_plain(value):
        return alone and is_word_of_secrecy(value, quoted)
    return len(value) >= _SHORT or (alone and quoted and is_mixed(value))
