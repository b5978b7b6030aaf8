"""Which parts of a failed result tell how it failed and why."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from weft.passages.bare_pieces import is_bare_markup
from weft.passages.error_lines import first_error
from weft.passages.outcome import raised_at
from weft.passages.part import Outline, Part


def error_parts(text: str, outline: Outline) -> set[int]:
    """The leaf that tells of the error: what was raised, the fault of a protocol in XML, or the
    first sign of one, else the first leaf that says something; and what says why. In JSON that is
    the first field for it with the list of errors beside it, else the first sentence from there
    on; in a short text, it is what follows."""
    leaves = outline.leaves
    starts = [leaf.start for leaf in leaves]
    place = _place(text)
    found = _first_telling(text, leaves) if place is None else _leaf_at(starts, place)
    if not outline.is_json:
        return {found, *(_following(leaves, found) if len(text) <= SHORT else ())}
    why = _why(text, leaves, starts, found)
    return why if place is None else {found, *why}


SHORT, FOLLOWING = 800, 480
"""Most characters of a text that is only about its error, and of what is shown after the leaf that
tells of it."""


def error_begins(text: str, outline: Outline | None) -> int:
    """Where a text begins to tell of its error: with the line of it, or with the first of the
    leaves that `error_parts` finds."""
    place = None if outline is not None and outline.is_json else _place(text)
    if place is None:
        return 0 if outline is None else outline.leaves[min(error_parts(text, outline))].start
    line = text.rfind("\n", 0, place) + 1
    return line if place - line <= BEFORE_ERROR else place


BEFORE_ERROR = 80
"""Characters of an error's line that are shown before the error: which thing failed, and when."""


def _place(text: str) -> int | None:
    raised = raised_at(text)
    if raised is not None:
        return raised
    fault = _FAULT.search(text) if text.lstrip()[:1] == "<" else None
    return first_error(text) if fault is None else fault.start()


def _leaf_at(starts: Sequence[int], place: int) -> int:
    return max(bisect_right(starts, place) - 1, 0)


def _first_telling(text: str, leaves: Sequence[Part]) -> int:
    told = (at for at, one in enumerate(leaves) if not is_bare_markup(text[one.start : one.end]))
    return next(told, 0)


def _following(leaves: Sequence[Part], found: int) -> Iterator[int]:
    room = FOLLOWING
    for at in range(found + 1, len(leaves)):
        room -= leaves[at].size
        if room < 0:
            return
        yield at


def _why(text: str, leaves: Sequence[Part], starts: Sequence[int], found: int) -> set[int]:
    """The leaves of a JSON text that say why the call failed."""
    said, listed = _WHY.search(text), _ERRORS.search(text)
    if said is not None:
        places = [said.start(), *([] if listed is None else [listed.start()])]
        return {_leaf_at(starts, place) for place in places}
    order = [*range(found, min(found + NEAR_ERROR, len(leaves))), *range(found)]
    told = (at for at in order if _SENTENCE.search(text, leaves[at].start, leaves[at].end))
    return {next(told, found)}


NEAR_ERROR = 40
"""Leaves behind an error in which the sentence that says why is looked for first."""
_FAULT = re.compile(r"<(?:[\w-]{1,40}:)?(?:faultstring|Reason|faultcode|Fault)\b[^<>]{0,200}>")
"""What SOAP says of an error."""
_WHY = re.compile(
    r'"(?:error_?)?(?:message|msg|reason|details?)"\s{0,4}:\s{0,4}"[^"\\]{1,60}[^"\\ ]',
    re.IGNORECASE,
)
"""The field of an error reply, in most interfaces, that says why."""
_ERRORS = re.compile(
    r'"(?:errors|details|violations|causes|invalid_?params)"\s{0,4}:\s{0,4}[\[{]\s{0,20}["{]',
    re.IGNORECASE,
)
"""The field that lists several errors below what they have in common."""
_SENTENCE = re.compile(r'"\w[^"\\ ]{0,60} [^"\\ ]{1,60} |"[^"\\\x00-\x7f]{8}')
"""The beginning of a string of at least three words, or in letters of a language without blanks."""
