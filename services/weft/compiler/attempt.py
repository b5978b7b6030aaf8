"""One attempt at a request, over a read model: the same function in the service's loop and in a
process of the pool, so the answer has the same bytes wherever it is made.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from weft.compiler.compile import Compilation, traced_compile
from weft.compiler.explaining.item import explanation
from weft.compiler.rendering.tools import check_chosen
from weft.compiler.rights import policy_of, within_grants
from weft.compiler.work_estimate import is_short
from weft.readmodel.model import ReadModel
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, CompileRequest, PendingItem
from weft_schemas.errors import NotFound, Unavailable, WeftError
from weft_schemas.policy import ContextPolicy


class CompileTask(msgspec.Struct, frozen=True):
    """A compile to attempt."""

    tenant: str
    session: str
    request: CompileRequest
    key: bytes
    """The deployment's secret, with which fences are made."""
    base: bytes = b""
    """The record of the pack that `request.stable_from` names, empty if it is unknown."""
    is_late: bool = False
    """Whether the request has waited long enough."""
    principal: str = ""
    """The requester; empty if the subject names none."""
    item: str | None = None
    """The item to explain; None for a pack."""


class CompileResult(msgspec.Struct, frozen=True):
    """The result of a compile, as it is sent and recorded."""

    body: bytes
    """The reply: the pack, or the explanation."""
    sequence: int
    """The sequence that was read."""
    id: str
    audit: bytes
    """The record that is needed to reproduce it."""


class Ready(msgspec.Struct, frozen=True):
    """A compile that can be done now."""

    view: SessionView
    request: CompileRequest
    """Narrowed to the scopes that are granted to the requester."""
    policy: ContextPolicy
    """The policy to apply."""
    loosened: tuple[str, ...]
    """The fields in which that policy is looser than the one in force."""


class Postponed(Enum):
    """Why a compile was not done here and now."""

    UNSETTLED = "what it waits for is not folded"
    LONG = "it is heavy work, for a process of the pool"


def attempt(model: ReadModel, task: CompileTask) -> CompileResult | None:
    """The answer; None if items that the request waits for are not settled and there is time left.
    Raises `NotFound` for a missing session or item, `Unavailable` for one that is not folded yet,
    `Forbidden` if the requester may not loosen the policy or use a scope."""
    ready = ready_for(model, task)
    return None if ready is None else compile_result(ready, task)


def short_attempt(model: ReadModel, task: CompileTask) -> CompileResult | Postponed:
    """The same if it is short work, estimated from the session as it is."""
    ready = ready_for(model, task)
    if ready is None:
        return Postponed.UNSETTLED
    return compile_result(ready, task) if is_short_work(ready, task) else Postponed.LONG


def ready_for(model: ReadModel, task: CompileTask) -> Ready | None:
    """The session as the request needs it, None if the request has to wait for more events."""
    request = task.request
    view = model.view(task.tenant, task.session, request.as_of)
    if view.item_count() == 0:
        raise _no_items_error(task.session, request, view.sequence, view.erased())
    waits = request.after and request.as_of is None and not task.is_late
    if waits and any(row.sequence <= request.after for row in view.pending()):
        return None
    policy, loosened = policy_of(model, view, request, task.principal)
    return Ready(view, within_grants(view, request, task.principal), policy, loosened)


def is_short_work(ready: Ready, task: CompileTask) -> bool:
    """Whether it takes only some milliseconds."""
    return is_short(ready.view, task.request, ready.policy, len(task.base))


def compile_result(ready: Ready, task: CompileTask) -> CompileResult:
    """The compile itself."""
    view, request = ready.view, ready.request
    if task.item is not None and not view.by_ids([task.item]):
        raise NotFound(
            f"session {task.session!r} has no item {task.item!r} at or before sequence "
            f"{view.sequence}; see its items with `weft events`"
        )
    check_chosen(view, request)
    base = decoded_audit(task.base)
    trace = traced_compile(view, request, key=task.key, base=base)
    made = _with_rights(trace.made, task.principal, ready.loosened)
    made = _with_unfolded(made, request.after)
    reply = made.pack if task.item is None else explanation(task.item, trace)
    return CompileResult(
        msgspec.json.encode(reply),
        made.pack.sequence,
        made.audit.id,
        msgspec.json.encode(made.audit),
    )


def decoded_audit(payload: bytes) -> CompileAudit | None:
    """The audit; None if there is none, or it was written by another program or a newer release."""
    try:
        return msgspec.json.decode(payload, type=CompileAudit)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _no_items_error(session: str, request: CompileRequest, folded: int, erased: int) -> WeftError:
    if folded < request.after:
        return Unavailable(
            f"session {session!r} is not folded yet: the read model is at {folded}, asked for is "
            f"{request.after}; try again"
        )
    if erased:
        return NotFound(f"session {session!r} was erased by event {erased}; nothing is left")
    return NotFound(
        f"session {session!r} has no item at or before sequence {folded}; check its name, or "
        "publish to it first"
    )


def _with_rights(
    compilation: Compilation, principal: str, loosened: tuple[str, ...]
) -> Compilation:
    """Adds the requester and what was loosened to the audit."""
    if not principal:
        return compilation
    audit = msgspec.structs.replace(
        compilation.audit, principal=principal, loosened=loosened or msgspec.UNSET
    )
    return msgspec.structs.replace(compilation, audit=audit)


def _with_unfolded(compilation: Compilation, after: int) -> Compilation:
    """Names the items that the caller waits for and the read model does not have yet."""
    pack = compilation.pack
    if pack.sequence >= after or compilation.audit.request.as_of is not None:
        return compilation
    reason = f"the read model is at {pack.sequence}"
    pending = (*pack.pending, PendingItem("", after, reason))
    return msgspec.structs.replace(
        compilation,
        pack=msgspec.structs.replace(pack, pending=pending),
        audit=msgspec.structs.replace(compilation.audit, pending=pending),
    )
