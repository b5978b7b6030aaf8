"""The error that a service's reply tells of."""

from __future__ import annotations

from weft_schemas.errors import InvalidInput, UnknownVersion, WeftError, error_from
from weft_schemas.faults import UNKNOWN_FIELD


def error_of_reply(service: str, code: str, message: str) -> WeftError:
    """The error with this code. A field that the service does not know means that it is of an
    earlier release, since a client writes none that its own release does not know."""
    if code == InvalidInput.code and message.startswith(f"{service} request: {UNKNOWN_FIELD}"):
        return UnknownVersion(
            f"the service that answered {service} is older than this client: {message}; upgrade "
            "services before their clients (docs/operations.md, Upgrade)"
        )
    return error_from(code, message)
