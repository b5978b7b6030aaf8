"""Failed calls that no later call like them made good: what is still to be done, and what a user
asks about who wants to know which did not go through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import MAX_LATER, MAX_UNRESOLVED, SAME_WORDS
from weft.compiler.rendering.named_calls import argument_words


def unresolved_calls(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The newest of them, newest first. `groups` are in order of the session."""
    return tuple(islice((one for one, good in _failed_calls(groups) if not good), MAX_UNRESOLVED))


def made_good_calls(groups: Sequence[Group]) -> frozenset[int]:
    """Keys of the failed calls that a later call like them made good."""
    return frozenset(one.key for one, good in _failed_calls(groups) if good)


def _failed_calls(groups: Sequence[Group]) -> Iterator[tuple[Group, bool]]:
    """The failed calls, newest first, each with whether it was made good."""
    succeeded: dict[object, list[Group]] = {}
    for group in reversed(groups):
        if len(group.rows) < 2 or not group.is_call:
            continue
        later = succeeded.setdefault(group.rows[0].metadata.get("tool_name"), [])
        if any(row.failed for row in group.rows[1:]):
            yield group, _is_made_good(group, later)
        else:
            later.append(group)


def _is_made_good(failed: Group, later: Sequence[Group]) -> bool:
    """Whether a later call has most of the words of a failed one, and most of its numbers and ids:
    those tell which thing it was about."""
    words = _words(failed)
    numbers = frozenset(word for word in words if any(map(str.isdigit, word)))
    return any(
        _share(words, said) >= SAME_WORDS and _share(numbers, said) > SAME_WORDS
        for said in map(_words, later[-MAX_LATER:])
    )


def _words(group: Group) -> frozenset[str]:
    return frozenset(argument_words(group.rows[0]))


def _share(words: frozenset[str], later: frozenset[str]) -> float:
    return len(words & later) / len(words) if words else 1.0
