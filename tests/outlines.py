"""How a text is divided, with nothing lost."""

from __future__ import annotations

from weft.passages.part import Outline
from weft.passages.splitting import outline_of


def outline(text: str) -> Outline:
    """The parts of a text, of which the leaves make up all of it."""
    found = outline_of(text)
    assert found is not None
    assert "".join(text[one.start : one.end] for one in found.leaves) == text
    return found


def beside(text: str) -> str:
    """The parts that stand beside what the text says."""
    found = outline(text)
    return "".join(text[found.leaves[at].start : found.leaves[at].end] for at in found.asides)
