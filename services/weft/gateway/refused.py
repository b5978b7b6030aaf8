"""A call that is not made."""


class Refused(Exception):
    """The text is for the model: what was not done, why, and what to do instead."""
