"""Where an offset lies in a JSON text: the objects and arrays around it, and the fields that
identify the records among them. A value that is shown alone would have lost whose it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from weft.firewall.json_leaves import LeafPath, PathStep
from weft.firewall.views.json_path import Data, key_text, tokens_of
from weft.passages.identifying_names import NAMES, TITLES
from weft.passages.json_identifiers import identifying_fields
from weft.passages.json_values import Value

Span = tuple[int, int]
"""Two byte offsets, the second exclusive."""
MAX_RECORDS = 2
"""Of the records around a value, how many are identified: the innermost ones."""
_DEEPEST = 8
"""Levels around a value that are looked at."""
_READ, _FIELDS = 2_000, 32
"""How many bytes of a record, and how many of its fields, are read for those that identify it."""


class Frame(msgspec.Struct):
    """An object or array that is open."""

    start: int
    is_object: bool
    step: PathStep | None = None
    """The key or index of the member that the walk has reached."""
    expects_key: bool = True


class JsonPlaces:
    """The places in a JSON text. Offsets are given in rising order: one pass over the tokens."""

    def __init__(self, data: Data, start: int, end: int) -> None:
        self._data = data
        self._tokens = tokens_of(data, start, end)
        self._next: re.Match[bytes] | None = next(self._tokens, None)
        self._open: list[Frame] = []

    def around(self, offset: int) -> Sequence[Frame]:
        """The objects and arrays around the value at `offset`, the outermost first; valid until the
        next call."""
        while self._next is not None and self._next.start() <= offset:
            self._pass(self._next)
            self._next = next(self._tokens, None)
        return self._open

    def identity(self, frames: Sequence[Frame]) -> list[Span]:
        """The fields that identify the innermost records among these, the outermost first."""
        found: list[list[Span]] = []
        for at in reversed(range(max(len(frames) - _DEEPEST, 0), len(frames))):
            if len(found) == MAX_RECORDS:
                break
            is_element = at > 0 and not frames[at - 1].is_object
            if frames[at].is_object and (own := self._identifying(frames[at].start, is_element)):
                found.append(own)
        return [span for own in reversed(found) for span in own]

    def _identifying(self, start: int, is_element: bool) -> list[Span]:
        """The identifying fields of the object at `start`. Only an element of a list is a record
        also if none of them has an identifying name."""
        spans = self._fields(start)
        texts = [self._data[low:high].decode("utf-8", "replace") for low, high in spans]
        values, at = list[Value](), 0
        for text in texts:
            values.append(Value(at, at, at + len(text), len(text)))
            at += len(text) + 1
        chosen = identifying_fields(",".join(texts), values)
        names = (key_text(next(tokens_of(self._data, *spans[one])).group()) for one in chosen)
        if not is_element and not any(NAMES.search(one) or TITLES.search(one) for one in names):
            return []
        return [spans[one] for one in chosen]

    def _fields(self, start: int) -> list[Span]:
        """The first fields with a single value of the object at `start`."""
        found: list[Span] = []
        end, depth, key = min(start + _READ, len(self._data)), 0, -1
        for token in tokens_of(self._data, start + 1, end):
            kind = token.lastgroup
            if kind == "open":
                depth += 1
            elif kind == "close":
                depth -= 1
                key = -1
            elif depth == 0 and key < 0:
                key = token.start()
            elif depth == 0:
                if token.end() < end:
                    found.append((key, token.end()))
                key = -1
            if depth < 0 or len(found) == _FIELDS:
                break
        return found

    def _pass(self, token: re.Match[bytes]) -> None:
        kind = token.lastgroup
        if kind == "close":
            if self._open:
                self._open.pop()
            return
        if self._open:
            self._step(self._open[-1], token)
        if kind == "open":
            self._open.append(Frame(token.start(), token.group() == b"{"))

    def _step(self, frame: Frame, token: re.Match[bytes]) -> None:
        if not frame.is_object:
            frame.step = frame.step + 1 if isinstance(frame.step, int) else 0
        elif frame.expects_key:
            frame.step, frame.expects_key = key_text(token.group()), False
        else:
            frame.expects_key = True


def path_of(frames: Sequence[Frame]) -> LeafPath:
    """The path of the value that the walk has reached within these."""
    return tuple(frame.step for frame in frames if frame.step is not None)
