"""ScopeGrants: whose memory a credential may read and write, as an event of the tenant.

A credential is identified by the principal that its permissions fix in the subjects to which it
publishes.
"""

from __future__ import annotations

import msgspec

from weft_schemas.ids import OPERATOR

ITSELF = "{principal}"
"""In a granted scope: the principal's own name."""


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scopes of one principal, or of many."""

    principal: str
    """A name; `*` at its end matches any rest. Empty: a credential without a principal."""
    scopes: tuple[str, ...]
    """For example `user:42`, `user:*`, or `user:{principal}`, which gives each principal its
    own."""


class ScopeGrants(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="scope_grants", tag_field="type"
):
    """All grants of a tenant, under its reserved session; only the newest event counts."""

    grants: tuple[Grant, ...] = ()
    v: int = 1


def may_use(grants: ScopeGrants | None, principal: str, session: str, scope: str) -> bool:
    """Whether a principal may write and read a scope from a session.

    A session may always use its own scope, and never another session's. If no grants are in force
    (None), a credential without a principal may use every other scope, and one with a principal
    none: a single machine without permissions is open, while a credential with a principal has only
    what is granted to it.
    """
    if scope.startswith("session:"):
        return scope == f"session:{session}"
    if principal == OPERATOR:
        return True
    if grants is None:
        return not principal
    granted = [grant.scopes for grant in grants.grants if _is_of(principal, grant.principal)]
    return any(_holds(one, principal, scope) for scopes in granted for one in scopes)


def _is_of(principal: str, named: str) -> bool:
    if not principal or not named.endswith("*"):
        return principal == named
    return principal.startswith(named[:-1])


def _holds(granted: str, principal: str, scope: str) -> bool:
    """A star is a pattern only in the grant: a principal's name may also contain one."""
    any_rest = granted.endswith("*")
    wanted = granted.removesuffix("*").replace(ITSELF, principal)
    return scope.startswith(wanted) if any_rest else scope == wanted
