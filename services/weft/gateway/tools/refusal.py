"""The error for a call that is not made."""

from weft_schemas.errors import WeftError


class CallRefused(WeftError):
    """A call that the gateway does not make. The text is for the model: what was not done, why, and
    what to do instead."""

    code = "refused"


def misfit(tool: str, error: Exception) -> str:
    """What a model reads if an answer does not have the form that the tool declared."""
    return f"{tool} answered what does not fit its own description: {str(error)[:500]}"
