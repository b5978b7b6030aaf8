"""A call that is not made."""


class Refused(Exception):
    """The text is for the model: what was not done, why, and what to do instead."""


def misfit(tool: str, error: Exception) -> str:
    """What a model is told of an answer that is not as the tool said that it would be."""
    return f"{tool} answered what does not fit its own description: {str(error)[:500]}"
