"""Finds a value in JSON text by its path without decoding the rest: one pass over the tokens."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator

import msgspec

Data = bytes | mmap.mmap
_TOKEN = re.compile(
    rb"\"(?:[^\"\\]++|\\.)*+\"?|(?P<open>[\[{])|(?P<close>[\]}])|[^\s\[\]{},:\"]+", re.DOTALL
)
_BETWEEN = re.compile(rb"\}[ \t\r]*+\n\s*+\{")
_FIRST = 4 << 20
"""In how many bytes the first of several objects ends."""
_SPACE = re.compile(rb"[\s,:]*+")
_ITEM = 2_000
"""How many bytes of a key are compared."""


def skip_space(data: Data, at: int) -> int:
    """The next offset at which a token starts; commas and colons count as space."""
    match = _SPACE.match(data, at)
    return match.end() if match else at


def tokens_of(data: Data, start: int, end: int) -> Iterator[re.Match[bytes]]:
    """Strings, scalars (no group) and brackets (groups `open` and `close`) between two offsets."""
    return _TOKEN.finditer(data, start, end)


def value_end(data: Data, at: int) -> int:
    """Where the value that starts at `at` ends (exclusive): at the latest where the data ends."""
    depth = 0
    for match in _TOKEN.finditer(data, at):
        kind = match.lastgroup
        depth += 1 if kind == "open" else -1 if kind == "close" else 0
        if depth <= 0:
            return match.end() if depth == 0 else match.start()
    return len(data)


def elements(data: Data, at: int) -> Iterator[tuple[str | int, int, int]]:
    """Key or index, start and end of each member of the object or array at `at`."""
    is_object = data[at : at + 1] == b"{"
    at = skip_space(data, at + 1)
    index = 0
    while at < len(data) and data[at : at + 1] not in (b"]", b"}"):
        name: str | int = index
        if is_object:
            end = value_end(data, at)
            name = key_text(data[at : min(end, at + _ITEM)])
            at = skip_space(data, end)
        end = value_end(data, at)
        yield name, at, end
        following = skip_space(data, end)
        if following <= at:
            return
        at, index = following, index + 1


def is_stream(data: Data) -> bool:
    """Whether objects stand one after another, each in some lines of its own. Within a JSON value
    there is a comma between them."""
    at = skip_space(data, 0)
    return data[at : at + 1] == b"{" and _BETWEEN.search(data, at, at + _FIRST) is not None


def stream(data: Data) -> Iterator[tuple[str | int, int, int]]:
    """Index, start and end of each of these objects."""
    at, index = skip_space(data, 0), 0
    for index, between in enumerate(_BETWEEN.finditer(data, at), 1):
        yield index - 1, at, between.start() + 1
        at = between.end() - 1
    yield index, at, value_end(data, at)


def key_text(raw: bytes) -> str:
    """A key of the text, decoded."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace").strip('"')
    return value if isinstance(value, str) else str(value)


def find(data: Data, steps: tuple[str | int, ...]) -> int | None:
    """Where the value at a path of keys and indexes starts; None if there is none."""
    at = skip_space(data, 0)
    for step in steps:
        if data[at : at + 1] not in (b"{", b"["):
            return None
        at = next((start for name, start, _ in elements(data, at) if name == step), -1)
        if at < 0:
            return None
    return at if at < len(data) else None
