"""A character that nobody sees, has no ink or takes another one back hides no credential: told by
Unicode's properties, over all of its characters."""

import random
import re
import sys
from functools import cache

import pytest
import regex

from weft.bodies.clean import clean
from weft.firewall.guards import scan
from weft.gateway.masking import Masking, safe
from weft.secrets.hidden_characters import BLANKS, JOINERS, without_splitting_characters
from weft.secrets.scanning import as_shown
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.policy import FirewallRules

TOKEN = "ghp_" + "a1B2" * 9
RULES = FirewallRules()
BETWEEN_WORDS = " \u00a0\u3000"
"""Spaces that stand between words: a token that one cuts looks cut."""
PROPERTIES = {
    "ignorable": r"\p{Default_Ignorable_Code_Point}",
    "space": r"[\p{Zs}--[ \u00a0\u3000]]",
    "line": r"[\p{Zl}\p{Zp}]",
    "control": r"[\p{Cc}--[\n\t\b\x1b\x9b]]",  # an escape takes the next character with it
    "format": r"[\p{Cf}--\p{Prepended_Concatenation_Mark}]",
    "private": r"\p{Co}",
    "no character": r"\p{Noncharacter_Code_Point}",
    "blank": r"[\u2800\U0001d159\U00016fe4]",
}
EVERY = 97
"""Of more than 5,000 characters with one property."""


@cache
def everything() -> str:
    return "".join(chr(at) for at in range(sys.maxunicode + 1) if not 0xD800 <= at <= 0xDFFF)


def characters(name: str) -> list[str]:
    found = regex.findall(PROPERTIES[name], everything(), flags=regex.V1)
    return found[:: EVERY if len(found) > 5_000 else 1]


def as_result(raw: str) -> str:
    """What a prompt shows of a tool's result."""
    data = raw.encode()
    return scan(clean(data).text, RULES, b"", 100, data).text


def by_gateway(raw: str) -> str:
    return safe(raw, Masking(RULES, b"", "t", DEFAULT_ENCODING))


WAYS = {"result": as_result, "other kinds": as_shown, "gateway": by_gateway}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROPERTIES)
def test_it_splits_no_token(name: str, way: str) -> None:
    left = [
        f"U+{ord(one):04X}"
        for one in characters(name)
        if WAYS[way](f"use {TOKEN[:4]}{one}{TOKEN[4:19]}{one}{one}{TOKEN[19:]} now, {one}é")
        not in (
            f"use [secret:github_token] now, {one}é",
            "use [secret:github_token] now, é",  # cleaned
        )
    ]
    assert left == []


TAKEN_BACK = {
    "backspace": "X\b",
    "backspaces": "wrong\b\b\b\b\b",
    "erased on a terminal": "X\b \b",
    "before a colour": "X\x1b[31m\b\x1b[0m",
    "going back": "wrong\x1b[5D",
    "going back once": "\u00e9\x1b[D",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TAKEN_BACK)
def test_a_character_that_is_taken_back_splits_no_token(name: str, way: str) -> None:
    for at in (3, 4, 12):
        shown = WAYS[way](f"first\nuse {TOKEN[:at]}{TAKEN_BACK[name]}{TOKEN[at:]} now\nlast")
        assert shown == "first\nuse [secret:github_token] now\nlast"


@pytest.mark.parametrize(
    "split", [r"\r", r"\u2800", r"\u1680", r"\u2009", r"\ue000", r"\u2028", r"X\b", r"X\u0008"]
)
@pytest.mark.parametrize("way", WAYS)
def test_an_escape_of_one_splits_no_token(split: str, way: str) -> None:
    shown = WAYS[way](f'{{"said": "use {TOKEN[:12]}{split}{TOKEN[12:]} now"}}')
    assert shown == '{"said": "use [secret:github_token] now"}'


@pytest.mark.parametrize(
    "text",
    [
        "C:\\reports\\backup\\beta.txt \\begin{array}\\right\\rho",
        "one\r\ntwo\r\n",
        "10 %\r20 %\r30 %\rdone",
        "N\bNA\bAM\bME\bE",
        "caf\u00e9\u2009: 12\u202f000\u00a0\u20ac",
        "\u2801\u2800\u2803 \ue0b0 ~/code \ue0b0 main",
        "\u0915\u094d\u200d\u0937 \U0001f468\u200d\U0001f469 1\ufe0f\u20e3",
    ],
)
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert as_shown(text) == text
    assert as_result(text) == clean(text.encode()).text


SPLITTING = re.compile(
    rf"(?<=[!-~])[{JOINERS}{BLANKS}]+(?=[!-~])"
    rf"|(?<=[^\s{JOINERS}{BLANKS}])[{BLANKS}]++(?=[^\s{JOINERS}])"
)
"""What splits something, by its definition."""


def test_what_splits_something_is_left_out_wherever_it_stands() -> None:
    rng = random.Random(11)
    signs = "a~ !\t\n\r]^-\\\u00a0\u200c\u2000\u2028\u3000\u00e9\u4e2d\ue000\ufe0f\U0010ffff"
    for _ in range(5_000):
        text = "".join(rng.choices(signs, k=rng.randint(1, 9)))
        assert without_splitting_characters(text) == SPLITTING.sub("", text)
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for between in ("a", "\u00e9", "a "):
        text = between.join(every)
        assert without_splitting_characters(text) == SPLITTING.sub("", text)


def test_what_is_hidden_is_masked_to_its_edges_and_no_further() -> None:
    text = f"a\u2800b\rc {TOKEN[:7]}\u2800{TOKEN[7:]} d\u2800 \u2800 e\rf"
    assert as_shown(text) == "a\u2800b\rc [secret:github_token] d\u2800 \u2800 e\rf"
