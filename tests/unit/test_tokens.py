"""Token counts: tiktoken's own, without network, in bounded time."""

import random
from collections.abc import Sequence

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
        if chance.random() < 0.5:
            tokens.learn(text, len(encode(text)), name)
        texts = [form.format(text) for form in chance.sample(AROUND, len(AROUND))]
        assert [tokens.count(one, name) for one in texts] == [len(encode(one)) for one in texts]


def test_what_is_learned_is_not_counted_again() -> None:
    text = "some words that stand in this test and nowhere else," + " and so on" * 9
    tokens.learn(text, 1_000)
    assert tokens.count(text) == 1_000
    assert tokens.count(f" {text}\n") > 900


_WORDS = [*_PARTS, "word", "R-10", "it's", "end.", "(see", "a,b;c", "/x/y", "\x1c", "\x0b"]


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_the_words_of_a_text_have_its_tokens(name: str) -> None:
    chance = random.Random(name)
    encode, known = tokens.encoding(name).encode_ordinary, 0
    for _ in range(3_000):
        text = "".join(
            chance.choice(_WORDS) + chance.choice([" ", " ", " ", "\n", ""])
            for _ in range(chance.randint(1, 30))
        )
        count, words = tokens.count_words(text, name)
        assert count == len(encode(text))
        if words:
            known += 1
            assert sum(words[1:]) == count
            first = text.encode().split()[0].decode()
            assert words[0] == len(encode(f" {first}"))
            assert len(words) == len(text.encode().split()) + 1
    assert known > 300


@pytest.mark.parametrize("name", tokens.ENCODINGS)
@pytest.mark.parametrize("joints", [" ", " \n", [" ", "  "], [" ", "\n", "  ", "\n\n", " \n"]])
def test_parts_that_are_learned_by_their_words_are_counted_as_tiktoken_encodes_them(
    name: str, joints: Sequence[str]
) -> None:
    """Whatever parts of a text are put together, and whatever stands around them then."""
    chance = random.Random(f"{name} {joints}")
    encode = tokens.encoding(name).encode_ordinary
    for number in range(1_000):
        words = [*_WORDS, f"n{number}", "more"]
        parts = [
            " ".join(chance.choices(words, k=chance.randint(1, 40))).strip(" \n\r\t\x0b") or "word"
            for _ in range(chance.randint(1, 5))
        ]
        text = "".join(part + chance.choice(joints) for part in parts[:-1]) + parts[-1]
        gap = "\n" if "\n" in text else " "
        chosen = [at for at in range(len(parts)) if chance.random() < 0.6]
        counted = tokens.count_words(text, name)[1]
        spaced = [f"{part} " for part in parts]
        several = [stretched(parts, chosen, gap), [text], parts[:1], spaced, [*spaced[:1], " …"]]
        for stretches in several:
            tokens.learn_stretches(stretches, text, counted, name)
            together = "".join(stretches)
            texts = [form.format(together) for form in AROUND]
            assert [tokens.count(one, name) for one in texts] == [len(encode(one)) for one in texts]


def stretched(parts: list[str], chosen: list[int], gap: str) -> list[str]:
    """As `outline` gives them."""
    found = []
    for at, part in enumerate(parts):
        if at in chosen:
            found.append(part if not found or gap == "\n" else f" {part}")
        elif not found or "…" not in found[-1]:
            found.append("…" if not found or gap == "\n" else " …")
    return [f"{one}\n" for one in found[:-1]] + found[-1:] if gap == "\n" else found


def test_words_that_have_many_tokens_are_not_told_one_by_one() -> None:
    assert tokens.count_words("word " + "x1y2" * 400)[1] == b""
    assert tokens.count_words("x1y2" * 400)[1] == b""
    assert tokens.count_words("") == (0, b"")
