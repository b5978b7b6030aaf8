"""Every pattern takes time in proportion to its text, on texts made to be slow for it: a whole
process waits for what one agent published."""

import pytest
from tests.growing import patterns, slow, units

ELSEWHERE = ("weft.compiler", "weft.evaluation", "weft.cli", "weft.adapters")
"""The compiler's patterns are looked after with it; the others read an operator's own files."""
BOUNDED = {
    "weft.firewall.finding._AFTER_KEY": "searches the 24 bytes before a finding",
    "weft.passages.json_text._TOKEN": "reads what was decoded as JSON: every string has its end",
    "weft.passages.json_text._STRING": "the same",
    "weft.router.hydration._FORMATS['email']": "matches whole values, of 120 characters at most",
    "weft.router.hydration._FORMATS['uri']": "matches whole values, of 120 characters at most",
}
"""Why a pattern that would be slow is given no text that is long enough."""
BEFORE = {"weft.memory.given._PAIR": "a = b"}
"""What a text begins with that gets a pattern as far as its slow part."""
ALL = {name: (pattern, work) for name, pattern, work in patterns(ELSEWHERE)}


@pytest.mark.parametrize("name", [name for name in ALL if name not in BOUNDED])
def test_a_pattern_is_linear(name: str) -> None:
    pattern, work = ALL[name]
    before = BEFORE.get(name, "")
    assert slow(lambda text: work(before + text), units(pattern)) is None


def test_what_is_said_to_be_bounded_is_there() -> None:
    assert set(BOUNDED) <= set(ALL)
