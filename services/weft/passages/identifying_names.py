"""The names of fields that identify a record, in every notation: JSON, markup and lines. The
firewall's summaries weigh fields by more names (`firewall/json_leaves.py`), since they also give
values that the next step needs, and many of these identify nothing."""

from __future__ import annotations

import re

NAMES = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))"
    r"(?:id|uuid|name|number|no|key|date|title|path|url|code|sku|email|reference)$",
    re.IGNORECASE,
)
"""Names of the fields that identify a record in most programs' data."""
TITLES = re.compile(r"(?:^|[_.\- ])(?:subject|summary|label|uri|link|href)$", re.IGNORECASE)
"""Names of fields that do so beside its id, or without one."""
IDS = re.compile(r"(?:id|uuid|no|key|code|sku|number|reference)$", re.IGNORECASE)
"""Names of ids. A record may have many: its own, and those of other records."""
