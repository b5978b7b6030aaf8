"""The one exception tree. Every message says what happened, to which item, and what to do."""

ERROR_HEADER = "Weft-Error"
"""Header of a reply that is an `ErrorReply`, with the error's code."""


class WeftError(Exception):
    """Root of all errors that weft raises on purpose.

    `code` is a stable word for programs to compare, which an `ErrorReply` contains; `retryable`
    says whether the same request can succeed later, unchanged.
    """

    code = "weft"
    retryable = False

    ids: tuple[str, ...] = ()
    """Ids of the items of a publish that failed midway: some may be stored nevertheless.
    `Client.confirm(session, error.ids)` tells which."""


class InvalidInput(WeftError):
    """The input is malformed: the message names the item, the field and the remedy."""

    code = "invalid_input"


class UnknownVersion(InvalidInput):
    """An event or a request has a schema version, or a request has a field, that the release which
    reads it does not know: upgrade that one."""

    code = "unknown_version"


class NotFound(WeftError):
    """The log does not contain this session, item, handle, compile or catalogue."""

    code = "not_found"


class Forbidden(WeftError):
    """The credential does not allow this."""

    code = "forbidden"


class Unavailable(WeftError):
    """No server, no service or no quorum answers at the moment; nothing was acknowledged."""

    code = "unavailable"
    retryable = True


class Overloaded(WeftError):
    """The log or a service refuses more for the moment (full stream, no room in the window)."""

    code = "overloaded"
    retryable = True


class TooCostly(WeftError):
    """A request took more time or memory than one may take, and was ended: ask for less."""

    code = "too_costly"


class Conflict(WeftError):
    """The log changed in between; or a published message was changed, whose id has other content in
    the log; or the session was erased. Only the first is helped by reading again."""

    code = "conflict"


def no_artifact(tenant: str, handle: str) -> NotFound:
    """The error of whatever looks up a handle that the tenant does not have."""
    return NotFound(
        f"no artifact {handle!r} in tenant {tenant!r}; take a handle (`art:…`) from a pack of this "
        "tenant; it may also have been erased"
    )


def erased_session(tenant: str, session: str) -> Conflict:
    """The error of whatever would go on with a session that was erased."""
    return Conflict(
        f"session {session!r} of tenant {tenant!r} was erased, and its name is not free again: "
        "what is published to it is ignored; give another name"
    )


class ConfigurationError(WeftError):
    """Settings, streams or consumers are not as this release needs them."""

    code = "configuration"


class Corrupt(WeftError):
    """The state contradicts the log: rebuild it."""

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
