"""Counting tokens without network: tiktoken over ranks that an installed package carries.

Counts are a pure function of the text and the encoding's name. Text that would make the tokenizer
slow (one letter a million times) is counted in pieces, so that time stays linear in length.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import compress, repeat
from operator import is_, sub
from pathlib import Path
from typing import Generic, TypeVar

import tiktoken

from weft_schemas.errors import ConfigurationError

DEFAULT_ENCODING = "cl100k_base"

_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
        r"\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
}
"""The split patterns that tiktoken's own `tiktoken_ext.openai_public` defines."""

_RANK_HASHES = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""SHA-256 that tiktoken itself expects of the rank files."""

ENCODINGS = tuple(_PATTERNS)
_PIECE = 100_000
"""Characters per piece of a long text: bounds what one pathological run can cost. A cut can add a
token or so per piece, the same on every machine."""


@cache
def encoding(name: str = DEFAULT_ENCODING) -> tiktoken.Encoding:
    """The encoding, built from ranks on disk. Raises `ConfigurationError`."""
    if name not in _PATTERNS:
        raise ConfigurationError(f"encoding {name!r} is unknown; use one of {', '.join(ENCODINGS)}")
    return tiktoken.Encoding(
        name=name,
        pat_str=_PATTERNS[name],
        mergeable_ranks=_ranks(name),
        special_tokens={},
    )


def count(text: str, name: str = DEFAULT_ENCODING) -> int:
    """Tokens of `text`; text that looks like a special token is counted as plain text."""
    if len(text) > _PIECE:
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return sum(count(piece, name) for piece in pieces)
    return _counter(name).count(text)


def learn(text: str, tokens: int, name: str = DEFAULT_ENCODING) -> None:
    """Remember that `text` has so many tokens, as `count` said before: in another process, too."""
    _counter(name).learn(text, tokens)


def truncate(text: str, limit: int, name: str = DEFAULT_ENCODING) -> str:
    """The longest prefix of at most `limit` tokens that ends at a whole character."""
    if limit <= 0:
        return ""
    encoder = encoding(name)
    # No token of either encoding is longer than 128 bytes, so more text than this cannot matter.
    head = text[: limit * 128]
    tokens = encoder.encode_ordinary(head)
    if len(tokens) <= limit and len(head) == len(text):
        return text
    end = limit
    while end > 0:
        prefix = encoder.decode_bytes(tokens[:end]).decode("utf-8", "ignore")
        if count(prefix, name) <= limit:
            return prefix
        end -= 1
    return ""


_FEW = 8
"""New pieces below which each is counted by itself."""
_LONGEST_PLAIN = 47
_PLAIN = re.compile(r" [!-~]{1,46}")
_Key = TypeVar("_Key", str, bytes)
_MOST = 50_000
_LONGEST = 48
"""Words and pieces that are remembered, and their length: some 10 MB, and most of most texts."""


_SHORT, _LONG, _REMEMBERED = 100, 2_000, 1_024
"""Characters from and up to which the inside of a text is remembered, and how many: at most 2 MB.
The same text is counted behind its label, as a message and by itself: only its ends differ."""


class _Known(dict[_Key, int], Generic[_Key]):
    """Tokens of the stretches between blanks that have been counted. No word of an encoding goes
    over from one to the next, and most of them come again: the keys and the shapes of values of a
    tool's results."""

    def __init__(self, encoder: tiktoken.Encoding, written: Callable[[_Key], str]) -> None:
        """`written` gives a piece as the encoder shall see it."""
        self.encoder = encoder
        self.written: Callable[[_Key], str] = written

    def __missing__(self, piece: _Key) -> int:
        tokens = len(self.encoder.encode_ordinary(self.written(piece)))
        if len(piece) <= _LONGEST:
            self.remember({piece: tokens})
        return tokens

    def remember(self, counted: Mapping[_Key, int]) -> None:
        if len(self) + len(counted) > _MOST:
            self.clear()
        self.update(counted)

    def total(self, pieces: Sequence[_Key]) -> int:
        """Tokens of all these. Most were seen before, so that nothing else is done for each."""
        counts = list(map(self.get, pieces))
        try:
            return sum(counts)  # type: ignore[arg-type]
        except TypeError:  # some are new
            known = sum(filter(None, counts))
        new = list(compress(pieces, map(is_, counts, repeat(None))))
        if len(new) >= _FEW:
            self.remember(_counted({piece: self.written(piece) for piece in new}, self.encoder))
        return known + sum(map(self.__getitem__, new))


@cache
def _opening(name: str) -> bytes:
    """By token, 1 where it begins with a blank."""
    ranks = _ranks(name)
    opens = bytearray(max(ranks.values()) + 1)
    for word, token in ranks.items():
        opens[token] = word.startswith(b" ")
    return bytes(opens)


def _all_plain(joined: str, texts: Collection[str]) -> bool:
    """Whether each of these matches `_PLAIN`, in half of the time of asking each."""
    lengths = set(map(len, texts))
    if min(lengths) < 2 or max(lengths) > _LONGEST_PLAIN or not joined.isascii():
        return False
    return joined.isprintable() and "  " not in joined and joined.count(" ") == len(texts)


def _counted(texts: dict[_Key, str], encoder: tiktoken.Encoding) -> dict[_Key, int]:
    """Tokens of the plain ones among these texts, in one call of the encoder, which costs half of a
    call for each. A text begins where a token begins with a blank: there is none inside it."""
    joined = "".join(texts.values())
    if not _all_plain(joined, texts.values()):
        texts = {piece: text for piece, text in texts.items() if _PLAIN.fullmatch(text)}
        joined = "".join(texts.values())
    tokens = encoder.encode_ordinary(joined)
    starts: list[int] = list(
        compress(range(len(tokens)), map(_opening(encoder.name).__getitem__, tokens))
    )
    if len(starts) != len(texts):
        return {}
    return dict(zip(texts, map(sub, [*starts[1:], len(tokens)], starts), strict=True))


class _Counter:
    """Counts text, of which most was seen before: new text takes about tiktoken's time, the same
    text again two fifths of it or less."""

    def __init__(self, name: str) -> None:
        self._encoder = encoding(name)
        self._pieces: _Known[bytes] = _Known(self._encoder, bytes.decode)
        self._spaced = _Known(self._encoder, _spaced)
        self._other: _Known[str] = _Known(self._encoder, str)
        self._joined = _JOINED[name]
        self._inner: dict[str, int] = {}

    def count(self, text: str) -> int:
        if self._joined and any(pair in text for pair in self._joined):
            return len(self._encoder.encode_ordinary(text))
        if text.isascii() or text.replace(_GAP, "").isascii():
            return self._ascii(text)
        if _OTHER_SPACES.search(text):
            return len(self._encoder.encode_ordinary(text))
        return self._other.total(_OTHER_PIECES.findall(text))

    def _ascii(self, text: str) -> int:
        start, end = _inside(text)
        if start == end:
            return self._plain(text)
        inner = text[start:end]
        known = self._inner.get(inner)
        if known is None:
            known = self._plain(inner)
            self._remember(inner, known)
        return self._end(text[:start]) + known + self._end(text[end:])

    def learn(self, text: str, tokens: int) -> None:
        """What `tokens.learn` says."""
        start, end = _inside(text)
        inner = text[start:end]
        if inner and inner not in self._inner and text.isascii():
            self._remember(inner, tokens - self._end(text[:start]) - self._end(text[end:]))

    def _remember(self, inner: str, tokens: int) -> None:
        if len(self._inner) >= _REMEMBERED:
            self._inner.clear()
        self._inner[inner] = tokens

    def _end(self, text: str) -> int:
        """Tokens of what is before or behind the inside of a text, mostly a word. A line break is a
        token of its own behind a letter or a digit."""
        broken = text[-1] == "\n" and text[-2:-1].isalnum()
        data = text.encode().translate(_ZEROS)
        word = data[:-1] if broken else data
        known = self._spaced[word[1:]] if word[:1] == b" " else self._pieces[word]
        return known + broken

    def _plain(self, text: str) -> int:
        # Up to three digits are a token of their own, so that any digits count as others do.
        data = text.encode().translate(_ZEROS)
        lines = data.find(b"\n", 0, -1) >= 0
        if lines or b"  " in data or len(data.translate(None, _OTHER_BLANKS)) < len(data):
            return self._pieces.total(_PIECES.findall(data))
        first, *others = data.split(b" ")
        return self._pieces[first] + self._spaced.total(others)


def _inside(text: str) -> tuple[int, int]:
    """Where the inside of a text begins and ends, at blanks at which it can be cut: no token goes
    over from another character to a blank. Twice the same place where it has none."""
    if not _SHORT < len(text) < _LONG:
        return 0, 0
    start, end = text.find(" ", 1), text.rfind(" ")
    if 0 < start < end and text[start - 1] > " " and text[end - 1] > " ":
        return start, end
    return 0, 0


def _spaced(piece: bytes) -> str:
    return f" {piece.decode()}"


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
"""What lies within one word of an encoding although a piece ends there."""
_counter = cache(_Counter)


def _ranks(name: str) -> dict[bytes, int]:
    spec = find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "no token ranks are installed; install weft[workers], which carries them"
        )
    packed = Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"
    try:
        content = gzip.decompress(packed.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"token ranks {packed.name} cannot be read: {error}; reinstall bpe-openai"
        ) from None
    if hashlib.sha256(content).hexdigest() != _RANK_HASHES[name]:
        raise ConfigurationError(f"token ranks {packed.name} are damaged; reinstall bpe-openai")
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
