"""Concepts: what everyday words are about, so that a query finds a tool that has none of its words.
A text file lists them; a deployment can replace it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from weft.router.words import words_of
from weft_schemas.errors import ConfigurationError

Concepts = Mapping[str, tuple[str, ...]]
"""Stemmed word → its concepts, as terms of their own (`#travel`), which no text can contain."""


@cache
def own_concepts() -> Concepts:
    """Those that come with weft."""
    return _read(files("weft.router").joinpath("concepts.txt").read_text("utf-8"))


def concepts_in(path: Path | None) -> Concepts:
    """Those of a file in the form of weft's own, which it replaces; an empty file has none.

    Without a path, weft's own. Raises `ConfigurationError`.
    """
    if path is None:
        return own_concepts()
    try:
        return _read(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"WEFT_ROUTER_CONCEPTS: {path} cannot be used: {error}; give one concept a line, its "
            "name, a colon and its words, like services/weft/router/concepts.txt"
        ) from None


def _read(text: str) -> Concepts:
    """Raises `ValueError` for a line without a name or words."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, members = line.partition(":")
        if not name.strip() or not members.strip():
            raise ValueError(f"line {number} has no name and words")
        for word in dict.fromkeys(words_of(f"{name} {members}")):
            found.setdefault(word, []).append("#" + name.strip())
    return {word: tuple(names) for word, names in found.items()}
