"""A compile before the first request: what is set up at first use (patterns, tokens of common
words, SQLite's own code) is set up by then."""

from __future__ import annotations

from weft.compiler.context import compile_context
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

_KINDS = (ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.DOC_SNIPPET)
_TURNS = 12
_BUDGET = 120
"""Tokens: less than the turns have, so that every stage has something to do."""
_TEXT = "Where is order A-{0}? It left on 8 May 2023, for {0}.50 EUR; ask orders@example.com."


def rehearse(encoding: str) -> None:
    """Compile a made-up session in every phase."""
    session = [
        ContextItem(f"i{number}", _KINDS[number % len(_KINDS)], _TEXT.format(number))
        for number in range(_TURNS)
    ]
    for phase in Phase:
        compile_context(session, CompileRequest(phase, "order", _BUDGET), encoding=encoding)
