"""Keeps passwords and tokens out of the process list: if one is given as an argument, the command
starts again in the same process without it, with the variable that means the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_VARIABLES = {"--password": "WEFT_PASSWORD", "--token": "WEFT_TOKEN"}


def conceal() -> None:
    """Start again if the arguments contain a secret; returns if they contain none."""
    found, rest = concealed(sys.orig_argv[1:])
    if found:
        os.execve(sys.executable, [sys.executable, *rest], {**os.environ, **found})


def concealed(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The secrets as variables, and the arguments without them."""
    found: dict[str, str] = {}
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.partition("=")
        variable = _VARIABLES.get(flag)
        if variable is None:
            rest.append(argument)
            continue
        secret = value if equals else next(remaining, None)
        if secret is None:
            return {}, list(arguments)  # click reports what is missing
        found[variable] = secret
    return found, rest
