"""Puts one case to a model, and takes the answer from what it writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft.language_model import Completion
from weft_eval.reading.brief import OF_CASE, tools_text
from weft_eval.reading.cases import ReadingCase

UNREADABLE = "unreadable"
"""The key under which an answer keeps a text without a JSON object."""
ANSWER_TOKENS = 4_000
"""Most tokens of an answer: an edit may be long."""


def ask(
    model: Completion, case: ReadingCase, form: str, tools: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The model's call for a case in a form. Raises `Unavailable` and `ConfigurationError`."""
    policy = f"# Policy\n\n{case.policy}\n\n" if case.policy else ""
    instruction = f"{OF_CASE}\n{policy}# Tools\n\n{tools_text(tools)}"
    return answer_in(model.complete(instruction, case.prompts[form], ANSWER_TOKENS))


def answer_in(text: str) -> dict[str, Any]:
    """The last JSON object in a text that names a tool: a model may think aloud or quote before it
    answers."""
    decoder = json.JSONDecoder()
    found: dict[str, Any] | None = None
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and isinstance(value.get("name"), str):
                found = value
        at = text.find("{", end)
    return {UNREADABLE: text} if found is None else found
