"""Where the values of a JSON text are. One pass finds their positions and decodes nothing."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from weft.passages.literals import Decoded

LEAF = 160
"""Most characters of neighbouring fields, or elements that are not records, in one part."""
RECORD = 480
"""Most characters of a record, or of a field's value, that is not split."""
DEEPEST = 40
"""Most levels of nesting that are split."""

_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _container(nested: str = "") -> str:
    """A pattern for a container whose inner containers match `nested`."""
    return rf'[{{\[](?:[^"{{}}\[\]]++|{_QUOTED}{nested})*+[}}\]]'


_RECORD = _container("|" + _container("|" + _container("|" + _container())))
"""A container, with three levels of others within it at most."""
SMALL = re.compile(_RECORD)
_SMALL_BEFORE_COMMA = re.compile(_RECORD + r"[ \t\n\r]*+(,)[ \t\n\r]*+")
"""The same with the comma after it: most of a list of records."""
_SIGN = re.compile(rf'(?:[^"{{}}\[\],]++|{_QUOTED})*+([{{}}\[\],])[ \t\n\r]*+')
"""Text up to the next delimiter of values, the delimiter, and the blanks after it."""
KEY = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*')
FIELD = re.compile(r'"([^"\\]{1,80})"\s*:\s*("[^"\\]{0,80}"|[^\s"{}\[\],]{1,40}|\[\]|\{\})')
"""A field with a short value, at whatever depth."""
_BLANK = " \t\n\r"


class Value(msgspec.Struct, gc=False):
    """An element of an array or a field of an object while it is read."""

    begin: int
    """The end of the delimiter before it."""
    start: int
    """After the blanks."""
    end: int = -1
    """Before the blanks at its end."""
    width: int = 0
    """Including the blanks."""
    members: list[Value] | None = None
    """For a container; None for scalars and for containers that are not split."""
    bracket: int = 0
    """Position of the container's opening bracket."""
    is_object: bool = False
    is_closed: bool = True
    """False if the text was cut off inside it."""

    def close(self, text: str, end: int) -> None:
        """Set its end, which is before the blanks that precede `end`."""
        self.width = end - self.begin
        while end > self.start and text[end - 1] in _BLANK:
            end -= 1
        self.end = end


def read_values(decoded: Decoded) -> Value:
    """Read the values of a JSON text in one pass. A small container is skipped as a whole."""
    text = decoded.text
    starts = [literal.start for literal in decoded.literals]
    root = Value(0, 0)
    open_values = [root]
    for at, following in _signs(decoded, open_values):
        sign = text[at]
        holder = open_values[-1]
        if sign in "{[":
            holder.bracket = at
            holder.is_object = sign == "{"
            holder.members = [Value(at + 1, following)]
            open_values.append(holder.members[0])
        elif sign == ",":
            holder.close(text, at)
            more = Value(at + 1, following)
            open_values[-2].members.append(more)  # type: ignore[union-attr]
            open_values[-1] = more
        else:
            holder.close(text, at)
            open_values.pop()
            closed = open_values[-1]
            is_small = at + 1 - closed.bracket <= _limit(open_values)
            opened = bisect_left(starts, at) - bisect_left(starts, closed.bracket)
            if (is_small or len(open_values) > DEEPEST) and not opened:
                closed.members = None
    for cut in open_values[1:]:
        cut.close(text, len(text))
    for holder in open_values[:-1]:
        holder.is_closed = False
    root.close(text, len(text))
    return root


def _limit(open_values: list[Value]) -> int:
    """Most characters of the innermost open value that is not split."""
    return RECORD if len(open_values) > 1 else LEAF


def _signs(decoded: Decoded, open_values: list[Value]) -> Iterator[tuple[int, int]]:
    """Each delimiter outside of decoded strings and small containers, and where the value after it
    starts."""
    text = decoded.text
    find, small, next_small = _SIGN.match, SMALL.match, _SMALL_BEFORE_COMMA.match
    begins = (0, *(literal.end + 1 for literal in decoded.literals))
    ends = (*(literal.start - 1 for literal in decoded.literals), len(text))
    for at, end in zip(begins, ends, strict=True):
        while True:
            limit = min(end, at + _limit(open_values))
            found = next_small(text, at, limit)
            # At the limit more blanks may follow.
            if found is not None and found.end() < limit:
                at = found.end()
                yield found.start(1), at
                continue
            found = find(text, at, end)
            if found is None:
                break
            sign, at = found.start(1), found.end()
            if text[sign] in "{[":
                whole = small(text, sign, min(end, sign + _limit(open_values)))
                if whole is not None:
                    at = whole.end()
                    continue
            yield sign, at
