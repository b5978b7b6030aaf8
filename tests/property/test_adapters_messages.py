"""Whatever a session interleaves, the messages are valid, deterministic and hold every entry."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.provider_rules import check_anthropic, check_openai

from weft.adapters import anthropic, openai
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

on_any_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A loaded machine makes an example slow, and no test wrong."""

SECTIONS = ("header", "policy", "tools", "context", "latest")


@st.composite
def sessions(draw: st.DrawFn) -> list[PackEntry]:
    """Up to 25 entries in any order, calls and results tied, torn or crossed."""
    entries = []
    for place in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(list(ItemKind)))
        entries.append(
            PackEntry(
                item_id=f"i{place}",
                kind=kind,
                text=draw(st.sampled_from(["", " ", f"text-{place}"])),
                section=draw(st.sampled_from(SECTIONS)),
                parent_id=draw(st.sampled_from([None, "gone", *(f"i{n}" for n in range(25))])),
                author=draw(st.sampled_from([None, "Ann", "Bo"])),
                tool_name=draw(st.sampled_from([None, "get", "a.b c", "é" * 80])),
                call_id=draw(st.sampled_from([None, "x", "y", "no good", "z" * 50])),
                arguments=draw(st.sampled_from([None, {}, {"n": place}])),
                turn_id=draw(st.sampled_from([None, "1", "2"])),
                occurred_at=draw(st.sampled_from([None, "2023-05-08T13:00:00Z", "2024-01-01"])),
                view=draw(st.sampled_from(["whole", "redacted"])),
                is_error=draw(st.booleans()),
            )
        )
    return entries


@on_any_machine
@given(sessions())
def test_both_providers_take_any_session(entries: list[PackEntry]) -> None:
    check_openai(openai.messages(entries))
    check_anthropic(anthropic.messages(entries))
    assert openai.messages(entries) == openai.messages(list(entries))


@on_any_machine
@given(sessions())
def test_no_entry_is_lost(entries: list[PackEntry]) -> None:
    for made in (openai.messages(entries), anthropic.messages(entries)):
        shown = list(_strings(made))
        for entry in entries:
            if entry.text.strip() and entry.kind is not ItemKind.TOOL_CALL:
                assert any(entry.text in text for text in shown)


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _strings(held)
    elif isinstance(value, list):
        for held in value:
            yield from _strings(held)
