"""Policies followed in a real log: what a worker that has begun learns, and when it must end."""

import asyncio

import pytest

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.runtime.policies import Policies, following_policies
from weft_schemas.errors import Corrupt
from weft_schemas.events import encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.policy import ContextPolicy, SensitivityAction
from weft_schemas.subjects import STREAM, derived_subject

SUBJECT = derived_subject("acme", TENANT_SESSION, "context_policy")


async def publish(log: Connection, policy: ContextPolicy) -> int:
    async with Publisher(log) as publisher:
        return (await publisher.publish(SUBJECT, encode_event(policy), "", {})).sequence


async def test_a_policy_that_comes_later_holds_from_then_on(log: Connection) -> None:
    redact = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)
    async with following_policies(log) as policies:
        assert policies.of("acme", "s1")[0] == 0
        version = await publish(log, redact)
        while policies.of("acme", "s1")[0] != version:
            await asyncio.sleep(0.01)
        assert policies.of("acme", "s1")[1] == redact


async def test_policies_of_a_log_that_was_made_again_are_not_followed_silently(
    log: Connection,
) -> None:
    await publish(log, ContextPolicy())
    async with following_policies(log) as policies:
        await call(log, f"STREAM.DELETE.{STREAM}")
        await provision(log)
        with pytest.raises(Corrupt, match="made again"):
            await asyncio.wait_for(policies.following, 30)


async def test_a_log_that_is_made_again_while_policies_are_read_is_noticed(
    log: Connection, monkeypatch
) -> None:
    await publish(log, ContextPolicy())

    async def then_made_again(_: Policies) -> int:
        await call(log, f"STREAM.DELETE.{STREAM}")
        await provision(log)
        return await publish(log, ContextPolicy()) + 1

    monkeypatch.setattr(Policies, "_last", then_made_again)
    with pytest.raises(Corrupt, match="made again"):
        async with following_policies(log):
            pass


async def test_a_policy_that_is_erased_before_it_comes_is_not_waited_for(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = await publish(log, ContextPolicy())
    known, asked = Policies._last, []

    async def with_one_more_at_first(policies: Policies) -> int:
        asked.append(await known(policies))
        return asked[-1] + 1 if len(asked) == 1 else asked[-1]

    monkeypatch.setattr(Policies, "_last", with_one_more_at_first)
    async with asyncio.timeout(30), following_policies(log) as policies:
        assert policies.of("acme", "s1")[0] == version
    assert len(asked) > 1
