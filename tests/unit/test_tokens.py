"""Token counts: tiktoken's own, without network, in bounded time."""

import pytest
import tiktoken

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


def test_many_texts_count_as_each_alone() -> None:
    texts = ["", "plain words", "日本語", "a" * 250_000, "<|endoftext|>"]
    assert tokens.count_many(texts) == [tokens.count(text) for text in texts]
    assert tokens.count_many([]) == []
