"""Tokens of words, remembered: most words of most texts come again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import compress
from operator import sub
from typing import Generic, TypeVar

import tiktoken

from weft.tokens.encodings import begins_with_blank

_FEW = 8
"""New pieces below which each is counted by itself."""
_MAX_PLAIN_LENGTH = 47
_PLAIN = re.compile(r" [!-~]{1,46}")
MAX_REMEMBERED = 50_000
MAX_WORD_LENGTH = 48
"""Words and pieces that are remembered, and their length: some 10 MB, and most of most texts."""

Key = TypeVar("Key", str, bytes)


class CountedWords(dict[Key, int], Generic[Key]):
    """Tokens of the stretches between blanks that have been counted. No word of an encoding goes
    over from one to the next, and most of them come again: the keys and the shapes of values of a
    tool's results."""

    def __init__(self, encoder: tiktoken.Encoding, written: Callable[[Key], str]) -> None:
        """`written` gives a piece as the encoder should see it."""
        self.encoder = encoder
        self.written: Callable[[Key], str] = written

    def __missing__(self, piece: Key) -> int:
        tokens = len(self.encoder.encode_ordinary(self.written(piece)))
        if len(piece) <= MAX_WORD_LENGTH:
            self.remember({piece: tokens})
        return tokens

    def remember(self, counted: Mapping[Key, int]) -> None:
        if len(self) + len(counted) > MAX_REMEMBERED:
            self.clear()
        self.update(counted)

    def sum(self, pieces: Sequence[Key]) -> int:
        """Tokens of all. Most were seen before, so that nothing else is done for these."""
        try:
            return sum(map(self.get, pieces))  # type: ignore[arg-type]
        except TypeError:  # None: some are new
            new = [piece for piece in pieces if piece not in self]
        if len(new) >= _FEW:
            self.remember(_counted({piece: self.written(piece) for piece in new}, self.encoder))
        return sum(map(self.__getitem__, pieces))


def _all_plain(joined: str, texts: Collection[str]) -> bool:
    """Whether each of these matches `_PLAIN`, in half of the time of asking each."""
    lengths = set(map(len, texts))
    if min(lengths) < 2 or max(lengths) > _MAX_PLAIN_LENGTH or not joined.isascii():
        return False
    return joined.isprintable() and "  " not in joined and joined.count(" ") == len(texts)


def _counted(texts: dict[Key, str], encoder: tiktoken.Encoding) -> dict[Key, int]:
    """Tokens of the plain ones among these texts, in one call of the encoder, which costs half of a
    call for each. A text begins where a token begins with a blank: there is none inside it."""
    joined = "".join(texts.values())
    if not _all_plain(joined, texts.values()):
        texts = {piece: text for piece, text in texts.items() if _PLAIN.fullmatch(text)}
        joined = "".join(texts.values())
    tokens = encoder.encode_ordinary(joined)
    starts: list[int] = list(
        compress(range(len(tokens)), map(begins_with_blank(encoder.name).__getitem__, tokens))
    )
    if len(starts) != len(texts):
        return {}
    return dict(zip(texts, map(sub, [*starts[1:], len(tokens)], starts), strict=True))
