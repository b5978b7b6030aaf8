"""Counts tokens of texts with the help of earlier counts: those of words, and of the insides of
texts whose ends differ."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.tokens.encodings import encoding
from weft.tokens.words import MAX_REMEMBERED, MAX_WORD_LENGTH, CountedWords

_PIECE = 100_000
"""Characters per piece of a long text, at most: bounds what one pathological run can cost. A text
that is cut at a blank has the same count as the whole; without any blank, a cut can add a token or
so, the same on every machine."""
_LABEL = 16
"""Characters up to which a text is remembered as it is: labels and ids."""
_SHORT, _LONG, _REMEMBERED = 100, 2_000, 4_096
"""Characters from and up to which the inside of a text is remembered, and how many: at most 8 MB. A
prompt of 128,000 tokens has some 600 such texts, and each budget fit looks at more. The same text
is counted behind its label, as a message and by itself: only its ends differ."""
_GAP = "\u2026"
"""What stands for left-out text in a prompt: neither letter nor digit nor blank, as ASCII's other
characters are."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_OTHER_BLANKS = b"\t\r\v\f"
_PIECES = re.compile(rb"\s*+\S++(?:[\r\n](?:\s*[\r\n])?)?|\s++")
"""Line breaks behind other characters go with them, since some of those are one word with them."""
_OTHER_PIECES = re.compile(_PIECES.pattern.decode(), re.ASCII)
_OTHER_SPACES = re.compile(r"[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""Blanks that the encodings know and the pattern of pieces does not."""
_JOINED: dict[str, tuple[str, ...]] = {"cl100k_base": (), "o200k_base": ("\n/", "\r/")}
"""Text that lies within one word of an encoding although a piece ends inside it."""


class Counter:
    """Counts the tokens of texts that it has mostly seen before: new text takes about as long as
    with tiktoken, the same text again at most two fifths of that."""

    def __init__(self, name: str) -> None:
        self._encoder = encoding(name)
        self._pieces: CountedWords[bytes] = CountedWords(self._encoder, bytes.decode)
        self._spaced = CountedWords(self._encoder, _spaced)
        self._other: CountedWords[str] = CountedWords(self._encoder, str)
        self._joined = _JOINED[name]
        self._inner: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        """Both of texts of ASCII and gaps alone."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        if len(text) <= _LABEL:
            return self._other[text]
        if len(text) > _PIECE:
            return sum(map(self.count, _cut(text)))
        start, end = _inside(text)
        if start < end and (inner := self._inner.get(text[start:end])) is not None:
            before, behind = self._ends.get(text[:start]), self._ends.get(text[end:])
            if before is not None and behind is not None:
                return before + inner + behind
        if self._is_joined(text):
            return len(self._encoder.encode_ordinary(text))
        if _is_ascii(text):
            return self._ascii(text, start, end)
        if _OTHER_SPACES.search(text):
            return len(self._encoder.encode_ordinary(text))
        return self._other.sum(_OTHER_PIECES.findall(text))

    def _is_joined(self, text: str) -> bool:
        return any(pair in text for pair in self._joined)

    def _ascii(self, text: str, start: int, end: int) -> int:
        if start == end:
            return self._words(text)
        inner = text[start:end]
        known = self._inner.get(inner)
        if known is None:
            known = self._words(inner)
            self._remember_inner(inner, known)
        return self._end(text[:start]) + known + self._end(text[end:])

    def _remember_inner(self, inner: str, tokens: int) -> None:
        if len(self._inner) >= _REMEMBERED:
            self._inner.clear()
        self._inner[inner] = tokens

    def _end(self, text: str) -> int:
        known = self._ends.get(text)
        if known is None:
            known = self._new_end(text)
            self._remember_end(text, known)
        return known

    def _remember_end(self, text: str, tokens: int) -> None:
        if len(self._ends) >= MAX_REMEMBERED:
            self._ends.clear()
        if len(text) <= MAX_WORD_LENGTH:
            self._ends[text] = tokens

    def _new_end(self, text: str) -> int:
        """Tokens of what is before or behind the inside of a text, mostly a word. A line break is a
        token of its own behind a letter or a digit."""
        broken = text[-1] == "\n" and text[-2:-1].isalnum()
        data = text.encode().translate(_ZEROS)
        word = data[:-1] if broken else data
        known = self._spaced[word[1:]] if word[:1] == b" " else self._pieces[word]
        return known + broken

    def _words(self, text: str) -> int:
        """Tokens of a text's words, and of the blanks around them."""
        # Up to three digits are a token of their own, so that any digits count as others do.
        data = text.encode().translate(_ZEROS)
        lines = data.find(b"\n", 0, -1) >= 0
        if lines or b"  " in data or len(data.translate(None, _OTHER_BLANKS)) < len(data):
            return self._pieces.sum(_PIECES.findall(data))
        first, *others = data.split(b" ")
        return self._pieces[first] + self._spaced.sum(others)


def _cut(text: str) -> Iterator[str]:
    """Pieces of a long text."""
    start = 0
    while len(text) - start > _PIECE:
        end = text.rfind(" ", start + _PIECE // 2, start + _PIECE)
        while end > 0 and text[end - 1].isspace():
            end = text.rfind(" ", start + _PIECE // 2, end)
        end = end if end > 0 else start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _is_ascii(text: str) -> bool:
    """Whether it is, but for gaps."""
    return text.isascii() or text.replace(_GAP, "").isascii()


def _inside(text: str) -> tuple[int, int]:
    """Where the inside of a text begins and ends, at blanks at which it can be cut: no token goes
    over from another character to a blank. Twice the same place where it has none."""
    if not _SHORT < len(text) < _LONG:
        return 0, 0
    start, end = text.find(" ", 1), text.rfind(" ")
    if text[end - 1] == " ":
        end -= 1
    if 0 < start < end and text[start - 1] > " " and text[end - 1] > " ":
        return start, end
    return 0, 0


def _spaced(piece: bytes) -> str:
    return f" {piece.decode()}"
