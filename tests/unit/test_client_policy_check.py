"""A policy that no compile could use is refused before it is in force."""

from __future__ import annotations

from typing import Any

import pytest

from weft import testing
from weft.client.policy_check import check_policy
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.policy import (
    ContextBudget,
    ContextPolicy,
    FirewallRules,
    Phase,
    PhaseRule,
    SecretPattern,
)

FAULTS: dict[str, dict[str, Any]] = {
    r"redaction_hook 'nope' is not installed here; use one of mask.*hook_elsewhere=True": {
        "redaction_hook": "nope"
    },
    r"\$\.phases\.answer\.kinds is empty, and prompts of this phase would show nothing": {
        "phases": {Phase.ANSWER: PhaseRule(())}
    },
    r"\$\.budgets\.answer is -5": {"budgets": ContextBudget(answer=-5)},
    r"\$\.session: session .. is 0 bytes": {"session": ""},
    rf"\$\.session is {TENANT_SESSION}, which has no prompts": {"session": TENANT_SESSION},
    "secret pattern 'x'": {
        "firewall": FirewallRules(secret_patterns=(SecretPattern("x", "(?=a)b"),))
    },
}


@pytest.mark.parametrize("told", FAULTS)
async def test_it_is_refused_with_the_policys_name_and_what_to_do(told: str) -> None:
    policy = ContextPolicy("odd", **FAULTS[told])
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput, match=f"policy 'odd': .*{told}"):
            await client.publish_policy(policy)
        assert await client.policy() == (0, ContextPolicy())


async def test_a_hook_may_be_installed_elsewhere() -> None:
    async with testing.in_memory() as client:
        policy = ContextPolicy(redaction_hook="theirs")
        ack = await client.publish_policy(policy, hook_elsewhere=True)
        assert await client.policy() == (ack.sequence, policy)


def test_what_can_be_used_passes() -> None:
    phases = {Phase.CALL: PhaseRule((ItemKind.USER_TURN,))}
    check_policy(ContextPolicy("fine", "s1", phases=phases))
    check_policy(ContextPolicy(phases={}))
