"""Pieces of a text that say nothing by themselves: lines that only open others or close what others
opened, and tags without content."""

from __future__ import annotations

import re


def is_bare(text: str) -> bool:
    """Whether lines only open others by one word, or close what others opened, with or without
    their numbers, or are bare markup."""
    if is_bare_markup(text) or _OPENING.fullmatch(text) is not None:
        return True
    if len(text) > MAX_CLOSING_LENGTH or not any(sign in text for sign in ")]}"):
        return False
    return not any(line.lstrip(_NUMBERING).strip(_CLOSING) for line in text.splitlines())


def is_bare_markup(text: str) -> bool:
    """Whether a piece of markup holds only declarations, namespaces, and tags that close others."""
    return text.lstrip()[:1] == "<" and _BARE_MARKUP.fullmatch(text) is not None


_BARE_MARKUP = re.compile(
    r"(?:\s*(?:<\?[^<>]*>|<![A-Za-z][^<>]*>|</[\w:.-]{1,80}>"
    r"|<[\w:.-]{1,80}(?:\s+xmlns(?::[\w-]{1,40})?=(?:\"[^\"<>]*\"|'[^'<>]*'))+\s*>))+\s*"
)
_OPENING = re.compile(
    r"(?:\s*</?[\w:.-]{1,80}\s{0,8}>)+\s*"
    r"|(?:[ \t]{0,40}\d{1,7}[:|\t\u2192])?\s*[\w.-]{0,40}\s?[:({\[]+\s*"
)
"""Tags without attributes, `spec:`, `server {` or a bracket, with or without its number."""
MAX_CLOSING_LENGTH = 60
"""Characters of lines that may only close others."""
_NUMBERING, _CLOSING = " \t0123456789:|\u2192", " \t)]};,"
