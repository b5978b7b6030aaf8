"""Which fields of a JSON reply say how its call ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.passages.json_values import Value

MAX_FIELDS = 2
"""Of one object."""
STATUS = re.compile(
    r'"(status|ok|success|accepted|succeeded|outcome)"\s*:\s*("[^"\\]{1,40}"|[Tt]rue|[Ff]alse|\d{3}\b)'
)
"""A field with a word for it, or with a code of HTTP."""


def outcome_fields(text: str, fields: Sequence[Value]) -> tuple[int, ...]:
    """The positions of these fields."""
    found = (at for at, one in enumerate(fields) if STATUS.fullmatch(text, one.start, one.end))
    return tuple(at for at, _ in zip(found, range(MAX_FIELDS), strict=False))
