"""The compile: from a session's items to the prompt for one step, inside a budget of tokens."""

from weft.compiler.without_log import compile_context

__all__ = ["compile_context"]
