"""Counts of a prompt's and a message's lines add up to the tokenizer's own count of the whole."""

from __future__ import annotations

import random

import pytest

from weft import tokens
from weft.compiler.rendering.counting import counter

PARTS = [
    "words and more of them, as people write.", "id R-10_x", "[document] Ann:", "…", "  ", "/path",
    "user: ", "[document] ", "Ann B: ", ":  ",
    "{'a': 1}", "\n", "\n\n", " \n", "\r\n", "9.", "é", "\n/", "\n[", "\n]", "\n1", "\n ", "日本",
    "a much longer sentence that says nothing, so that there are few breaks in all of it " * 2,
]  # fmt: skip


@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_lines_add_up(name: str) -> None:
    rng = random.Random(name)
    count, encode = counter(name), tokens.encoding(name).encode_ordinary
    texts = ["".join(rng.choices(PARTS, k=rng.randint(1, 25))) for _ in range(5_000)]
    assert [count(text) for text in texts] == [len(encode(text)) for text in texts]
    assert [count(text) for text in texts] == [len(encode(text)) for text in texts]
