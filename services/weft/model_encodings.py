"""In which encoding the tokens of a model are counted, by the name of the encoding, of the model or
of a tokenizer file.

Only OpenAI publishes how its models count. Tokens of another model are estimated, so that the
estimate is never too low, or counted with the `tokenizer.json` that open models come with.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

DEFAULT_ENCODING = "o200k_base"
ENCODINGS = ("o200k_base", "cl100k_base")
"""Counted exactly, as tiktoken does."""
ESTIMATES = ("estimate", "estimate_large")
"""Never lower than the count of any measured tokenizer, and of any measured one with at least
100,000 tokens."""

_SUFFIX = ".json"
_HASH = 12
"""Hex digits of the SHA-256 that tells whether a tokenizer file is still the same."""

_MODELS = {
    "gpt-5": "o200k_base",
    "gpt-4.5": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-4o": "o200k_base",
    "gpt-oss": "o200k_base",
    "chatgpt-4o": "o200k_base",
    "o1": "o200k_base",
    "o3": "o200k_base",
    "o4": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt-3.5": "cl100k_base",
    "gpt-35": "cl100k_base",
    "deepseek": "estimate_large",
    "qwen2": "estimate_large",
    "qwen3": "estimate_large",
    "llama-3": "estimate_large",
    "llama3": "estimate_large",
    "llama-4": "estimate_large",
    "llama4": "estimate_large",
    "meta-llama-3": "estimate_large",
    "mistral-nemo": "estimate_large",
    "claude": "estimate",
    "gemini": "estimate",
    "gemma": "estimate",
    "llama": "estimate",
    "mistral": "estimate",
    "mixtral": "estimate",
    "qwen": "estimate",
}
"""By the beginning of a model's name; the longest match counts. `estimate_large` only if the
model's own tokenizer was measured."""


def encoding_named(text: str) -> str:
    """The encoding that a name means. A tokenizer file becomes `/its/path.json#hash`, so that
    another file is noticed by everything that was counted with the first.

    Raises `ValueError` that lists the possible names.
    """
    if text in ENCODINGS or text in ESTIMATES:
        return text
    if is_file(text):
        return _file(text)
    model = text.lower().rpartition("/")[2].rpartition("ft:")[2]
    known = max((name for name in _MODELS if model.startswith(name)), key=len, default=None)
    if known is None:
        raise ValueError(
            f"give one of {', '.join((*ENCODINGS, *ESTIMATES))}, a model's name such as gpt-4o, or "
            "the path of a tokenizer.json; `estimate` serves any other model"
        )
    return _MODELS[known]


def is_file(name: str) -> bool:
    """Whether this encoding is a tokenizer file."""
    return name.partition("#")[0].endswith(_SUFFIX)


def file_of(name: str) -> tuple[Path, bytes]:
    """A tokenizer file and its content. Raises `ValueError` if it cannot be read, or is not the one
    that was named."""
    path, _, wanted = name.partition("#")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if wanted and hashlib.sha256(content).hexdigest()[:_HASH] != wanted:
        raise ValueError(f"{path} is not the file that was counted with before; put that one back")
    return Path(path), content


def _file(name: str) -> str:
    path, content = file_of(name)
    return f"{path.resolve()}#{hashlib.sha256(content).hexdigest()[:_HASH]}"
