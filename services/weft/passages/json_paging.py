"""Which fields of a JSON reply say that there is more than it lists: that more follows, where to
read on, and a total that is greater than the number of its records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from weft.passages.json_values import Value

MAX_FIELDS = 3
"""Of one object."""
MAX_OBJECT = 240
"""Characters of an object about pages that is shown as a whole."""
_MORE = re.compile(
    r'"(?:has_?more|has_?next(?:_?page)?|(?:is_?)?truncated|next_?page|next|cursor'
    r"|(?:(?:next|start|end|after|page|continuation)_?)(?:page_?)?"
    r'(?:token|cursor|url|link|marker|offset|key|id))"\s*:\s*'
    r'(?:"[^"\\\s]{1,200}"|true|[1-9][0-9]{0,17})',
    re.IGNORECASE,
)
"""A field that says so, under the names that APIs give it, unless it is empty or says no."""
_TOTAL = re.compile(
    r'"(?:total|count|found|num_?found|total_?(?:count|results|records|items|matches|hits|rows)'
    r'|(?:result|record|item|match|hit|row)(?:e?s)?_?(?:count|total|found))"\s*:\s*([1-9][0-9]{0,17})',
    re.IGNORECASE,
)


def paging_fields(text: str, fields: Sequence[Value]) -> tuple[int, ...]:
    """The positions of these fields among those of an object."""
    listed = max((len(one.members or ()) for one in fields if _is_list(one)), default=None)
    found = (
        at
        for at, one in enumerate(fields)
        if one.members is None
        and (_tells_more(text, one) or (listed is not None and _is_more(text, one, listed)))
    )
    return tuple(islice(found, MAX_FIELDS))


def _tells_more(text: str, one: Value) -> bool:
    """Whether a field says so, or one of the fields of a small object in it."""
    is_small = text.find("{", one.start, one.end) >= 0 and one.end - one.start <= MAX_OBJECT
    found = _MORE.search if is_small else _MORE.fullmatch
    return found(text, one.start, one.end) is not None


def _is_list(one: Value) -> bool:
    return one.members is not None and not one.is_object


def _is_more(text: str, one: Value, listed: int) -> bool:
    total = _TOTAL.fullmatch(text, one.start, one.end)
    return total is not None and int(total[1]) > listed
