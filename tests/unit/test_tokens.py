"""Token counts: tiktoken's own, a tokenizer file's or never too few, without network, in bounded
time."""

import json
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
from tests.firewall_texts import FORMS, made_text

from weft import tokens
from weft.model_encodings import encoding_named
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


_READS = """
import gzip
from weft import tokens
read, whole = [], gzip.decompress
gzip.decompress = lambda data: read.append(data) or whole(data)
counter = tokens.counter("o200k_base")
print(len(read))
counter.count(" ".join(f"word{n} of" for n in "abcdefghijklmnopqrstuvwxyz"))
print(len(read))
"""


def test_ranks_are_read_when_a_counter_is_made_and_not_by_the_first_text() -> None:
    """Reading them takes a fifth of a second, in which a service would answer nobody."""
    process = subprocess.run([sys.executable, "-c", _READS], capture_output=True, text=True)
    assert process.stdout.split() == ["1", "1"], process.stderr


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


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("o200k_base", "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("ft:gpt-4o-mini:acme::7", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("GPT-5", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("claude-sonnet-4-5", "estimate"),
        ("anthropic/claude-3-opus", "estimate"),
        ("gemini-2.5-pro", "estimate"),
        ("mistral-7b-instruct", "estimate"),
        ("deepseek-chat", "estimate_large"),
        ("meta-llama/Llama-3.1-8B", "estimate_large"),
        ("qwen3-coder", "estimate_large"),
    ],
)
def test_an_encoding_is_named_by_a_model(model: str, encoding: str) -> None:
    assert encoding_named(model) == encoding


@pytest.mark.parametrize("name", ["p50k", "gpt-9", "", "my-model"])
def test_a_model_that_nobody_knows_is_refused_with_what_serves_any(name: str) -> None:
    with pytest.raises(ValueError, match="`estimate` serves any other model"):
        encoding_named(name)


REAL = {
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
    "und Gewissen begabt.": (32, 28),
    "Все люди рождаются свободными и равными в своем достоинстве и правах.": (40, 35),  # noqa: RUF001
    "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。": (46, 44),
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।": (94, 84),
    '{"id": 4917, "total": 2060.09, "lines": [{"sku": "A-17", "count": 3}], "paid": false}\n': (
        48,
        46,
    ),
    "    for index, value in enumerate(values):\n        total += value * weights[index]\n": (
        22,
        17,
    ),
}
"""Texts with the most tokens that a small (Claude 2, Mistral 7B) and a large vocabulary (DeepSeek,
Qwen, Llama 3 and 4, Tekken, cl100k) make of them, as their own tokenizers count."""


@pytest.mark.parametrize("text", REAL)
def test_estimates_are_never_below_real_tokenizers(text: str) -> None:
    small, large = REAL[text]
    assert tokens.count(text, "estimate") >= max(small, large)
    assert tokens.count(text, "estimate_large") >= large


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level BPE tokenizer, trained here."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([*REAL, made_text(FORMS[0], 3_000)], trainer)
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    made.save(str(path))
    return path


@pytest.fixture(params=["estimate", "estimate_large", "file"])
def by_line(request: pytest.FixtureRequest) -> str:
    if request.param != "file":
        return str(request.param)
    return encoding_named(str(request.getfixturevalue("tokenizer_file")))


def test_counts_by_line_add_up_wherever_a_line_ends(by_line: str) -> None:
    text = "".join(f"{real}\n\n" for real in REAL)
    cuts = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n")]
    parts = [text[start:end] for start, end in pairwise(cuts)]
    assert tokens.count(text, by_line) == sum(tokens.count(part, by_line) for part in parts) > 0
    assert tokens.count("", by_line) == 0


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 40, 10_000])
def test_a_text_is_truncated_by_line_counts_too(by_line: str, limit: int) -> None:
    text = "\n".join(REAL)
    cut = tokens.truncate(text, limit, by_line)
    assert text.startswith(cut)
    assert tokens.count(cut, by_line) <= limit
    assert cut == text or limit < tokens.count(text, by_line)
    assert cut or limit < 7


def test_a_tokenizer_file_counts_as_it_does_by_itself(tokenizer_file: Path) -> None:
    from tokenizers import Tokenizer

    name, own = encoding_named(str(tokenizer_file)), Tokenizer.from_file(str(tokenizer_file))
    for text in REAL:
        assert tokens.count(text.rstrip("\n"), name) == len(own.encode(text.rstrip("\n")).ids)
    assert tokens.count("<|end|>", name) > 1
    assert encoding_named(name) == name


def test_a_tokenizer_file_that_changed_is_not_counted_with(
    tokenizer_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(tokenizer_file.read_bytes())
    name = encoding_named(str(path))
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    with pytest.raises(ValueError, match="put that one back"):
        encoding_named(name)
    with pytest.raises(ConfigurationError, match="put that one back"):
        tokens.count("x", name)


def test_what_is_no_tokenizer_file_is_said(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "config.json"
    path.write_text("{}")
    with pytest.raises(ConfigurationError, match="is no tokenizer"):
        tokens.count("x", encoding_named(str(path)))
    with pytest.raises(ValueError, match="No such file"):
        encoding_named(str(tmp_path / "tokenizer.json"))


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_a_long_text_counts_as_a_whole(name: str) -> None:
    line = "A sentence, of words:\n- and \u201cothers\u201d.  Unbelievable internationalisation\n\n"
    text = line * 4_000
    assert tokens.counter(name).count(text) == len(tokens.encoding(name).encode_ordinary(text))
