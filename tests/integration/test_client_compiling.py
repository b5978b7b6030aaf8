"""Publish, compile, confirm: the client against running services."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.provider_rules import check_anthropic, check_openai

import weft
from weft.log.api import call
from weft.log.reading import state
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import (
    ContextBudget,
    FirewallRules,
    Phase,
    PhaseRule,
    ToolRule,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 60.0
"""Seconds; the longest that a request may ask to be waited for."""


@pytest_asyncio.fixture(loop_scope="module")
async def client(url: str) -> AsyncIterator[weft.Client]:
    async with weft.connect(url, tenant="acme") as connected:
        yield connected


def turn(item_id: str, text: str) -> ContextItem:
    return ContextItem(item_id, ItemKind.USER_TURN, text)


def called(item_id: str, text: str) -> list[ContextItem]:
    """A tool call and its result."""
    named = {"tool_name": "look_up", "call_id": item_id}
    asked = {**named, "arguments": {"id": item_id}}
    return [
        ContextItem(item_id, ItemKind.TOOL_CALL, f"look_up({item_id})", metadata=asked),
        ContextItem(f"{item_id}-r", ItemKind.TOOL_RESULT, text, item_id, metadata=named),
    ]


async def test_what_was_just_published_is_compiled_at_once(client: weft.Client) -> None:
    ack = await client.publish("now", [turn("u", "What is order 17?"), *called("c", "17: a lamp")])
    pack = await client.compile("now", "answer", budget=500, after=ack.sequence, timeout=PATIENCE)
    assert "What is order 17?" in pack.prompt
    assert "17: a lamp" in pack.prompt
    assert pack.pending == ()
    assert pack.sequence >= ack.sequence
    assert pack.stats.included_count + pack.stats.dropped_count == pack.stats.total_candidates
    check_openai(pack.request("openai"))
    check_anthropic(pack.request("anthropic"))
    with pytest.raises(weft.InvalidInput, match="provider 'mistral' is unknown"):
        pack.request("mistral")  # type: ignore[arg-type]


async def test_an_unknown_session_is_not_found(client: weft.Client) -> None:
    with pytest.raises(weft.NotFound, match="'nobody' has no item"):
        await client.compile("nobody", "answer")


async def test_tenants_do_not_see_each_other(client: weft.Client, url: str) -> None:
    ack = await client.publish("mine", turn("u", "secret plan"))
    async with weft.connect(url, tenant="other") as other:
        with pytest.raises((weft.NotFound, weft.Unavailable)):
            await other.compile("mine", "answer", after=ack.sequence, timeout=0.5)


async def test_confirm_tells_new_known_and_conflicting(client: weft.Client) -> None:
    first = await client.publish("c1", [turn("a", "one"), turn("b", "two")])
    assert await client.confirm("c1", first) == weft.Confirmation(2, (), ())
    again = await client.publish("c1", [turn("a", "one"), turn("b", "changed"), turn("d", "new")])
    told = await client.confirm("c1", again)
    assert (told.stored, told.duplicates) == (1, ("a",))
    (conflict,) = told.conflicts
    assert (conflict.item_id, conflict.first_sequence) == ("b", first.sequence)
    pack = await client.compile("c1", "answer", after=again.sequence, timeout=PATIENCE)
    assert "two" in pack.prompt
    assert "changed" not in pack.prompt
    for _ in range(2):
        repeated = await client.publish("c1", [turn("a", "one"), turn("b", "changed")])
        assert repeated.duplicates == 2
        assert await client.confirm("c1", repeated) == weft.Confirmation(0, ("a",), (conflict,))


async def test_confirm_tells_a_conflict_within_one_publish_and_each_time_again(
    client: weft.Client,
) -> None:
    both = [turn("a", "one"), turn("a", "two")]
    first = await client.publish("c2", both)
    told = await client.confirm("c2", first)
    (conflict,) = told.conflicts
    assert (told.stored, conflict.item_id, conflict.sequence) == (1, "a", first.sequence)
    again = await client.confirm("c2", await client.publish("c2", both))
    assert (again.stored, again.conflicts) == (0, (conflict,))


async def test_confirm_knows_batches_too(client: weft.Client) -> None:
    many = [turn(f"m{n}", f"turn number {n}") for n in range(1_200)]
    await client.publish("bulk", many[:600])
    other = [turn("m5", "something else"), *many[1:]]
    told = await client.confirm("bulk", await client.publish("bulk", other))
    assert told.stored == 600
    assert told.duplicates == tuple(item.id for item in many[1:600] if item.id != "m5")
    assert [one.item_id for one in told.conflicts] == ["m5"]


async def test_confirm_settles_a_publish_that_failed_underway(client: weft.Client) -> None:
    """The log is full after 300 of 700 items: which are stored is told by their ids."""
    config = (await call(client.connection, "STREAM.INFO.weft"))["config"]
    full = {**config, "max_msgs": (await state(client.connection)).messages + 300}
    await call(client.connection, "STREAM.UPDATE.weft", full)
    items = [turn(f"f{n}", f"turn number {n}") for n in range(700)]
    with pytest.raises(weft.Overloaded) as failed:
        await client.publish("failed", items)
    await call(client.connection, "STREAM.UPDATE.weft", config)
    told = await client.confirm("failed", failed.value.ids)
    stored = (await client.status("failed")).items
    assert 0 < stored <= 300
    assert (told.stored, len(told.missing)) == (stored, len(failed.value.ids) - stored)
    left = [item for item in items if item.id not in failed.value.ids or item.id in told.missing]
    await client.confirm("failed", await client.publish("failed", left))
    assert await client.confirm("failed", [item.id for item in items]) == weft.Confirmation(
        700, (), ()
    )


async def test_explain_says_why(client: weft.Client) -> None:
    ack = await client.publish("why", [turn("u", "hello there"), *called("c", "a " * 50)])
    asked = CompileRequest(weft.Phase.ANSWER, budget=12, after=ack.sequence, timeout=PATIENCE)
    assert (await client.explain("why", "u", asked)).included
    dropped = await client.explain("why", "c-r", asked)
    assert (dropped.included, dropped.reason) == (False, "budget")


async def test_a_policy_holds_from_its_place_on(client: weft.Client) -> None:
    secret = ContextItem(
        "s", ItemKind.DOC_SNIPPET, "internal words", sensitivity=weft.Sensitivity.INTERNAL
    )
    ack = await client.publish("policy", [turn("u", "hello"), secret])
    before = await client.compile("policy", "answer", after=ack.sequence, timeout=PATIENCE)
    policy = weft.ContextPolicy("strict", "policy", sensitivity_floor=weft.Sensitivity.INTERNAL)
    put = await client.publish_policy(policy)
    after = await client.compile("policy", "answer", after=put.sequence, timeout=PATIENCE)
    assert "internal words" in before.prompt
    assert "internal words" not in after.prompt
    assert after.policy_version == put.sequence
    assert after.stats.dropped_reasons == {"sensitivity": 1}


async def test_a_policy_that_no_compile_could_use_is_refused(url: str) -> None:
    async with weft.connect(url, tenant="refusing") as client:
        hook = weft.ContextPolicy("odd", redaction_hook="nope")
        with pytest.raises(weft.InvalidInput, match="hook 'nope' is not installed here"):
            await client.publish_policy(hook)
        with pytest.raises(weft.InvalidInput, match=r"phases\.call\.kinds is empty"):
            await client.publish_policy(weft.ContextPolicy(phases={weft.Phase.CALL: PhaseRule(())}))
        assert (await client.policy())[0] == 0
        ack = await client.publish_policy(hook, hook_elsewhere=True)
        assert (await client.policy()) == (ack.sequence, hook)


async def test_a_sessions_policy_keeps_the_tenants_floor(url: str) -> None:
    """One that was published for its budget alone."""
    secret = ContextItem(
        "s", ItemKind.DOC_SNIPPET, "internal words", sensitivity=weft.Sensitivity.INTERNAL
    )
    async with weft.connect(url, tenant="floors") as client:
        await client.publish_policy(
            weft.ContextPolicy("all", sensitivity_floor=weft.Sensitivity.INTERNAL)
        )
        put = await client.publish_policy(
            weft.ContextPolicy("own", "s1", ContextBudget(answer=900))
        )
        ack = await client.publish("s1", [turn("u", "hello"), secret])
        pack = await client.compile("s1", "answer", after=ack.sequence, timeout=PATIENCE)
        version, policy = await client.policy("s1")
        assert "internal words" not in pack.prompt
        assert pack.stats.dropped_reasons == {"sensitivity": 1}
        assert pack.policy_version == version == put.sequence
        assert (policy.name, policy.budgets.answer) == ("own", 900)
        assert policy.sensitivity_floor is weft.Sensitivity.INTERNAL
        looser = await client.publish_policy(weft.ContextPolicy("all"))
        pack = await client.compile("s1", "answer", after=looser.sequence, timeout=PATIENCE)
        assert "internal words" in pack.prompt
        assert pack.policy_version == looser.sequence


async def test_a_sessions_policy_keeps_what_the_tenant_limits(url: str) -> None:
    """Where it was published for its budget alone."""
    everything = tuple(ItemKind)
    tenants = weft.ContextPolicy(
        "all",
        phases={Phase.ANSWER: PhaseRule(everything, limits={ItemKind.PLAN_STATE: 0})},
        firewall=FirewallRules(tools=(ToolRule("hr_*", show="always_summary"),)),
    )
    pay = "\n".join(f"employee {at}: salary {at * 37} EUR, note private{at}" for at in range(90))
    items = [
        turn("u", "show salaries"),
        ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "hr_read"}),
        ContextItem("r", ItemKind.TOOL_RESULT, pay, "c", metadata={"tool_name": "hr_read"}),
        ContextItem("p", ItemKind.PLAN_STATE, "the plan"),
    ]
    async with weft.connect(url, tenant="limits") as client:
        for policy, is_shown in [(weft.ContextPolicy("all"), True), (tenants, False)]:
            await client.publish_policy(policy)
            session = f"s{is_shown}"
            await client.publish_policy(
                weft.ContextPolicy("own", session, ContextBudget(answer=9_000))
            )
            ack = await client.publish(session, items)
            pack = await client.compile(session, "answer", after=ack.sequence, timeout=PATIENCE)
            said = [words in pack.prompt for words in ("the plan", "private77")]
            assert said == [is_shown] * 2


async def test_a_sessions_scope_is_on_every_item_in_the_log(client: weft.Client) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    async with client.session("ada-1", scope="user:ada", timeout=PATIENCE) as s:
        s.add({"role": "user", "content": "Look."}, {"role": "assistant", "tool_calls": [call]})
        await s.run(call, {"look": lambda: "seen"})
        assert "seen" in (await s.compile()).prompt
    events = [record.event() async for record in client.events("ada-1")]
    items = [event for event in events if isinstance(event, ContextItem)]
    assert [item.metadata["scope"] for item in items] == ["user:ada"] * 3


async def test_status_counts(client: weft.Client) -> None:
    ack = await client.publish("count", [turn("a", "one"), turn("b", "two")])
    await client.confirm("count", ack)
    reply = await client.status("count")
    assert (reply.session, reply.items, reply.sequence >= ack.sequence) == ("count", 2, True)


async def test_events_show_what_workers_derived(client: weft.Client) -> None:
    ack = await client.publish("derived", called("c", "some result"))
    await client.compile("derived", "interpret", after=ack.sequence, timeout=PATIENCE)
    kinds = [record.address().event async for record in client.events("derived")]
    assert kinds == ["tool_call", "tool_result", "envelope"]


async def test_many_compiles_at_once_are_all_answered(client: weft.Client) -> None:
    ack = await client.publish("busy", [turn(f"u{n}", f"question {n}") for n in range(50)])
    packs = await asyncio.gather(
        *(
            client.compile(
                "busy", "answer", query=f"question {n}", after=ack.sequence, timeout=PATIENCE
            )
            for n in range(20)
        )
    )
    assert all("question 49" in pack.prompt for pack in packs)
