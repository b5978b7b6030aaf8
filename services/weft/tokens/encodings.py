"""The encodings, from ranks that an installed package contains."""

from __future__ import annotations

import gzip
import hashlib
from binascii import a2b_base64
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken

from weft.model_encodings import DEFAULT_ENCODING, ENCODINGS, ESTIMATES
from weft_schemas.errors import ConfigurationError

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


_BLANK = ord(" ")


def encoding(name: str = DEFAULT_ENCODING) -> tiktoken.Encoding:
    """An encoding of tiktoken's, built from ranks on disk. Raises `ConfigurationError`."""
    return _loaded(name)[0]


def begins_with_blank(name: str) -> bytes:
    """For each token of an encoding, 1 if it begins with a blank."""
    return _loaded(name)[1]


@cache
def _loaded(name: str) -> tuple[tiktoken.Encoding, bytes]:
    """Both at once: reading the ranks takes a fifth of a second."""
    if name not in _PATTERNS:
        names = ", ".join((*ENCODINGS, *ESTIMATES))
        raise ConfigurationError(
            f"encoding {name!r} is unknown; use one of {names}, or a tokenizer.json"
        )
    ranks = ranks_of(name)
    opens = bytearray(max(ranks.values()) + 1)
    for word, token in ranks.items():
        opens[token] = word[0] == _BLANK
    encoder = tiktoken.Encoding(
        name=name,
        pat_str=_PATTERNS[name],
        mergeable_ranks=ranks,
        special_tokens={},
    )
    return encoder, bytes(opens)


def ranks_of(name: str) -> dict[bytes, int]:
    """The bytes of each token, read from disk. Raises `ConfigurationError`."""
    spec = find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "no token ranks are installed; weft's extra `workers` brings them (in its checkout: "
            "pip install '.[workers]')"
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
    words = content.split()  # a token and its rank alternate
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
