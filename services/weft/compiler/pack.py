"""The reply to a compile: the prompt with its entries, stats, id, digest and versions."""

from __future__ import annotations

import hashlib

import msgspec

from weft.compiler.rendering.cost import Costed, Shown
from weft.compiler.rendering.prompt import RENDER_VERSION, render
from weft.compiler.selection.choice import Choice
from weft.compiler.state import State
from weft.compiler.stats import stats_of
from weft_schemas.compile import ContextPack, PendingItem
from weft_schemas.ids import digest

CODE_VERSION = "47"
"""Raise it if the same view and request would give another selection."""


def pack_of(state: State, costed: Costed, choice: Choice, shown: Shown) -> ContextPack:
    view, request = state.view, state.request
    prompt = render(costed.entries)
    asked = msgspec.json.encode(request, order="deterministic")
    sha256 = hashlib.sha256(prompt.encode()).hexdigest()
    name = (view.tenant, view.session, view.sequence, state.policy_version, asked, sha256)
    return ContextPack(
        id=digest(*name)[:20],
        tenant=view.tenant,
        session=view.session,
        phase=request.phase,
        prompt=prompt,
        entries=costed.entries,
        stats=stats_of(state, costed, choice, shown),
        sequence=view.sequence,
        policy_version=state.policy_version,
        digest=sha256,
        pending=tuple(PendingItem(row.id, row.sequence) for row in view.pending()),
        render_version=RENDER_VERSION,
        code_version=CODE_VERSION,
    )
