"""Counting tokens without network: tiktoken over ranks that an installed package carries.

Counts are a pure function of the text and the encoding's name. Text that would make the tokenizer
slow (one letter a million times) is counted in pieces, so that time stays linear in length.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

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


class _Words(dict[str, int]):
    """Tokens of the words that have been counted. An encoding encodes each word for itself, so that
    a count is the sum of its words' counts."""

    def __init__(self, encoder: tiktoken.Encoding) -> None:
        self._encode = encoder.encode_ordinary

    def __missing__(self, word: str) -> int:
        tokens = len(self._encode(word))
        _remember(self, word, tokens)
        return tokens


class _Pieces(dict[bytes, int]):
    """Tokens of the stretches between blanks that have been counted. No word goes over from one to
    the next, and most of them come again: the keys and the shapes of values of a tool's results."""

    def __init__(self, words: re.Pattern[str], known: _Words, before: str) -> None:
        """`before` is what stands before each, and is counted with it."""
        self._words = words
        self._known = known
        self._before = before

    def __missing__(self, piece: bytes) -> int:
        words = self._words.findall(self._before + piece.decode())
        tokens = sum(map(self._known.__getitem__, words))
        _remember(self, piece, tokens)
        return tokens


@cache
def _opening(name: str) -> bytes:
    """By token, 1 where it begins with a blank."""
    ranks = _ranks(name)
    opens = bytearray(max(ranks.values()) + 1)
    for word, token in ranks.items():
        opens[token] = word.startswith(b" ")
    return bytes(opens)


_FEW = 4
"""New pieces below which each is counted by itself."""
_PLAIN = re.compile(r" [!-~]{1,46}")
_Key = TypeVar("_Key", str, bytes)
_MOST = 50_000
_LONGEST = 48
"""Words and pieces that are remembered, and their length: some 10 MB, and most of most texts."""


def _remember(known: dict[_Key, int], key: _Key, tokens: int) -> None:
    if len(key) <= _LONGEST:
        if len(known) >= _MOST:
            known.clear()
        known[key] = tokens


def _learn(known: dict[_Key, int], new: dict[_Key, str], encoder: tiktoken.Encoding) -> None:
    """Count what is not known, with its text, in one call of the encoder, which costs half of a
    call for each. A piece begins where a token begins with a blank: there is none inside it."""
    if len(new) < _FEW:
        return
    plain = {piece: text for piece, text in new.items() if _PLAIN.fullmatch(text)}
    opens, counts = _opening(encoder.name), [0]
    for token in encoder.encode_ordinary("".join(plain.values())):
        if opens[token]:
            counts.append(0)
        counts[-1] += 1
    if len(counts) == len(plain) + 1:
        for piece, tokens in zip(plain, counts[1:], strict=True):
            _remember(known, piece, tokens)


class _Counter:
    """Counts text, of which most was seen before: a third to an eighth of tiktoken's time."""

    def __init__(self, name: str) -> None:
        encoder = encoding(name)
        pattern = _PATTERNS[name]
        for unicode, plain in _ASCII:
            pattern = pattern.replace(unicode, plain)
        self._words = re.compile(pattern, re.ASCII)
        self._encoder = encoder
        self._known = _Words(encoder)
        self._pieces = _Pieces(self._words, self._known, "")
        self._spaced = _Pieces(self._words, self._known, " ")
        self._joined = _JOINED[name]
        self._other = _Words(encoder)

    def count(self, text: str) -> int:
        if text.isascii():
            return self._ascii(text)
        if _OTHER_SPACES.search(text) or any(pair.decode() in text for pair in self._joined):
            return len(self._encoder.encode_ordinary(text))
        pieces = _OTHER_PIECES.findall(text)
        new = {piece: piece for piece in pieces if piece not in self._other}
        _learn(self._other, new, self._encoder)
        return sum(map(self._other.__getitem__, pieces))

    def _ascii(self, text: str) -> int:
        # Up to three digits are a token of their own, so that any digits count as others do.
        data = text.encode().translate(_ZEROS)
        if self._joined and any(pair in data for pair in self._joined):
            return sum(map(self._known.__getitem__, self._words.findall(text)))
        if b"\n" in data or b"  " in data or len(data.translate(None, _OTHER_BLANKS)) < len(data):
            pieces = _PIECES.findall(data)
            new = {piece: piece.decode() for piece in pieces if piece not in self._pieces}
            _learn(self._pieces, new, self._encoder)
            return sum(map(self._pieces.__getitem__, pieces))
        first, *others = data.split(b" ")
        new = {piece: f" {piece.decode()}" for piece in others if piece not in self._spaced}
        _learn(self._spaced, new, self._encoder)
        return self._pieces[first] + sum(map(self._spaced.__getitem__, others))


_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_OTHER_BLANKS = b"\t\r\v\f"
_PIECES = re.compile(rb"\s*+\S++(?:[\r\n](?:\s*[\r\n])?)?|\s++")
"""Line breaks behind other characters go with them, since some of those are one word with them."""
_OTHER_PIECES = re.compile(_PIECES.pattern.decode(), re.ASCII)
_OTHER_SPACES = re.compile(r"[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""Blanks that the encodings know and the pattern of pieces does not."""
_JOINED: dict[str, tuple[bytes, ...]] = {"cl100k_base": (), "o200k_base": (b"\n/", b"\r/")}
"""What lies within one word of an encoding although a piece ends there."""
_ASCII = (
    (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", "[A-Z]"),
    (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", "[a-z]"),
    (r"\p{L}+", "[a-zA-Z]+"),
    (r"\p{N}{", "[0-9]{"),
    (r"\p{L}", "a-zA-Z"),
    (r"\p{N}", "0-9"),
    ("$", r"\Z"),
)


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
