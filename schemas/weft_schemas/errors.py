"""The one exception tree. Every message says what happened, to which item, and what to do."""

ERROR_HEADER = "Weft-Error"
"""Stands on a reply that is an `ErrorReply`, with the error's code."""


class WeftError(Exception):
    """Root of everything that weft raises on purpose.

    `code` is the stable word a program matches on and an `ErrorReply` carries;
    `retryable` says whether the same request can succeed later, unchanged.
    """

    code = "weft"
    retryable = False

    ids: tuple[str, ...] = ()
    """Of the items of a publish that failed underway: some may be stored all the same.
    `Client.confirm(session, error.ids)` tells which."""


class InvalidInput(WeftError):
    """What was handed in is malformed: names the item, the field and the mend."""

    code = "invalid_input"


class UnknownVersion(InvalidInput):
    """An event of a schema version that this release does not know."""

    code = "unknown_version"


class NotFound(WeftError):
    """A session, item, handle, compile or catalogue that the log does not hold."""

    code = "not_found"


class Forbidden(WeftError):
    """The credential does not allow this."""

    code = "forbidden"


class Unavailable(WeftError):
    """No server, no service or no quorum answers now; nothing was acknowledged."""

    code = "unavailable"
    retryable = True


class Overloaded(WeftError):
    """The log or a service refuses more for now (full stream, no room in the window)."""

    code = "overloaded"
    retryable = True


class TooCostly(WeftError):
    """A request took more time or memory than one may take, and was ended: ask for less."""

    code = "too_costly"


class Conflict(WeftError):
    """The log moved in between, or holds something else under this id."""

    code = "conflict"


class ConfigurationError(WeftError):
    """Settings, streams or consumers that are not what this release needs."""

    code = "configuration"


class Corrupt(WeftError):
    """State that contradicts the log: rebuild it."""

    code = "corrupt"


_BY_CODE = {
    cls.code: cls
    for cls in (
        WeftError,
        InvalidInput,
        UnknownVersion,
        NotFound,
        Forbidden,
        Unavailable,
        Overloaded,
        TooCostly,
        Conflict,
        ConfigurationError,
        Corrupt,
    )
}


def error_from(code: str, message: str) -> WeftError:
    """The exception for an `ErrorReply`; an unknown code becomes a plain WeftError."""
    return _BY_CODE.get(code, WeftError)(message)
