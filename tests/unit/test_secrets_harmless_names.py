"""`firewall.harmless_names`: names whose values are no secrets, as the policy says."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from tests.firewall_cases import ALNUM, body
from tests.firewall_made import KEY

import weft
from weft.firewall.guards import scan
from weft.secrets.deployment_rules import deployment_rules
from weft.secrets.masked_items import masked_item
from weft.secrets.scanning import as_shown
from weft_schemas.combined_policy import combined, overruled
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules, KnownSecrets, SecretPattern

RULES = FirewallRules(harmless_names=("device_token", "*_ticket_secret", "wifi_password"))
VALUE = body(random.Random(3), ALNUM, 30)
FORMS = (
    '{{"status": "open", "{name}":"{v}"}}',
    r'{{"text": "{{\"{name}\": \"{v}\"}}"}}',
    '{{"name": "{name}", "value": "{v}"}}',
    "{name}: {v}",
    "data.{name}={v}",
    "https://api.example.com/items?limit=50&{name}={v}",
    "<a><{name}>{v}</{name}></a>",
    "| {name} | rows |\n|---|---|\n| {v} | 7 |",
)


def seen(text: str, rules: FirewallRules = RULES) -> str:
    return scan(text, rules, KEY, 10).text


@pytest.mark.parametrize("name", ["device_token", "event_ticket_secret"])
def test_a_value_of_such_a_name_stays(name: str) -> None:
    for form in FORMS:
        text = form.format(name=name, v=VALUE)
        assert VALUE not in seen(text, FirewallRules())
        assert seen(text) == text
        assert as_shown(text, deployment_rules(RULES)) == text


def test_a_password_may_be_named_too() -> None:
    text = '{"wifi_password": "blue-7-harbour"}'
    assert seen(text) == text
    assert seen(text, FirewallRules()) != text


@pytest.mark.parametrize(
    "name", ["Device_Token", "my_device_token", "device_token_secret", "token"]
)
def test_no_other_name_is_meant(name: str) -> None:
    for form in FORMS[:2] + FORMS[3:5]:
        assert VALUE not in seen(form.format(name=name, v=VALUE))


def test_known_formats_and_the_deployments_own_secrets_stay_masked() -> None:
    rng = random.Random(4)
    header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    jwt = f"{header}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{body(rng, ALNUM, 43)}"
    pem = (
        f"-----BEGIN RSA PRIVATE KEY-----\\n{body(rng, ALNUM, 64)}\\n-----END RSA PRIVATE KEY-----"
    )
    for value in (f"ghp_{body(rng, ALNUM, 36)}", "AKIAQ3EGRT7WZLPC2YHM", jwt, pem):
        assert value not in seen(f'{{"device_token": "{value}"}}')
    rules = msgspec.structs.replace(RULES, secret_patterns=(SecretPattern("b", "BADGE-[0-9]+"),))
    assert "BADGE-77123991" not in seen('{"device_token": "BADGE-77123991"}', rules)


def test_it_holds_for_items_of_every_kind_and_the_arguments_of_calls() -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"arguments": {"device_token": VALUE}})
    assert masked_item(call, RULES) is call
    assert masked_item(call, FirewallRules()) != call
    turn = ContextItem("u", ItemKind.USER_TURN, f"device_token: {VALUE}")
    assert masked_item(turn, RULES) is turn


@pytest.mark.parametrize("glob", ["", "*", "**", "?*", "[!a]*", " _*", "device token"])
def test_a_glob_that_names_nothing_is_refused(glob: str) -> None:
    with pytest.raises(InvalidInput, match=r"harmless_names: .*confirmation_token"):
        FirewallRules(harmless_names=(glob,))


def test_a_policy_without_them_is_written_as_before() -> None:
    assert b"harmless_names" not in msgspec.json.encode(ContextPolicy())
    assert FirewallRules(known_secrets=KnownSecrets("0" * 32, ())).harmless_names is msgspec.UNSET


def named(*globs: str) -> ContextPolicy:
    return ContextPolicy(firewall=FirewallRules(harmless_names=globs))


@pytest.mark.parametrize(
    ("tenants", "sessions", "both"),
    [
        (("a_token", "b_token"), ("b_token", "c_token"), ("b_token",)),
        (("job_*",), ("job_token", "x_token"), ("job_token",)),
        (("job_token", "x_token"), ("job_*",), ("job_token",)),
        (("*_token",), ("*_token",), ("*_token",)),
        (("*_ticket",), ("abc*",), None),
        ((), ("a_token",), None),
        (("a_token",), (), ()),
    ],
)
def test_a_session_has_the_names_that_its_tenant_has_too(
    tenants: tuple[str, ...], sessions: tuple[str, ...], both: tuple[str, ...] | None
) -> None:
    made = combined(named(*tenants), named(*sessions))
    assert made.firewall.harmless_names == (msgspec.UNSET if both is None else both)
    told = overruled(named(*sessions), named(*tenants))
    assert told == (() if both == sessions else ("firewall.harmless_names",))


def test_a_sessions_policy_that_names_none_has_none() -> None:
    made = combined(named("a_token"), ContextPolicy(session="s"))
    assert made.firewall.harmless_names is msgspec.UNSET
    assert combined(ContextPolicy(), named("a_token")).firewall.harmless_names is msgspec.UNSET


@pytest.mark.parametrize("rows", [1, 3_000])
async def test_a_tool_that_confirms_in_two_steps_gets_the_token_that_it_gave(rows: int) -> None:
    """From a result that passes whole, and from one that is summarised."""
    given: list[str] = []

    def transfer() -> dict[str, Any]:
        beside = [{"row": n, "note": f"note {n}"} for n in range(rows)]
        return {"status": "needs_confirmation", "device_token": VALUE, "rows": beside}

    functions = {"transfer": transfer, "confirm": lambda device_token: given.append(device_token)}
    async with weft.testing.in_memory() as client:
        await client.publish_policy(ContextPolicy(firewall=RULES))
        async with client.session("s", phase="call") as s:
            await _run(s, "transfer", {}, functions)
            shown = str((await s.request("openai"))["messages"])
            assert VALUE in shown
            await _run(s, "confirm", {"device_token": VALUE}, functions)
            again = str((await s.request("openai"))["messages"])
    assert given == [VALUE]
    assert "[secret:" not in shown + again


async def _run(s: weft.Session, name: str, arguments: Any, functions: Any) -> None:
    written = msgspec.json.encode(arguments).decode()
    call = {"id": name, "function": {"name": name, "arguments": written}}
    s.add({"role": "assistant", "tool_calls": [call]})
    await s.run(call, functions)
