"""The values that a text states exactly."""

import pytest

from weft.compiler.profiles import DATE_WEIGHT, IDENTIFIER_WEIGHT, NUMBER_WEIGHT
from weft.compiler.ranking.values import values


def test_identifiers_weigh_more_than_dates_names_and_numbers() -> None:
    found = values("Mia paid 12 for HAT069 on 2024-05-20, which is fine with us.")
    assert found["HAT069"] == IDENTIFIER_WEIGHT > found["2024-05-20"] == DATE_WEIGHT > found["Mia"]
    assert IDENTIFIER_WEIGHT > found["12"] >= NUMBER_WEIGHT
    assert found.keys().isdisjoint({"paid", "which", "fine", "us."})


def test_a_name_of_hyphenated_words_is_a_value_and_a_lower_case_word_is_none() -> None:
    found = values("tool_name: get-current-date … returns the date, or -- if none is known - 0")
    assert found.keys() >= {"tool_name", "get-current-date"}
    assert found.keys().isdisjoint({"returns", "--", "-", "known"})


@pytest.mark.parametrize(
    "text",
    [
        "Mode is 'rewrite' or 'append', see below",
        'Mode is "rewrite" or "append", see below',
        "Mode is `rewrite` or `append`, see below",
        r"{\\n \\'mode\\': one of (\\'rewrite\\', \\'append\\')}",
    ],
)
def test_words_in_quotes_are_values_unless_they_are_keys(text: str) -> None:
    found = values(text)
    assert found.keys() >= {"rewrite", "append"}
    assert found.keys().isdisjoint({"mode", "one", "below"})


@pytest.mark.parametrize("text", ["I don't think it's theirs", "the dogs' lead, the cats' tail"])
def test_an_apostrophe_quotes_nothing(text: str) -> None:
    assert values(text) == {}
