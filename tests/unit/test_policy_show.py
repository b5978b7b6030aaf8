import msgspec
import pytest

from weft_schemas.errors import InvalidInput
from weft_schemas.events import decode_event
from weft_schemas.policy import ContextPolicy, FirewallRules, ToolRule, shown_up_to


@pytest.mark.parametrize(
    ("rules", "most"),
    [
        (FirewallRules(), None),
        (FirewallRules(threshold=500), 500),
        (FirewallRules(threshold=500, show="fit"), None),
        (FirewallRules(show="up_to:4000"), 4_000),
        (FirewallRules(show="always_summary"), 0),
        (FirewallRules(tools=(ToolRule("read_*"),), show="up_to:7"), 7),
        (FirewallRules(tools=(ToolRule("read_*", show="fit"),), show="up_to:7"), None),
        (FirewallRules(tools=(ToolRule("read_*", threshold=2_000),)), 2_000),
        (FirewallRules(tools=(ToolRule("read_*", threshold=2_000, show="up_to:9"),)), 9),
        (FirewallRules(tools=(ToolRule("read_*", passthrough=True),), show="up_to:7"), None),
        (FirewallRules(tools=(ToolRule("write_*", show="always_summary"),)), None),
        (FirewallRules(tools=(ToolRule("*", show="up_to:3"), ToolRule("read_file"))), 3),
    ],
)
def test_how_many_tokens_of_a_result_may_show(rules: FirewallRules, most: int | None) -> None:
    assert shown_up_to(rules, "read_file") == most


@pytest.mark.parametrize("show", ["", "all", "up_to", "up_to:", "up_to:0", "up_to:x", "Fit"])
def test_another_word_is_refused_with_what_to_write(show: str) -> None:
    message = r"show of the rule for 'db\.\*' is .*'fit', 'up_to:N' .*'always_summary'"
    with pytest.raises(InvalidInput, match=message):
        ToolRule("db.*", show=show)
    with pytest.raises(InvalidInput, match="show of the firewall is"):
        FirewallRules(show=show)


def test_a_policy_event_names_the_field() -> None:
    event = {"type": "context_policy", "firewall": {"tools": [{"tool": "db.*", "show": "all"}]}}
    with pytest.raises(InvalidInput, match=r"'all'; write 'fit'.*\$\.firewall\.tools\[0\]"):
        decode_event(msgspec.json.encode(event))


def test_a_rule_cannot_ask_for_no_summary_and_for_one() -> None:
    with pytest.raises(InvalidInput, match="leave one of them out"):
        ToolRule("clock", passthrough=True, show="always_summary")


def test_a_policy_that_does_not_say_is_written_as_before() -> None:
    assert b"show" not in msgspec.json.encode(ContextPolicy(firewall=FirewallRules(threshold=9)))
