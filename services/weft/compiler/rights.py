"""What a request may use. A policy of its own, or of the past, may tighten the policy in force;
only the operator may loosen it.
"""

from __future__ import annotations

import msgspec

from weft.readmodel.model import ReadModel
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import Forbidden
from weft_schemas.grants import may_use
from weft_schemas.ids import OPERATOR
from weft_schemas.items import Sensitivity
from weft_schemas.loosening import loosened
from weft_schemas.policy import ContextPolicy


def within_grants(view: SessionView, request: CompileRequest, principal: str) -> CompileRequest:
    """The request, limited to the scopes that are granted to the requester now. Raises `Forbidden`
    if it names another scope."""
    grants = view.grants()
    if not isinstance(request.scopes, msgspec.UnsetType):
        for scope in request.scopes:
            if not may_use(grants, principal, view.session, scope):
                raise Forbidden(
                    f"scope {scope!r} is not granted to {principal or 'who asks without a name'}; "
                    "leave it out, or have an operator grant it"
                )
        return request
    named = view.scopes()
    granted = [one for one in named if may_use(grants, principal, view.session, one)]
    if granted == named:
        return request
    return msgspec.structs.replace(request, scopes=tuple(granted))


def floor_of(view: SessionView, request: CompileRequest, principal: str) -> Sensitivity:
    """The sensitivity floor before the request's policy is checked: only the operator's may be
    above the one in force."""
    in_force = view.policy()[1].sensitivity_floor
    own = in_force if request.policy is None else request.policy.sensitivity_floor
    return own if principal == OPERATOR else min(own, in_force, key=lambda one: one.level)


def policy_of(
    model: ReadModel, view: SessionView, request: CompileRequest, principal: str
) -> tuple[ContextPolicy, tuple[str, ...]]:
    """The policy of a compile over this view, and what it loosens of the one in force now. Raises
    `Forbidden` if the requester may not do that."""
    policy = request.policy or view.policy()[1]
    if request.policy is None and request.as_of is None:
        return policy, ()
    more = loosened(model.view(view.tenant, view.session).policy()[1], policy)
    if more and principal != OPERATOR:
        whose = "the request's policy" if request.policy else f"the policy as of {request.as_of}"
        raise Forbidden(
            f"{whose} shows more than the one in force ({'; '.join(more)}); tighten it, or ask as "
            f"{OPERATOR} with a credential that may"
        )
    return policy, more
