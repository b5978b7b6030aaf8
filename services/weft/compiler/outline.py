"""A text taken apart into parts that can be left out one by one: fields of JSON, sentences of
prose. What is kept stays exact, each value beside its field name or in its sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any

import msgspec

GAP = "…"
PROSE_LEAF = 160
"""Characters from which a string inside JSON is taken apart into sentences."""
SHORT_LIST = 120
"""Characters up to which a list of plain values stays one part."""
LONGEST_PART = 320
"""Characters above which a sentence is cut at its clauses."""
_DEEPEST = 40
"""Levels of JSON that are taken apart; what lies deeper is one part."""

REMEMBERED = 512
"""Outlines that are kept: those of the recent items of some sessions."""

_SENTENCE = re.compile(r"([.!?;])\s+(?=\S)")
_LINE = re.compile(r"\s*\n\s*|(?:\\n)+\s*")
_LABELLED = re.compile(r"\s*+(?:[-*]\s++)?[\"']?(\w[\w.-]*+)[\"']?\s*+[:=]\s++(?=\S)")
"""`key: value`: a line of YAML, a log or a head."""
_SENTENCE_ENDS, _CLAUSE_ENDS = ".!?;", ",:;}]>"
"""A text without any of these is looked for them in a tenth of the time."""
_CLAUSE = re.compile(r"([,:;}\]>])(?:(?<=[,:;])\s+|(?<=[}\]>]),?\s*)")


class Part(msgspec.Struct, frozen=True):
    text: str
    field: str = ""
    """Name of the field whose value this is; empty in prose, also where that is a field's."""


Assemble = Callable[[Collection[int]], str]


class Outline(msgspec.Struct, frozen=True):
    """Parts in order, and how chosen ones are put together again."""

    parts: tuple[Part, ...]
    assemble: Assemble
    """From the indexes of the chosen parts; gaps are marked with `…`."""
    stretches: Callable[[Collection[int]], list[str]] | None = None
    """Of prose: what `assemble` gives in stretches whose tokens can be counted one by one."""
    structured: bool = False
    """Rewritten as fields: all parts together say what the text says, in other punctuation."""


@lru_cache(maxsize=REMEMBERED)
def outline(text: str) -> Outline:
    """The parts of a text, by its form."""
    if text[:1] in ("{", "["):
        try:
            value = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            return _prose(text)
        return structured(value)
    return _prose(text)


def structured(value: Any) -> Outline:
    """The outline of a JSON value: one part per field, written `field=value`."""
    parts: list[Part] = []
    root = _node(value, "", parts, 0)

    def assemble(chosen: Collection[int]) -> str:
        return root(chosen) or GAP

    return Outline(tuple(parts), assemble, structured=True)


def flat(fields: dict[str, Any]) -> str:
    """A JSON object as `key=value key=value`, values exact."""
    written = structured(fields)
    return written.assemble(range(len(written.parts)))[1:-1] if fields else ""


def sentences(text: str) -> list[str]:
    """Sentences and lines, long ones cut at their clauses."""
    found: list[str] = []
    for sentence in _lines(text):
        if len(sentence) <= LONGEST_PART:
            if sentence:
                found.append(sentence)
        else:
            found += _clauses(sentence)
    return found


def _lines(text: str) -> list[str]:
    """Cut after the end of a sentence and at line breaks, real ones and written ones (`\\n`)."""
    cut = _SENTENCE.sub(r"\1\n", text) if any(map(text.__contains__, _SENTENCE_ENDS)) else text
    if "\\n" in cut:
        return _LINE.split(cut)
    first, *rest = cut.split("\n")
    if not rest:
        return [first]
    return [first.rstrip(), *map(str.strip, rest[:-1]), rest[-1].lstrip()]


def _clauses(sentence: str) -> list[str]:
    cut: list[str] = []
    ends = any(map(sentence.__contains__, _CLAUSE_ENDS))
    for clause in (_CLAUSE.sub(r"\1\n", sentence) if ends else sentence).split("\n"):
        cut += _cut(clause)
    joined: list[str] = []
    for clause in cut:
        if joined and len(joined[-1]) + len(clause) < LONGEST_PART // 2:
            joined[-1] += " " + clause
        elif clause:
            joined.append(clause)
    return joined


def _cut(clause: str) -> Iterator[str]:
    """What is too long for a part, cut at blanks: nothing that is written as one word is parted if
    it is not too long itself."""
    while len(clause) > LONGEST_PART:
        end = clause.rfind(" ", 1, LONGEST_PART + 1)
        end = end if end > 0 else LONGEST_PART
        yield clause[:end].rstrip()
        clause = clause[end:].lstrip()
    yield clause


def _prose(text: str) -> Outline:
    pieces = sentences(text)
    gap = "\n" if "\n" in text else " "

    def stretches(chosen: Collection[int]) -> list[str]:
        return _stretches(pieces, range(len(pieces)), chosen, gap)

    parts = tuple(_line(piece) for piece in pieces)
    return Outline(parts, lambda chosen: "".join(stretches(chosen)), stretches)


def _line(piece: str) -> Part:
    label = _LABELLED.match(piece) if ":" in piece or "=" in piece else None
    return Part(piece, label[1]) if label else Part(piece)


def _stretches(pieces: list[str], indexes: range, chosen: Collection[int], gap: str) -> list[str]:
    """Chosen pieces in order, what parts them included; one mark where some are missing between or
    after them. No token goes over from one to the next: a blank begins one, a line break ends one.
    """
    found: list[str] = []
    missing = False

    def add(piece: str, apart: str) -> None:
        if apart == "\n" and found:
            found[-1] += apart
        found.append(piece if apart == "\n" or not found else f"{apart}{piece}")

    for piece, index in zip(pieces, indexes, strict=True):
        if index not in chosen:
            missing = True
            continue
        if missing:
            add(GAP, gap)
        add(piece, " " if missing else gap)
        missing = False
    if missing:
        add(GAP, gap)
    return found


Node = Callable[[Collection[int]], str]
"""Renders the chosen parts below it; empty where none is chosen."""


def _node(value: Any, key: str, parts: list[Part], depth: int) -> Node:
    if depth < _DEEPEST:
        if isinstance(value, dict) and value:
            children = [_node(held, str(name), parts, depth + 1) for name, held in value.items()]
            return _branch(key, children, "{", "}")
        if isinstance(value, list) and value and not _is_short(value):
            children = [_node(held, "", parts, depth + 1) for held in value]
            return _branch(key, children, "[", "]")
        if isinstance(value, str) and len(value) > PROSE_LEAF:
            return _prose_node(value, key, parts)
    return _leaf(key, _plain(value), parts)


def _branch(key: str, children: list[Node], opening: str, closing: str) -> Node:
    def render(chosen: Collection[int]) -> str:
        shown = [text for child in children if (text := child(chosen))]
        if not shown:
            return ""
        return f"{key}{opening}{' '.join(shown)}{closing}"

    return render


def _leaf(key: str, value: str, parts: list[Part]) -> Node:
    index = len(parts)
    text = f"{key}={value}" if key else value
    parts.append(Part(text, key))
    return lambda chosen: text if index in chosen else ""


def _prose_node(value: str, key: str, parts: list[Part]) -> Node:
    pieces = sentences(value)
    indexes = range(len(parts), len(parts) + len(pieces))
    parts.extend(Part(piece) for piece in pieces)

    def render(chosen: Collection[int]) -> str:
        if not any(index in chosen for index in indexes):
            return ""
        return f"{key}={''.join(_stretches(pieces, indexes, chosen, ' '))}"

    return render


def _is_short(value: list[Any]) -> bool:
    return all(not isinstance(held, dict | list) for held in value) and (
        sum(len(str(held)) for held in value) <= SHORT_LIST
    )


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(held, str) for held in value):
        return "[" + ", ".join(value) + "]"
    return json.dumps(value, ensure_ascii=False)
