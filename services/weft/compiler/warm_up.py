"""Compiles before the first request, which set up patterns, tokens of common words, and SQLite's
statements and pages.
"""

from __future__ import annotations

from weft.compiler.compile import compile_pack
from weft.compiler.without_log import compile_context
from weft.readmodel.model import ReadModel
from weft.readmodel.status import sessions
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

_KINDS = (ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.DOC_SNIPPET)
_TURNS = 12
_BUDGET = 120
"""Tokens: too few for the turns, so that every stage has work."""
_TEXT = "Where is order A-{0}? It left on 8 May 2023, for {0}.50 EUR; ask orders@example.com."

RECENT = 2
"""Sessions active last, which are most likely to be requested."""


def rehearse(encoding: str) -> None:
    """Compile a made-up session in every phase."""
    session = [
        ContextItem(f"i{number}", _KINDS[number % len(_KINDS)], _TEXT.format(number))
        for number in range(_TURNS)
    ]
    for phase in Phase:
        compile_context(session, CompileRequest(phase, "order", _BUDGET), encoding=encoding)


def rehearse_recent(model: ReadModel) -> None:
    """Compile the most recently active sessions in every phase."""
    for recent in sessions(model.db, limit=RECENT):
        view = model.view(recent.tenant, recent.session)
        for phase in Phase:
            compile_pack(view, CompileRequest(phase))
