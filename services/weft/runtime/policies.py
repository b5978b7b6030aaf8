"""The policies in force, kept in memory from the log's policy events.

A version is the log sequence of its event; 0 is the built-in default. Workers and the fold judge an
item by the policy at the item's own sequence, however late they process it.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import itemgetter

from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.reading import last_of, read_own
from weft.log.record import LogRecord
from weft.log.timeouts import cancelled
from weft_schemas.combined_policy import DEFAULT, in_force
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.ranges import clamped
from weft_schemas.subjects import STREAM, stored_filter

_version = itemgetter(0)

POLICIES = stored_filter(session=TENANT_SESSION, direction="out", event="context_policy")
"""Stored subjects of policy events, of every tenant."""

_POLL_SECONDS = 0.005
"""Between two looks while a policy is on its way."""
_ASK_SECONDS = 1.0
"""Until the server is asked again: the policy may have been erased before it came."""
COMBINED_KEPT = 1_000
"""Policies of sessions with their tenants' that are kept; others are made again, in .03 ms."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def following_policies(connection: Connection) -> AsyncIterator[Policies]:
    """Those in the log, and each new one as it comes. `following` ends only with an error."""
    policies = Policies()
    policies.connection = connection
    async with Follower(connection, subjects=POLICIES) as follower:
        policies.following = asyncio.create_task(_follow(follower, policies))
        try:
            await policies.reach(1)
            if policies.following.done():
                policies.following.result()
            yield policies
        finally:
            follower.stop()
            await cancelled(policies.following)


async def policy_in_force(
    connection: Connection, tenant: str, session: str | None = None, as_of: int | None = None
) -> tuple[int, ContextPolicy]:
    """Version and policy of a session (None: of the tenant's others), as the log has them at
    `as_of` or now; version 0 is the default."""
    policies = Policies()
    async for sequence, policy in read_own(connection, tenant, ContextPolicy):
        if as_of is None or sequence <= as_of:
            policies.learn(sequence, tenant, clamped(policy))
    return policies.of(tenant, session or TENANT_SESSION)


async def grants_in_force(connection: Connection, tenant: str) -> tuple[int, ScopeGrants | None]:
    """Sequence and content of the tenant's newest grants; 0 and None if there are none."""
    found: tuple[int, ScopeGrants | None] = (0, None)
    async for one in read_own(connection, tenant, ScopeGrants):
        found = one
    return found


async def _follow(follower: Follower, policies: Policies) -> None:
    async for followed in follower:
        for record in followed.records:
            policies.take(record)


class Policies:
    """The policies of every tenant and of every session that has its own, with their sequences."""

    following: asyncio.Task[None]
    connection: Connection

    def __init__(self) -> None:
        self._versions: dict[tuple[str, str | None], list[tuple[int, ContextPolicy]]] = {}
        self._combined: OrderedDict[tuple[int, int], tuple[int, ContextPolicy]] = OrderedDict()
        """Of the tenant's and the session's versions; the one used last comes last."""
        self.known = 0
        """The number of known policies. Events judged before it rose are judged again."""
        self._newest = 0
        self._complete = 0
        """Up to this sequence all policies are known."""

    async def reach(self, sequence: int) -> None:
        """Wait until all policies at or before a sequence are known, or until no more come.

        Events and policies come from two consumers, so an item may arrive before a policy that
        precedes it in the log. One request to the stream's leader, .3 ms, tells whether one is
        still to come. Raises `Unavailable` and `Forbidden`.
        """
        if sequence <= self._complete:
            return
        clock = asyncio.get_running_loop().time
        last, asked = await self._last(), clock()
        while self._newest < last and not self.following.done():
            await asyncio.sleep(_POLL_SECONDS)
            if clock() - asked > _ASK_SECONDS:
                last, asked = await self._last(), clock()
        self._complete = max(self._complete, sequence)

    async def _last(self) -> int:
        try:
            return (await last_of(self.connection, POLICIES, STREAM)).sequence
        except NotFound:
            return 0

    def take(self, record: LogRecord) -> None:
        """Take in a record; one that is no valid policy event is skipped and logged."""
        self._newest = max(self._newest, record.sequence)
        try:
            event = record.event()
            if isinstance(event, ContextPolicy):
                self.learn(record.sequence, record.address().tenant, clamped(event))
        except InvalidInput as error:
            _log.warning("policy %d is malformed: %s", record.sequence, error.code)

    def learn(self, sequence: int, tenant: str, policy: ContextPolicy) -> None:
        """Take in a policy event; the order of calls does not matter."""
        versions = self._versions.setdefault((tenant, policy.session), [])
        if sequence not in (version for version, _ in versions):
            insort(versions, (sequence, policy), key=_version)
            self.known += 1

    def of(self, tenant: str, session: str, at: int | None = None) -> tuple[int, ContextPolicy]:
        """Version and policy at a sequence (None: now), as `combined_policy` makes it of the
        tenant's newest at or before it and the session's own."""
        own, tenants = self._at((tenant, session), at), self._at((tenant, None), at)
        if own is None or tenants is None:
            return own or tenants or DEFAULT
        versions = tenants[0], own[0]
        made = self._combined.pop(versions, None) or in_force(tenants, own)
        self._combined[versions] = made
        if len(self._combined) > COMBINED_KEPT:
            self._combined.popitem(last=False)
        return made

    def untrusted_kinds(self, tenant: str, session: str, at: int) -> tuple[ItemKind, ...]:
        """The kinds that get an envelope at a sequence of a session."""
        return self.of(tenant, session, at)[1].firewall.untrusted_kinds

    def _at(self, key: tuple[str, str | None], at: int | None) -> tuple[int, ContextPolicy] | None:
        versions = self._versions.get(key, [])
        known = len(versions) if at is None else bisect_right(versions, at, key=_version)
        return versions[known - 1] if known else None
