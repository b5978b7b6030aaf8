"""Rules for tools and results that do not name their tool: the tool of their call counts, in the
firewall, in prompts and in drill-downs."""

import pytest

import weft
from weft.compiler.compile import compile_pack
from weft.firewall import call_names
from weft.firewall.call_names import CallNames, SessionCalls
from weft.firewall.derive import envelope_for
from weft.firewall.service import allowed
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.errors import Forbidden
from weft_schemas.events import Origin
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    Phase,
    ToolRule,
    rule_of_result,
    strictest_rule,
)

ROWS = "".join(f"row {n}: employee E-{n} earns {n * 13} in dept {n % 3}\n" for n in range(300))
ENOUGH = 50_000


def policy(rule: ToolRule, floor: Sensitivity = Sensitivity.CONFIDENTIAL) -> ContextPolicy:
    return ContextPolicy("hr", sensitivity_floor=floor, firewall=FirewallRules(tools=(rule,)))


SUMMARISED = policy(ToolRule("hr_*", show="always_summary"))
SECRET = policy(ToolRule("hr_*", sensitivity=Sensitivity.CONFIDENTIAL))


def call(tool: str = "hr_list", name: str = "c", **more: object) -> ContextItem:
    named = {"arguments": {}, **more, **({"tool_name": tool} if tool else {})}
    return ContextItem(name, ItemKind.TOOL_CALL, f"{tool}()", metadata=named)


def result(name: str = "r", parent: str | None = "c", text: str = ROWS, **more: str) -> ContextItem:
    return ContextItem(name, ItemKind.TOOL_RESULT, text, parent, metadata=dict(more))


async def compiled(rules: ContextPolicy, *items: ContextItem) -> ContextPack:
    async with weft.testing.in_memory() as client:
        await client.publish_policy(rules)
        await client.publish("s", list(items))
        return await client.compile("s", "answer", budget=ENOUGH)


async def test_a_result_is_shown_as_the_rule_of_its_calls_tool_says() -> None:
    for items in ([call(), result()], [call(call_id="1"), result(parent=None, call_id="1")]):
        prompt = (await compiled(SUMMARISED, *items)).prompt
        assert "E-151" not in prompt
        assert "hr_list" in prompt
    assert "E-151 earns" in (await compiled(SUMMARISED, call("list"), result())).prompt


async def test_a_result_is_as_sensitive_as_the_rule_of_its_calls_tool_says() -> None:
    pack = await compiled(SECRET, call(), result())
    assert "E-1 " not in pack.prompt
    assert pack.stats.dropped_reasons == {"sensitivity": 1}
    assert "E-1 " in (await compiled(SECRET, call("list"), result())).prompt


@pytest.mark.parametrize("rules", [SUMMARISED, SECRET])
async def test_where_nobody_names_the_tool_the_strictest_rule_holds(rules: ContextPolicy) -> None:
    unnamed = await compiled(rules, call(""), result())
    late = await compiled(rules, result(), call("list"))
    for pack in (unnamed, late):
        assert "E-151" not in pack.prompt


async def test_a_result_that_names_its_tool_is_under_that_rule() -> None:
    named = result(tool_name="hr_list")
    assert "E-151" not in (await compiled(SUMMARISED, call("list"), named)).prompt
    other = result(tool_name="list")
    assert "E-151 earns" in (await compiled(SUMMARISED, call(), other)).prompt


def test_the_strictest_of_several_rules() -> None:
    rules = FirewallRules(
        tools=(
            ToolRule("a", show="up_to:90"),
            ToolRule("b", show="up_to:50", sensitivity=Sensitivity.INTERNAL),
            ToolRule("c", sensitivity=Sensitivity.RESTRICTED, passthrough=True),
        )
    )
    expected = ToolRule("*", sensitivity=Sensitivity.RESTRICTED, show="up_to:50")
    assert strictest_rule(rules) == rule_of_result(rules, None, "") == expected
    assert rule_of_result(rules, None, "a") == rules.tools[0]
    assert rule_of_result(rules, "c", "a") == rules.tools[2]
    assert rule_of_result(FirewallRules(), None, None) is None


def unaware(rules: ContextPolicy) -> ReadModel:
    """A session whose envelope was made without a look at the call."""
    item = result()
    made = envelope_for(
        item, item.text, origin=Origin(2, "r", "firewall", "19"), rules=FirewallRules(),
        fingerprint_key=b"", encoding="o200k_base", tenant="t", session="s",
    )  # fmt: skip
    return ReadModel.in_memory(records_of([call(), item, made, rules], "t", "s"))


def test_a_compile_does_without_an_envelope_that_knows_the_tool() -> None:
    request = CompileRequest(Phase.ANSWER, budget=ENOUGH)
    prompt = compile_pack(unaware(SUMMARISED).view("t", "s"), request).pack.prompt
    assert "E-151" not in prompt
    pack = compile_pack(unaware(SECRET).view("t", "s"), request).pack
    assert "E-1 " not in pack.prompt
    assert pack.stats.dropped_reasons == {"sensitivity": 1}


def test_a_drilldown_does_so_too() -> None:
    model = unaware(SECRET)
    envelope = model.view("t", "s").by_ids(["r"])[0].envelope
    assert envelope is not None
    with pytest.raises(Forbidden, match="is confidential"):
        allowed(model, "t", envelope.artifacts[0].handle, b"")


def test_of_several_calls_with_one_id_the_first_counts_if_it_precedes_the_result() -> None:
    calls = SessionCalls()
    calls.add(call("first", call_id="1"), 4)
    calls.add(call("second"), 6)
    assert (
        calls.tool_of(result(), 7) == calls.tool_of(result(parent="x", call_id="1"), 7) == "first"
    )
    calls.add(call("third", "d", call_id="1"), 8)
    again = result(parent=None, call_id="1")
    assert (calls.tool_of(again, 8), calls.tool_of(again, 9)) == ("first", "third")
    assert calls.tool_of(result(), 3) == calls.tool_of(result(parent="x"), 7) == ""


def test_the_calls_of_the_sessions_used_last_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_names, "MAX_SESSIONS", 2)
    names = CallNames()
    first = names.of("t", "a")
    names.of("t", "b")
    assert names.of("t", "a") is first
    names.of("t", "c")
    assert names.of("t", "a") is first
    monkeypatch.setattr(call_names, "MAX_CALLS", 1)
    for name in ("c", "d"):
        first.add(call("f", name), 1)
    assert len(names.of("t", "e")) == 0
    assert names.of("t", "a") is not first
