"""Every pattern, and every function that takes a whole text, takes time in proportion to it, on
texts made to be slow for it: a whole process waits for what one agent published."""

import json
import re
from functools import cache

import pytest
from tests.firewall_made import KEY, envelope
from tests.growing import LONG, PARTS, Search, part_of, patterns, slow, units

from weft import tokens
from weft.bodies.clean import clean
from weft.compiler.ranking.dates import dates_in
from weft.firewall.guards import scan
from weft.memory.derive import facts_of_item
from weft.passages.json_unquoted import unquoted
from weft.passages.literals import decoded
from weft.passages.splitting import outline_of
from weft.router.words import words_of
from weft.secrets.scanning import secrets_behind_hidden
from weft.summarizer.extract import sentences_within
from weft.terms import analyse
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.events import Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules

ELSEWHERE = ("weft.cli", "weft.adapters")
"""They read an operator's own files."""
BOUNDED = {
    "weft.audit.grounding._FIELD": "searches the 80 characters before a value",
    "weft.secrets.masking._AFTER_KEY": "searches the 24 bytes before a finding",
    "weft.passages.json_values._SIGN": "is matched where the last match ended, never searched for",
    "weft.passages.json_unquoted._STRING": "reads decoded JSON: every string has its end",
    "weft.passages.literals._STRING": "the same",
    "weft.facts.memory_fact._SIGN": "the same",
    "weft.router.hydration._FORMATS['email']": "matches whole values, of 120 characters at most",
    "weft.router.hydration._FORMATS['uri']": "matches whole values, of 120 characters at most",
}
"""Why a pattern that would be slow is given no text that is long enough."""
BEFORE = {"weft.facts.memory_fact._PAIR": "a = b"}
"""What a text begins with that gets a pattern as far as its slow part."""
LIMIT = 10_000


def facts_in(kind: ItemKind) -> Search:
    return lambda text: facts_of_item("s", ContextItem("u", kind), text, Origin(1))


WHOLE: dict[str, Search] = {
    "envelope": envelope,
    "clean": lambda text: clean(text.encode()),
    "scan": lambda text: scan(text, FirewallRules(), KEY, LIMIT),
    "hidden": lambda text: secrets_behind_hidden(text.encode()),
    "facts of a turn": facts_in(ItemKind.USER_TURN),
    "facts given": facts_in(ItemKind.MEMORY_FACT),
    "summary": lambda text: sentences_within(text, 120, DEFAULT_ENCODING),
    "terms": analyse,
    "words": words_of,
    "outline": outline_of,
    "tokens": lambda text: tokens.count(text, DEFAULT_ENCODING),
}
"""What takes an agent's whole text."""


def compact(text: str) -> None:
    """What a rendition shows of JSON."""
    outline_of.cache_clear()
    unquoted(decoded(text).text)


STRUCTURED: dict[str, Search] = {"outline": outline_of, "compact": compact, "envelope": envelope}
JSON = {
    "blanks": lambda unit, count: '{"a": 1,' + " " * count + '"b": 2}',
    "line breaks": lambda unit, count: '{"a": 1,' + "\n" * count + '"b": 2}',
    "blanks before a colon": lambda unit, count: '{"a"' + " " * count + ": 1}",
    "a string": lambda unit, count: json.dumps({"a": unit * count}),
    "a string of JSON": lambda unit, count: json.dumps({"a": json.dumps([unit * count])}),
    "strings": lambda unit, count: json.dumps([unit] * count),
    "records": lambda unit, count: json.dumps([{"id": unit, "a": [unit]}] * (count // 8)),
}
"""JSON that is whole, which the texts of the others never are: `unit`s of it, and how many."""


@pytest.mark.parametrize("form", JSON)
@pytest.mark.parametrize("name", STRUCTURED)
def test_what_reads_whole_json_is_linear(name: str, form: str) -> None:
    work, made = STRUCTURED[name], JSON[form]
    for unit in ("a", "\n", '"', "\\", "a. ", "{", ","):
        assert slow(lambda text, unit=unit: work(made(unit, len(text))), ["x"]) is None


def test_the_times_of_a_query_are_read_in_linear_time() -> None:
    assert slow(dates_in.__wrapped__, ["1 may ", "may 1 ", "2024-01 ", "in may "], LONG) is None


@cache
def all_patterns() -> dict[str, tuple[re.Pattern[str], Search]]:
    """With the first test that asks: each process that collects the tests would import all."""
    return {name: (pattern, work) for name, pattern, work in patterns(ELSEWHERE)}


@pytest.mark.parametrize("part", PARTS)
def test_patterns_are_linear(part: str) -> None:
    for name, (pattern, work) in all_patterns().items():
        if part_of(name) == part and name not in BOUNDED:
            before = BEFORE.get(name, "")
            found = slow(lambda text, work=work, before=before: work(before + text), units(pattern))
            assert found is None, name


@pytest.mark.parametrize("name", WHOLE)
def test_what_takes_a_whole_text_is_linear(name: str) -> None:
    assert slow(WHOLE[name], units(), LONG) is None


def test_what_is_said_to_be_bounded_is_there() -> None:
    assert set(BOUNDED) <= set(all_patterns())
    assert {part_of(name) for name in all_patterns()} <= set(PARTS)
