"""Compares a tenant's permission file for nats-server with what this release needs.

A copy of an earlier `deploy/nats/tenants/acme.conf` may grant too much, or lack what was added
since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from weft_schemas.errors import InvalidInput

_COMMENT = re.compile(r"(?m)(?:#|//).*$")
_USER = re.compile(r"\buser:\s*\"?([\w.@-]+)")
_LIST = re.compile(r"\b(allow|deny|publish|subscribe):\s*\[([^\]]*)\]")
_SUBJECT = re.compile(r'"([^"]+)"')
_TENANT = re.compile(r"weft(?:-rpc)?\.([A-Za-z0-9_-]+)\.")
_SESSION = re.compile(r"weft\.[^.]+\.([A-Za-z0-9_-]+)\.in\.")
_PINNED = re.compile(r"\.in\.\*\.([^.*>]+)$")
OPERATOR = "@operator"


class PermissionFinding(msgspec.Struct, frozen=True):
    """One right that is not as this release wants it."""

    file: str
    user: str
    is_too_much: bool
    """True if the user may do something that he should not; false if a right is missing."""
    what: str
    do: str


class _User(msgspec.Struct, frozen=True):
    name: str
    allow: frozenset[str]
    deny: frozenset[str]

    def may(self, subject: str) -> bool:
        """Whether the user may publish to a subject, or to any that a pattern matches."""
        return any(_covers(one, subject) for one in self.allow) and not any(
            _covers(one, subject) for one in self.deny
        )


def findings_in(path: Path) -> list[PermissionFinding]:
    """What is wrong in a tenant's file, or in every file of a folder.

    Raises `InvalidInput` if none of them names a tenant.
    """
    files = sorted(path.rglob("*.conf")) if path.is_dir() else [path]
    found, named = list[PermissionFinding](), 0
    for file in files:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{file} cannot be read: {error}") from None
        users = [user for user in _users(text) if _tenant(user) is not None]
        named += len(users)
        for user in users:
            found += _wrong(file.name, user, _tenant(user) or "")
    if not named:
        raise InvalidInput(
            f"{path} has no user with rights on a tenant's subjects (weft.acme.…); name a file "
            "like deploy/nats/tenants/acme.conf, or the folder of such files"
        )
    return found


def _users(text: str) -> Iterator[_User]:
    """The users of a configuration, and what they may publish. A user's rights follow his name, up
    to the name of the next user."""
    text = _COMMENT.sub("", text)
    starts = [*_USER.finditer(text)]
    ends = [*(one.start() for one in starts[1:]), len(text)]
    for start, end in zip(starts, ends[: len(starts)], strict=True):
        lists: dict[str, set[str]] = {"allow": set(), "deny": set()}
        for name, inside in _LIST.findall(text[start.end() : end]):
            if name != "subscribe":
                lists["deny" if name == "deny" else "allow"].update(_SUBJECT.findall(inside))
        yield _User(start[1], frozenset(lists["allow"]), frozenset(lists["deny"]))


def _tenant(user: _User) -> str | None:
    """The tenant that a user's rights name, None if they name none or several."""
    names = {found[1] for subject in user.allow if (found := _TENANT.match(subject))}
    return names.pop() if len(names) == 1 else None


def _wrong(file: str, user: _User, tenant: str) -> Iterator[PermissionFinding]:
    bound = sorted({found[1] for one in user.allow if (found := _SESSION.match(one))})
    session = bound[0] if bound else "s"
    publishes = user.may(f"weft.{tenant}.{session}.in.user_turn")
    pinned = sorted({found[1] for one in user.allow if (found := _PINNED.search(one))})
    operates = user.may(f"weft.{tenant}.@tenant.out.policy")
    for right, what in _too_much(tenant, publishes or bool(pinned), pinned, operates):
        subject = right.replace(".s.", f".{session}.", 1)
        if user.may(subject):
            do = f"deny {subject!r}, or allow less; see deploy/nats/tenants/acme.conf"
            yield PermissionFinding(file, user.name, True, f"may {what} ({subject})", do)
    for right, what in _too_little(tenant, publishes, pinned, operates):
        subject = right.replace(".s.", f".{session}.", 1)
        if not user.may(subject):
            do = f"allow {subject!r}, here and in the account's imports"
            yield PermissionFinding(file, user.name, False, f"may not {what} ({subject})", do)


Right = tuple[str, str]
"""A subject in session `s`, and what publishing to it does."""


def _too_much(tenant: str, publishes: bool, pinned: list[str], operates: bool) -> Iterator[Right]:
    of, rpc = f"weft.{tenant}", f"weft-rpc.{tenant}"
    yield f"{of}.s.out.envelope", "publish what only workers derive"
    if publishes:
        yield f"{of}.@tenant.in.user_turn", "publish items as the tenant"
    if not operates:
        if publishes:
            for end in ("", *(f".{name}" for name in pinned)):
                yield f"{of}.s.in.revived{end}", "decide on parked events, which is the operator's"
        yield f"{rpc}.s.compile.{OPERATOR}", "loosen the policy in force"
        own = pinned[0] if pinned else ""
        yield f"{rpc}.s.compile.{own}x", "ask as any principal"
        if publishes:
            yield f"{of}.s.in.user_turn.{own}x", "publish as any principal"


def _too_little(tenant: str, publishes: bool, pinned: list[str], operates: bool) -> Iterable[Right]:
    of, rpc = f"weft.{tenant}", f"weft-rpc.{tenant}"
    if operates:
        yield f"{rpc}.s.compile.{OPERATOR}", "loosen a policy for a request of its own"
        yield f"{of}.@tenant.out.grants", "say who may use which scopes"
        yield f"{of}.s.in.revived", "decide on parked events"
    for name in pinned:
        yield f"{rpc}.s.compile.{name}", f"ask as {name}"
    if publishes or operates:
        yield f"{rpc}.s.compile", "ask for a context"


def _covers(pattern: str, subject: str) -> bool:
    """Whether a NATS pattern matches a subject."""
    wanted, given = pattern.split("."), subject.split(".")
    for at, token in enumerate(wanted):
        if token == ">":
            return len(given) > at
        if at >= len(given) or token not in ("*", given[at]):
            return False
    return len(wanted) == len(given)
