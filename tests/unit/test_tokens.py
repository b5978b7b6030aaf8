"""Token counts: tiktoken's own, without network, in bounded time."""

import random

import pytest
import tiktoken
from tests.firewall_texts import FORMS, made_text

from weft import tokens
from weft_schemas.errors import ConfigurationError


def test_counts_equal_a_known_tokenisation() -> None:
    assert tokens.encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert tokens.encoding("o200k_base").encode_ordinary("hello world") == [24912, 2375]
    assert isinstance(tokens.encoding(), tiktoken.Encoding)


def test_special_tokens_in_text_are_plain_text() -> None:
    assert tokens.count("<|endoftext|>") > 1


@pytest.mark.parametrize("text", ["", "plain words", "日本語のテキスト", "🙂" * 50, "a" * 999])
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 40, 10_000])
def test_a_truncated_text_is_a_prefix_within_the_limit(text: str, limit: int) -> None:
    cut = tokens.truncate(text, limit)
    assert text.startswith(cut)
    assert tokens.count(cut) <= limit


def test_truncating_keeps_a_text_that_fits() -> None:
    assert tokens.truncate("it fits", 10) == "it fits"


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'p50k'"):
        tokens.count("x", "p50k")


_PARTS = [
    "foo",
    "Bar",
    "12345",
    "7",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "/",
    "\n/",
    "'s",
    "'LL",
]
_PARTS += ["},", '",', '{"a":', ": ", "don't", "_", "$", "%"]
_TRICKY = " \n\r\t'sSdDlLvVeErRmM1239aZ_-.,\"\\/{}\x0b\x0c\x1c\x1f\x00\x7f"


_ENDS = ["\n", ".\n", " \n", "x\n", "\r\n", "/\n", "1\n"]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_ascii_counts_as_tiktoken_encodes_it(name: str) -> None:
    rng = random.Random(name)
    encode = tokens.encoding(name).encode_ordinary
    texts = ["".join(rng.choices(_TRICKY, k=rng.randint(0, 30))) for _ in range(5_000)]
    texts += ["".join(rng.choices(_PARTS, k=rng.randint(0, 14))) for _ in range(5_000)]
    texts += [made_text(form, 5_000) for form in FORMS]
    texts += [" ".join(rng.choices(_PARTS, k=9)) + end for end in _ENDS for _ in range(200)]
    texts += ["a" * 9_000, " " * 9_000 + "a", "\n" * 900 + " ", "HTTPServer'LL don'T camelCase"]
    assert all(text.isascii() for text in texts)
    # Left-out text is marked with the one other sign that is counted in the same way.
    texts += ["".join(rng.choices(f"{_TRICKY}………", k=rng.randint(1, 30))) for _ in range(5_000)]
    assert [tokens.count(text, name) for text in texts] == [len(encode(text)) for text in texts]


_OTHER = [
    "foo",
    "é",
    "Größe",
    "日本語",
    "🙂",
    "…",
    "'s",
    "\u2019s",
    '",',
    "1",
    "١٢",
    "\u0301",
    "½",
    "\n/",
    "/",
]
_OTHER += [" ", "  ", "\n", "\r\n", "\t", "\x1c", "\x85", "\u00a0", "\u3000", "\u2028", "\u200b"]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_other_counts_as_tiktoken_encodes_it(name: str) -> None:
    rng = random.Random(name)
    encode = tokens.encoding(name).encode_ordinary
    texts = ["".join(rng.choices(_OTHER, k=rng.randint(0, 14))) for _ in range(10_000)]
    assert [tokens.count(text, name) for text in texts] == [len(encode(text)) for text in texts]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
@pytest.mark.parametrize("end", ["", "\n", " …", " é\n"])
def test_many_new_words_are_counted_as_one_by_one(name: str, end: str) -> None:
    """They are learned in one call of the encoder, and stay right when they come again."""
    chance = random.Random(f"{name} {end}")
    signs = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_.,:;!?'\"()[]{}<>/\\@#$%&*+=|~^`"
    for _ in range(300):
        words = ["".join(chance.choices(signs, k=chance.randint(1, 60))) for _ in range(30)]
        expected = len(tokens.encoding(name).encode_ordinary(" ".join(words) + end))
        assert tokens.count(" ".join(words) + end, name) == expected
        chance.shuffle(words)
        expected = len(tokens.encoding(name).encode_ordinary(" ".join(words) + end))
        assert tokens.count(" ".join(words) + end, name) == expected


@pytest.mark.parametrize("name", tokens.ENCODINGS)
@pytest.mark.parametrize("blank", ["  ", "\n", " \n ", "\t"])
def test_new_words_between_other_blanks_are_counted_as_one_by_one(name: str, blank: str) -> None:
    chance = random.Random(f"{name} {blank}")
    for _ in range(100):
        words = ["".join(chance.choices("abcdefgh.,-7", k=9)) for _ in range(30)]
        text = "".join(word + chance.choice([" ", blank]) for word in words)
        assert tokens.count(text, name) == len(tokens.encoding(name).encode_ordinary(text))


AROUND = ["{}", " {}", "{}\n", " {}\n", "agent: {}\n", "[document] {}", "{} \u2026", "\u2026 {}"]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_a_text_that_comes_again_elsewhere_is_counted_as_tiktoken_encodes_it(name: str) -> None:
    chance = random.Random(name)
    encode = tokens.encoding(name).encode_ordinary
    for _ in range(300):
        text = "".join(chance.choices([*_PARTS, "word ", "R-10 "], k=chance.randint(20, 60)))
        texts = [form.format(text) for form in chance.sample(AROUND, len(AROUND))]
        assert [tokens.count(one, name) for one in texts] == [len(encode(one)) for one in texts]
