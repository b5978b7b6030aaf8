"""Numbers of JSON are shown as they are written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.firewall_made import envelope

from weft.firewall.verbatim_json import decoded, encoded
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=100, summary_tokens=400)
LITERALS = [
    "1.10",
    "1e3",
    "-0",
    "-0.0",
    "1E-7",
    "0.00001",
    "1e16",
    "12345678901234567890123",
    "1e400",
    "0.1000000000000000055511151231257827",
    "3.0",
    "7",
]


@pytest.mark.parametrize("literal", LITERALS)
def test_a_number_is_shown_as_it_is_written(literal: str) -> None:
    rows = ",".join(f'{{"id":{n},"note":"{"w " * 40}"}}' for n in range(40))
    text = f'{{"total":{literal},"rows":[{rows}]}}'
    assert f'"total":{literal}' in envelope(text, RULES).summary


@pytest.mark.parametrize("literal", LITERALS)
def test_a_number_of_a_short_result_is_a_fact_as_it_is_written(literal: str) -> None:
    facts = envelope(f'{{"total":{literal}}}', RULES).facts
    assert [fact.value for fact in facts] == [literal]


def test_extremes_and_counts_of_records_are_shown_as_they_are_written() -> None:
    note = "w " * 40
    rows = ",".join(
        f'{{"id":{n},"price":{n}.50,"rate":{"1.10" if n % 2 else "2e0"},"note":"{note}"}}'
        for n in range(40)
    )
    summary = envelope(f"[{rows}]", RULES).summary
    assert "price: 0.50..39.50" in summary
    assert "2e0 (20), 1.10 (20)" in summary
    assert '"price":39.50' in summary


def test_a_number_of_thousands_of_digits_is_read_as_before() -> None:
    text = f"[{'1' * 5_000}, -0]"
    assert envelope(text, RULES).summary
    assert decoded("[-0, 1]") == [0, 1]


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    )
)
def test_any_json_is_written_again_as_it_was(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "Infinity" not in text:
        again = encoded(decoded(text))
        assert json.loads(again) == json.loads(text)
        assert '"' in text or again == text
