"""The facts of one scope with their sources, for those who may use it. What a compile may show is
told here too, and nothing else."""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from weft.compiler.rendering.memory import facts_below, said_text
from weft.readmodel.rows import FactRow
from weft.readmodel.view import SessionView
from weft_schemas.errors import Forbidden
from weft_schemas.grants import may_use
from weft_schemas.status import KnownFact, StatusReply, StatusRequest


def with_facts(
    reply: StatusReply, view: SessionView, request: StatusRequest, principal: str
) -> StatusReply:
    """The reply with the facts of the scope that the request names, if it does."""
    if isinstance(request.facts, UnsetType):
        return reply
    return replace(reply, facts=facts_of(view, request.facts, principal))


def facts_of(view: SessionView, scope: str, principal: str) -> tuple[KnownFact, ...]:
    """Those in force, by key, below the sensitivity floor of the view's policy. Raises `Forbidden`
    if the scope is not granted to the principal."""
    if not may_use(view.grants(), principal, view.session, scope):
        raise Forbidden(
            f"scope {scope!r} is not granted to {principal or 'who asks without a name'}; have an "
            "operator grant it, and ask for what only a session remembers with that session"
        )
    floor = view.policy()[1].sensitivity_floor
    return tuple(map(_known, facts_below(floor, (row for row in view.facts([scope]) if row.value))))


def _known(row: FactRow) -> KnownFact:
    later = "" if row.said_later is None else said_text(row.said_later)
    return KnownFact(
        row.key, row.value, row.sequence, row.sources, row.session, str(row.sensitivity),
        row.by_user, later,
    )  # fmt: skip
