"""How ADK tells an agent in words what another agent of its session did, and what it calls its
models. Independent of ADK, and of its version as far as its words are the same."""

from __future__ import annotations

import re
from typing import NamedTuple

RETOLD = "For context:"
"""How the content begins."""
_BEGIN, _END = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n", "\n<<<END_QUOTED_AGENT_CONTENT>>>"
ELIDED = "<<<"
"""Precedes what ADK replaces in a text that it quotes."""
_PART = re.compile(
    r"\[([^\]\n]*)\] (?:(said|thought)"
    r"|called tool `([^`\n]*)` with parameters"
    r"|`([^`\n]*)` tool returned result):\s"
)
"""How each of its parts begins."""
_GEMINI = re.compile(r"gemini-|projects/")
"""Gemini, or a model that was tuned from it."""


class Retold(NamedTuple):
    """One part of what an agent did."""

    author: str
    verb: str
    """`said`, `thought`, `called` or `returned`."""
    tool: str
    quoted: str
    """What it said, or the arguments or the result of the tool, as Python writes them."""


def retold(text: str) -> Retold | None:
    """What a part of such a content tells; None if it tells nothing."""
    found = _PART.match(text)
    if found is None:
        return None
    author, said, called, answered = found.groups()
    verb = said or ("returned" if called is None else "called")
    quoted = text[found.end() :].removeprefix(_BEGIN).removesuffix(_END)
    return Retold(author, verb, called or answered or "", quoted)


def is_gemini(model: str | None) -> bool:
    """Whether a model of this name is Gemini, behind any API."""
    name = model or ""
    return bool(_GEMINI.match(name) or _GEMINI.match(name.rpartition("/")[2]))


def is_of_google(model: str | None) -> bool:
    """Whether it is called through Google's own API, which pairs results by their order. Others
    pair them by the ids of their calls."""
    name = model or ""
    return is_gemini(name) and ("/" not in name or name.startswith("projects/"))
