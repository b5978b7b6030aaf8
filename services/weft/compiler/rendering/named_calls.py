"""Names the calls that a prompt leaves out, in the mark that counts the omitted items. A model that
does not see an earlier call may repeat it, and does not know what failed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

from weft.adapters.speaker_names import MAX_NAME, safe
from weft.call_text import call_arguments
from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.chat_tokens import break_chat_tokens
from weft.readmodel.rows import ItemRow

MAX_ARGUMENT_CHARACTERS = 40
"""Most characters of a call's arguments in a mark."""
READ_CHARACTERS = 400
"""Characters of a call's arguments that are read for it."""


class NamedCall(NamedTuple):
    """How a mark names a call that is left out."""

    name: str
    about: tuple[str, ...]
    """The words of its arguments, without the names of these."""
    has_failed: bool
    ordinal: int
    """Its place in the session."""


def named_calls(
    groups: Iterable[Group], withheld: Container[int], most: int | None = None
) -> dict[int, NamedCall]:
    """How to name the first `most` of these calls, by sequence of the call. `withheld` items,
    which are redacted or flagged, are not named."""
    calls = (one for one in groups if one.is_call and one.key not in withheld)
    return {one.key: _named_call(one) for one in islice(calls, most)}


def _named_call(group: Group) -> NamedCall:
    row, has_failed = group.rows[0], any(row.failed for row in group.rows[1:])
    name = safe(str(row.metadata.get("tool_name") or "call"), MAX_NAME)
    return NamedCall(name, argument_words(row), has_failed, row.ordinal)


def argument_words(call: ItemRow) -> tuple[str, ...]:
    """The first words of a call's arguments, without the names of these."""
    given = call_arguments(call.whole, call.metadata)
    values = call.whole if given is None else " ".join(_values(given))
    return tuple(break_chat_tokens(values[:READ_CHARACTERS]).split())


def _values(given: Any) -> Iterator[str]:
    """The strings and numbers of arguments, in their order, and the names of what is true, such as
    `dry_run`."""
    if isinstance(given, dict):
        for name, one in given.items():
            yield from (name,) if one is True else _values(one)
    elif isinstance(given, list):
        for one in given:
            yield from _values(one)
    elif isinstance(given, str | int | float) and not isinstance(given, bool):
        yield str(given)


def calls_text(calls: Sequence[NamedCall]) -> str:
    """The calls in the order in which each tool was first called, such as `open a.py, b.py x2;
    run pytest (error)`. Words with which all arguments of a tool begin are not repeated."""
    tools: dict[str, list[NamedCall]] = {}
    for call in calls:
        tools.setdefault(call.name, []).append(call)
    return "; ".join(f"{name} {_calls_of_tool(made)}".rstrip() for name, made in tools.items())


def _calls_of_tool(calls: Sequence[NamedCall]) -> str:
    shared = _shared_words({call.about for call in calls})
    cut = _cuts({call.about: " ".join(call.about[shared:]) for call in calls})
    times: dict[str, int] = {}
    for call in calls:
        said = f"{cut[call.about]}{' (error)' if call.has_failed else ''}".strip()
        times[said] = times.get(said, 0) + 1
    counted = (f"{said} x{count}".strip() if count > 1 else said for said, count in times.items())
    return ", ".join(filter(None, counted))


def _shared_words(abouts: set[tuple[str, ...]]) -> int:
    """With how many words all of these begin, if these are long and others are behind them."""
    if len(abouts) < 2 or not all(abouts):
        return 0
    same = takewhile(lambda words: len(set(words)) == 1, zip(*abouts, strict=False))
    begun = [words[0] for words in same]
    is_long = len(" ".join(begun)) > MAX_ARGUMENT_CHARACTERS // 2
    return len(begun) if is_long and len(begun) < min(map(len, abouts)) else 0


def _cuts(texts: Mapping[tuple[str, ...], str]) -> dict[tuple[str, ...], str]:
    """The beginning of each text, or of what differs in those with the same beginning."""
    alike: dict[str, list[str]] = {}
    for text in texts.values():
        alike.setdefault(_cut(text), []).append(text)
    return {about: _cut_apart(text, alike[_cut(text)]) for about, text in texts.items()}


def _cut_apart(text: str, alike: Sequence[str]) -> str:
    start = _shared_characters(alike) if len(alike) > 1 else 0
    while start and text[start - 1].isalnum():
        start -= 1
    return f"…{_cut(text[start:])}" if start and text[start:] else _cut(text)


def _shared_characters(texts: Sequence[str]) -> int:
    """With how many characters all of these begin."""
    places = enumerate(zip(*texts, strict=False))
    differing = (at for at, letters in places if len(set(letters)) > 1)
    return next(differing, min(map(len, texts)))


def _cut(text: str) -> str:
    """As many of the words as a mark holds, or the beginning of the first."""
    if len(text) <= MAX_ARGUMENT_CHARACTERS:
        return text
    begun = text[:MAX_ARGUMENT_CHARACTERS].rpartition(" ")[0] or text[:MAX_ARGUMENT_CHARACTERS]
    return f"{begun}…"
