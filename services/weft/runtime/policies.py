"""The policies in force, kept in memory from the log's policy events.

A version is the log sequence of its event; 0 is the built-in default.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.identity import identify
from weft.log.reading import read_matching
from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import stored_filter

_DEFAULT = (0, ContextPolicy())


POLICIES = stored_filter(session=TENANT_SESSION, direction="out", event="context_policy")
"""Stored subjects of policy events, of every tenant."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def following_policies(connection: Connection) -> AsyncIterator[Policies]:
    """The policies in the log: all that stand there now, and from then on each as it comes.

    Their task `following` ends only with the error for which it cannot go on.
    """
    policies = Policies()
    through = 0
    known = await identify(connection)
    async for record in read_matching(connection, POLICIES):
        policies.take(record)
        through = record.sequence
    async with Follower(connection, after=through, known=known, subjects=POLICIES) as follower:
        policies.following = asyncio.create_task(_follow(follower, policies))
        try:
            yield policies
        finally:
            follower.stop()
            policies.following.cancel()
            await asyncio.gather(policies.following, return_exceptions=True)


async def policy_in_force(
    connection: Connection, tenant: str, session: str | None = None, as_of: int | None = None
) -> tuple[int, ContextPolicy]:
    """Version and policy of a session (None: of the tenant's others), as the log has them at
    `as_of` or now; version 0 is the default."""
    policies = Policies()
    subjects = stored_filter(tenant, TENANT_SESSION, "out", "context_policy")
    async for record in read_matching(connection, subjects):
        if as_of is None or record.sequence <= as_of:
            policies.take(record)
    return policies.of(tenant, session or TENANT_SESSION)


async def _follow(follower: Follower, policies: Policies) -> None:
    async for followed in follower:
        for record in followed.records:
            policies.take(record)


class Policies:
    """Newest policy per tenant, and per session where one narrows it."""

    following: asyncio.Task[None]

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str | None], tuple[int, ContextPolicy]] = {}

    def take(self, record: LogRecord) -> None:
        """Take in a record; one that is no valid policy event is passed over and logged."""
        try:
            event = record.event()
            if isinstance(event, ContextPolicy):
                self.learn(record.sequence, record.address().tenant, event)
        except InvalidInput as error:
            _log.warning("policy %d is malformed: %s", record.sequence, error.code)

    def learn(self, sequence: int, tenant: str, policy: ContextPolicy) -> None:
        """Take in a policy event; an older one than what is known changes nothing."""
        key = (tenant, policy.session)
        if sequence > self._newest.get(key, _DEFAULT)[0]:
            self._newest[key] = (sequence, policy)

    def of(self, tenant: str, session: str) -> tuple[int, ContextPolicy]:
        """Version and policy: the session's newest, else the tenant's, else the default."""
        own = self._newest.get((tenant, session))
        return own if own is not None else self._newest.get((tenant, None), _DEFAULT)
