"""Every failure as a problem document (RFC 9457), with a status that says on whose side the fault
is."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from weft_schemas.errors import (
    ConfigurationError,
    Conflict,
    Corrupt,
    Forbidden,
    InvalidInput,
    NotFound,
    Overloaded,
    TooCostly,
    Unavailable,
    WeftError,
)

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[type[WeftError], int] = {
    InvalidInput: 400,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooCostly: 422,
    Overloaded: 429,
    Unavailable: 503,
    ConfigurationError: 500,
    Corrupt: 500,
}
RETRY_SECONDS = 1
"""`Retry-After`, unless a better value is known."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, to which field or item, and what to do."""

    type: str
    """`urn:weft:problem:<code>`."""
    title: str
    """The status's name."""
    status: int
    detail: str
    code: str
    """The stable word for programs to match."""
    retryable: bool = False
    """Whether the same request can succeed later."""
    ids: tuple[str, ...] = ()
    """Items of a publish that failed underway: some may be stored. Publish all again."""


class RequestRefused(WeftError):
    """A request that HTTP has a status for: no token, too large a body, too many requests."""

    def __init__(self, status: int, code: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retryable = status == HTTPStatus.TOO_MANY_REQUESTS
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def problem_of(error: WeftError) -> Problem:
    """The document for a failure."""
    return _problem(status_of(error), error.code, str(error), error.retryable, error.ids)


def status_of(error: WeftError) -> int:
    """The HTTP status of an error; 500 for one without its own."""
    if isinstance(error, RequestRefused):
        return error.status
    return next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)


def headers_of(error: WeftError) -> dict[str, str]:
    """`Retry-After` for what may be tried again, and a refusal's own headers."""
    if isinstance(error, RequestRefused):
        return error.headers
    return {"retry-after": str(RETRY_SECONDS)} if error.retryable else {}


def _problem(
    status: int, code: str, detail: str, retryable: bool, ids: tuple[str, ...] = ()
) -> Problem:
    title = HTTPStatus(status).phrase
    printable = detail.encode("utf-8", "replace").decode()
    return Problem(f"urn:weft:problem:{code}", title, status, printable, code, retryable, ids)
