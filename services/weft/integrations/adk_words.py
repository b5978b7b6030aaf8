"""How ADK tells an agent in words what another agent of its session did and what code printed, and
what it calls its models. Independent of ADK, and of its version as far as its words are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

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
_CODE = re.compile(r"```tool_code\n(.*)\n```", re.DOTALL)
_PRINTED = re.compile(r"```tool_output\n(.*)\n```", re.DOTALL)
"""Code that an executor of ADK's ran, and what it printed, between the delimiters that they have by
default."""
_RAN = ("Code execution result:", "Saved artifacts:")
"""How the output begins if nothing failed."""
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


def with_code(contents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Contents in the API's form with the parts that ADK made of code and its output: it passes the
    output as a text of the user, whose words it would become."""
    made = []
    printed = [*map(_printed, contents), None]
    for at, content in enumerate(contents):
        output, code = printed[at], _code(content) if printed[at + 1] is not None else None
        if output is not None:
            outcome = "OUTCOME_OK" if output.startswith(_RAN) else "OUTCOME_FAILED"
            ran = {"output": output, "outcome": outcome}
            content = {"role": "model", "parts": [{"code_execution_result": ran}]}
        elif code is not None:
            parts = [*content["parts"][:-1], {"executable_code": {"code": code}}]
            content = {**content, "parts": parts}
        made.append(content)
    return made


def _printed(content: dict[str, Any]) -> str | None:
    """The output that is all of a user's message."""
    parts = content.get("parts") or []
    return _between(_PRINTED, parts) if content.get("role") == "user" and len(parts) == 1 else None


def _code(content: dict[str, Any]) -> str | None:
    """The code at the end of a model's message."""
    return _between(_CODE, content.get("parts") or []) if content.get("role") == "model" else None


def _between(delimiters: re.Pattern[str], parts: Sequence[dict[str, Any]]) -> str | None:
    """What the text of the last part has between these."""
    found = delimiters.fullmatch(parts[-1].get("text") or "") if parts else None
    return found[1] if found is not None else None


def is_gemini(model: str | None) -> bool:
    """Whether a model of this name is Gemini, behind any API."""
    name = model or ""
    return bool(_GEMINI.match(name) or _GEMINI.match(name.rpartition("/")[2]))


def is_of_google(model: str | None) -> bool:
    """Whether it is called through Google's own API, which pairs results by their order. Others
    pair them by the ids of their calls."""
    name = model or ""
    return is_gemini(name) and ("/" not in name or name.startswith("projects/"))
