"""Tells from a result whether the call succeeded."""

from __future__ import annotations

import msgspec

from weft.firewall.refused_reply import is_refused_reply, names_a_thing
from weft.firewall.text_status import (
    NO_ERROR,
    REASONS,
    is_truncated,
    normalised_key,
    reads_as_error,
)
from weft.firewall.verdict_words import VERDICTS
from weft_schemas.envelope import ResultStatus


def status_of(text: str, value: object, is_error: bool | None) -> ResultStatus:
    """`is_error` is what the publisher or the server says (metadata, `isError`), which decides
    whether the call failed; `value` is the decoded JSON or None."""
    inner = _payload(value)
    if is_error is None:
        is_error = reads_as_error(text) if value is None else _is_error_reply(inner)
    if is_error:
        return ResultStatus.ERROR
    left_out = is_truncated(text) if value is None else _says_partial(inner)
    return ResultStatus.PARTIAL if left_out else ResultStatus.SUCCESS


def has_verdict(value: dict[str, object]) -> bool:
    """Whether an object has a field that may say how its call ended."""
    return not value.keys().isdisjoint(_VERDICT_KEYS | _PARTIAL_KEYS)


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


def _is_error_reply(value: object) -> bool:
    """Whether JSON is about a call that failed, and not data in which something has failed."""
    if not isinstance(value, dict) or value.keys().isdisjoint(_VERDICT_KEYS):
        # As most are.
        return _all_failed(value) or _is_fault(value) or is_refused_reply(value)
    if value.get("success") is False or value.get("ok") is False:
        return True
    if value.get("accepted") is False and any(
        isinstance(held, str) and normalised_key(key) in REASONS for key, held in value.items()
    ):
        return not any(map(names_a_thing, value))
    settled = _settled(value)
    if settled is not None:
        return settled
    has_error = any(_says_error(value.get(key)) for key in _ERROR_KEYS)
    if not has_error and not any(map(names_a_thing, value)):
        has_error = any(_says_error(value.get(key)) for key in value.keys() & _TRANSLATED)
    if has_error or _is_bad_reply(value) or _is_fault(value):
        return True
    return _all_failed(value) or is_refused_reply(value)


def _settled(value: dict[str, object]) -> bool | None:
    """What an object says of its call with `isError: true` or an exit code; None if it has neither.
    A false `isError` says nothing: it is the default, which stands above many an error. The text of
    an `error` outranks an exit code of 0."""
    if value.get("isError") is True or value.get("is_error") is True or _ended_badly(value):
        return True
    for key in _EXIT_KEYS:
        if type(code := value.get(key)) is int:
            error = value.get("error")
            return code != 0 or (isinstance(error, str) and _says_error(error))
    return None


def _ended_badly(value: dict[str, object]) -> bool:
    """Whether the `metadata` beside a program's output has an exit code other than 0. A record of
    a job has such metadata too, and is no output."""
    inner = value.get("metadata")
    if not isinstance(inner, dict) or value.keys().isdisjoint(_OUTPUT):
        return False
    return any(type(code := inner.get(key)) is int and code != 0 for key in _EXIT_KEYS)


_EXIT_KEYS = ("exit_code", "exitCode", "exit_status", "returncode", "return_code")
_OUTPUT = frozenset(("output", "stdout", "stderr"))
_ERROR_KEYS = ("error", "errors", "exception", "errorMessage", "error_message")
_TRANSLATED = frozenset((
    "fehler", "fehlermeldung", "erreur", "erreurs", "errore", "errori", "erro", "erros", "fout",
    "fel", "virhe", "błąd", "chyba", "hiba", "hata", "lỗi", "ошибка", "помилка", "错误", "錯誤",
    "エラー", "오류",
))  # fmt: skip
"""`error` in other languages. These words stand for defects, too, so they count beside no id."""


def _is_bad_reply(value: dict[str, object]) -> bool:
    """Whether an object has a bad status, and beside it only what tells how a call went. A record
    that has a status of its own has other fields too, such as its id."""
    bad = {key: value[key] for key in _STATUS_KEYS if _is_bad(key, value.get(key))}
    if not bad or (bad.keys() == {"code"} and value.keys().isdisjoint(_TELLING)):
        return False
    known = _OF_A_REPLY
    if any(str(held).isdigit() for held in bad.values()):
        known |= _OF_HTTP
    if any(held not in _EMPTY and normalised_key(key) in _MESSAGES for key, held in value.items()):
        has_code = "status" in bad and isinstance(value.get("code"), str)
        others = sum(
            held not in _EMPTY and normalised_key(key) not in known for key, held in value.items()
        )
        if has_code and others <= _OTHERS and not any(map(names_a_thing, value)):
            return True
        known |= _OF_A_CALL
    return all(held in _EMPTY or normalised_key(key) in known for key, held in value.items())


_OTHERS = 2
"""Fields of a reply beside its status, code and message that may say more of the call; a record of
something has more."""


_STATUS_KEYS = ("status", "statusCode", "status_code", "http_status", "code")
_VERDICT_KEYS = frozenset(
    (
        "success", "ok", "isError", "is_error", "metadata", *_EXIT_KEYS, *_ERROR_KEYS,
        *_STATUS_KEYS, *_TRANSLATED,
    )
)  # fmt: skip
"""An object without any of these says nothing about its call."""
_TELLING = frozenset(("message", "msg", "detail", "details", "reason", "description", "title"))
"""Fields beside a `code` that say how the call went."""
_MESSAGES = _TELLING - {"title", "description"}
"""Fields that a record of something that failed rarely has."""
_OF_A_REPLY = (_TELLING - {"title"}) | {
    "status", "statuscode", "statustext", "httpstatus", "code", "errorcode", "errortype",
    "errorclass", "hint", "timestamp", "requestid", "traceid", "tool", "toolname", "output",
    "stdout", "stderr", "traceback", "stack", "data",
}  # fmt: skip
"""Fields of a reply beside a bad word as its status. JSend puts `data` beside `fail`; a title may
also be a record's."""
_OF_HTTP = frozenset(
    ("title", "type", "instance", "body", "headers", "url", "path", "method", "documentationurl")
)
"""More such fields if the status is a number: problem details (RFC 9457), and parts of a
request."""
_OF_A_CALL = frozenset(("path", "url", "method", "taskid", "jobid"))
"""More such fields if there is also a message; without one they may identify a record."""
_OF_A_FAULT = _OF_A_REPLY | {"field", "fields"}
_EMPTY: tuple[object, ...] = (None, "", [], {})
_BAD_WORDS = VERDICTS | {"fail", "exception", "fatal"}
_PARTIAL_KEYS = frozenset(
    ("truncated", "is_truncated", "isTruncated", "partial", "incomplete_results")
)


def _says_partial(value: object) -> bool:
    if not isinstance(value, dict) or value.keys().isdisjoint(_PARTIAL_KEYS):
        return False
    return any(value.get(key) is True for key in _PARTIAL_KEYS)


def _all_failed(value: object) -> bool:
    """Whether a call did several things and each of them failed: all records of a list, or of a
    list in an object, say that they had no success, and why."""
    if isinstance(value, list) and value and all(map(_is_fault, value)):
        return True
    lists = [value] if not isinstance(value, dict) else [*value.values()]
    records = [held for held in lists if isinstance(held, list) and held]
    return len(records) == 1 and all(
        isinstance(record, dict)
        and (record.get("success") is False or record.get("ok") is False)
        and any(_says_error(record.get(key)) for key in _ERROR_KEYS)
        for record in records[0]
    )


def _is_fault(record: object) -> bool:
    """Whether a record is about an error, and about no other thing: a code, and what it means."""
    if not isinstance(record, dict) or any(map(names_a_thing, record)):
        return False
    if record.get("success") is True or record.get("ok") is True:
        return False
    held = {normalised_key(key): value for key, value in record.items()}
    code, message = held.get("errorcode"), held.get("message")
    if not isinstance(message, str) or not isinstance(code, str | int) or not _says_error(code):
        return False
    return all(key in _OF_A_FAULT or held[key] in _EMPTY for key in held)


def _says_error(held: object) -> bool:
    """Whether the value of an error field says that there was one; counts of 0 do not."""
    if isinstance(held, str):
        return held.strip().lower() not in NO_ERROR
    if isinstance(held, dict):
        return any(map(_says_error, held.values()))
    return bool(held)


def _is_bad(key: str, held: object) -> bool:
    if isinstance(held, str):
        if held.isdigit() and len(held) == 3:
            return held[0] in "45" and key != "code"
        return held.lower() in _BAD_WORDS
    return isinstance(held, int) and not isinstance(held, bool) and 400 <= held <= 599
