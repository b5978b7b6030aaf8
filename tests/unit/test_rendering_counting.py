"""Counts of a prompt's and a message's lines add up to the tokenizer's own count of the whole."""

from __future__ import annotations

import random

import pytest
import tiktoken
from tests.folded import model

from weft import tokens
from weft.compiler.compile import compile_pack
from weft.compiler.rendering.counting import counter
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

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


@pytest.mark.parametrize("phase", Phase)
def test_a_compile_counts_no_prose_again(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The read model knows the tokens of each, in whatever parts they are shown; what is new is a
    last word with a line break behind it."""
    words = iter(range(10**6))
    said = [
        ContextItem(
            f"d{number}",
            ItemKind.DOC_SNIPPET,
            " ".join(f"Sentence of zq{next(words)}w and zq{next(words)}w." for _ in range(40)),
        )
        for number in range(30)
    ]
    view = model(*said).view("t", "s")
    encode, encoded = tiktoken.Encoding.encode_ordinary, list[str]()

    def seen(self: tiktoken.Encoding, text: str) -> list[int]:
        encoded.append(text)
        return encode(self, text)

    monkeypatch.setattr(tiktoken.Encoding, "encode_ordinary", seen)
    tokens.counter.cache_clear()
    counter.cache_clear()
    pack = compile_pack(view, CompileRequest(phase, "zq17w", 1_000)).pack
    assert any(entry.view == "shortened" for entry in pack.entries)
    assert pack.stats.prompt_tokens == len(encode(tokens.encoding(), pack.prompt))
    ends = [text.strip() for text in encoded if "zq" in text]
    assert len(ends) <= 2 * len(pack.entries)
    assert all(" " not in end for end in ends)
