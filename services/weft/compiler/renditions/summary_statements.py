"""The statements of a summary about the whole result: counts, totals, extremes and errors, without
those that are shown below anyway, and without the records and rows that are only examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, takewhile

import msgspec

_HEAD = re.compile(r"…(\d+) (?:x \{[^{}]*\}|values)(?:; shown with [^;]*)?((?:; .*)?)\Z", re.DOTALL)
"""The line about all records of a collection, see `firewall.summarise.collection`."""
_MARK, _TABLE = "…", "table: "
_EXCERPTS = ("# page without scripts", "XML, with a line for each element:")
"""How the summaries begin that are only excerpts: of a page, see `firewall.summarise.html`, and of
XML without line breaks, see `firewall.summarise.keyed`."""
_CUT = re.compile(r"…(?:\(\+\d+ chars\)|\+\d+ chars)\Z")
"""The end of a line or of a string in JSON that was cut, see `firewall.summarise`."""


def summary_statements(summary: str, shown: str, text: str) -> str:
    """A line for each statement that is not in `shown`, the parts of the result; empty if there is
    none. `text` is the whole result: its lines and sentences in the summary are examples."""
    if summary.startswith(_EXCERPTS):
        return ""
    below = {"", *map(str.strip, shown.splitlines())}
    said: list[str] = []
    is_said = False
    # Not at other line breaks, which strings in JSON may have.
    for line in filter(str.strip, _without_rows(summary.split("\n"))):
        if line.lstrip().startswith(_MARK):
            said += [line] * is_said  # a list of statements that was cut
            continue
        found = [one for one in _statements(line, text, shown) if one.strip() not in below]
        said += found
        is_said = found == [line]
    return "\n".join(said)


def _without_rows(lines: list[str]) -> Iterator[str]:
    """The lines of a summary; of a table's, without the names of the columns and the rows, which
    follow what is said of each column."""
    at = next((number for number, line in enumerate(lines[:2]) if line.startswith(_TABLE)), None)
    if at is None:
        return iter(lines)
    return chain(lines[: at + 1], takewhile(lambda line: ": " in line, lines[at + 1 :]))


def _statements(line: str, text: str, shown: str) -> Iterator[str]:
    """What a line of a summary says of all; JSON is one line, below and above words beside it."""
    value = _decoded(line)
    if value is not None:
        yield from (one for one in _json_statements("", value) if not _states_field(one, shown))
    elif not _is_taken_from(text, line.strip()):
        yield line


def _decoded(line: str) -> dict[str, object] | list[object] | None:
    """The object or list of a line in JSON; None for other lines."""
    if not line.startswith(("{", "[")):
        return None
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _is_taken_from(text: str, line: str) -> bool:
    """Whether a line of a summary is one of `text`, or a sentence of it, or the beginning of one.
    Of one or two words only a whole line counts: they may stand there by chance."""
    begun = _CUT.sub("", line)
    is_long = begun != line or line.count(" ") >= 2 or line.endswith((".", "!", "?"))
    return (is_long and begun in text) or _is_line_of(text, line)


def _is_line_of(text: str, line: str) -> bool:
    """Whether a line, which is not blank, stands there by itself, however it is indented. Linear
    in `text`."""
    at = text.find(line)
    while at >= 0:
        end = at + len(line)
        before = text[max(at - MAX_BLANKS, 0) : at].rpartition("\n")[2]
        after = text[end : end + MAX_BLANKS].partition("\n")[0]
        if not before.strip() and not after.strip():
            return True
        following = text.find("\n", end)  # a line that holds more does not begin with it again
        at = text.find(line, following) if following >= 0 else -1
    return False


MAX_BLANKS = 80
"""Characters before and behind a line in which only blanks may stand."""


def _states_field(line: str, shown: str) -> bool:
    """Whether a field stands there as a whole: `errors: 2` does not in `errors: 21`."""
    return re.search(rf"(?<![\w.]){re.escape(line)}(?![\w.])", shown) is not None


def _json_statements(path: str, value: object) -> Iterator[str]:
    """The statements in a summary that is JSON; `path` is that of the value."""
    named = f"{path}: " if path else ""
    head = _collection_head(value)
    if head is not None:
        yield f"{named}{head[1]} in all{head[2]}"
    elif isinstance(value, dict):
        for key, held in value.items():
            if not key.startswith(_MARK):
                yield from _json_statements(f"{path}.{key}" if path else key, held)
    elif isinstance(value, str | int | float) and not _is_example(str(value)):
        yield f"{named}{str(value).lower() if isinstance(value, bool) else value}"


def _is_example(value: str) -> bool:
    """Whether a string says how much is left out, or is the beginning of a longer one."""
    return value.startswith(_MARK) or _CUT.search(value) is not None


def _collection_head(value: object) -> re.Match[str] | None:
    """The statement about all elements of a list or mapping, which precedes them."""
    held: object = None
    if isinstance(value, list) and value:
        held = value[0]
    elif isinstance(value, dict):
        held = value.get(_MARK)
    return _HEAD.match(held) if isinstance(held, str) else None
