"""The list of works that a text cites stands beside what the text says."""

from __future__ import annotations

import re

import msgspec

from weft.passages.part import Part, leaves

MIN_ENTRIES = 4
"""Parts with entries that make a list of works."""
MAX_SHARE = 0.6
"""The largest share of a text that such a list may have; a text that is hardly more than the list
is about these works."""
MAX_BETWEEN = 1
"""Parts within the list, or behind it, that look like no entry."""
_ENTRY = re.compile(r"^[ \t>]*(?:\[\d{1,3}\]|\d{1,3}\.|[-*\u2022])[ \t]+\S", re.MULTILINE)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WHERE = re.compile(
    r"\bdoi\b|\barxiv\b|\bet al\b|\bpp\. ?\d|\bvol\. ?\d"
    r"|(?<!\d)\d{1,4} ?\(\d{1,3}\) ?[:,] ?e?\d|(?<!\d)\d{1,4}: ?\d{3,5}[-\u2013]\d{2}",
    re.IGNORECASE,
)
"""What says where a work was published: a number of it, or its place in a journal."""
_ADDRESS, _AUTHOR = re.compile(r"https?://"), re.compile(r"\b[A-Z][\w'-]{1,30},? [A-Z]{1,3}[.,;]")
"""A work at an address is told from other things by its authors' initials."""


def with_bibliography(text: str, root: Part) -> Part:
    """The same parts; those of the list of works at the end of a text are marked as an aside."""
    found = list(leaves(root))
    if len(found) < MIN_ENTRIES:
        return root
    first, between, entries = len(found), 0, 0
    for at in range(len(found) - 1, -1, -1):
        if _is_entry(text[found[at].start : found[at].end]):
            first, between = at, 0
            entries += 1
        else:
            between += 1
            if between > MAX_BETWEEN:
                break
    if entries < MIN_ENTRIES:
        return root
    listed = [one for one in found[first:] if not one.identifies]
    if sum(one.size for one in listed) > MAX_SHARE * root.size:
        return root
    return _marked(root, found[first].start)


def _is_entry(text: str) -> bool:
    if _ENTRY.search(text) is None or _YEAR.search(text) is None:
        return False
    is_at_address = _ADDRESS.search(text) is not None and _AUTHOR.search(text) is not None
    return is_at_address or _WHERE.search(text) is not None


def _marked(part: Part, start: int) -> Part:
    if not part.children:
        return msgspec.structs.replace(part, is_aside=part.is_aside or part.start >= start)
    if part.end <= start:
        return part
    children = tuple(_marked(child, start) for child in part.children)
    return msgspec.structs.replace(part, children=children)
