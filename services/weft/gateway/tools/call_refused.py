"""The error for a call that is not made."""

from weft_schemas.errors import WeftError


class CallRefused(WeftError):
    """A call that the gateway does not make. The text is for the model: what was not done, why, and
    what to do instead."""

    code = "refused"
