"""HTML as title, headings and main text, without scripts, styles and navigation."""

from __future__ import annotations

import html
import re

from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.markdown import summarise_markdown

_PART = re.compile(
    r"<(/?)([A-Za-z][\w:-]{0,40})([^<>]{0,4000})>|<!--|<!\[CDATA\[|<![^<>]{0,200}>|<\?"
)
_SKIPPED = frozenset(("script", "style", "noscript", "template", "svg", "nav", "iframe", "select"))
_BLOCK = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "dl",
        "dt",
        "dd",
        "pre",
        "blockquote",
        "br",
        "hr",
        "form",
        "figure",
        "figcaption",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "title",
        "body",
        "head",
        "aside",
        "details",
        "summary",
        "option",
    ]
)
_CELLS = frozenset(("td", "th"))
_HREF = re.compile(
    r"\bhref\s{0,4}=\s{0,4}(?:\"([^\"<>]{1,2000})\"|'([^'<>]{1,2000})'|([^\"'\s<>]{1,2000}))"
)
_ADDRESS = 300
"""Characters of a link's address that are shown."""
_NO_WORDS = "#- |"
"""The characters of a line that says nothing."""
_NOWHERE = ("#", "javascript:")
_MAX_PARTS = 30_000
_HEADING = "# page without scripts, styles and navigation:"


def summarise_html(text: str, budget: Budget) -> str:
    seen = readable(text)
    # A page that consists of scripts says nothing to a reader; its source is all there is.
    if len(seen) * 50 < len(text) and len(seen) < 2 * budget.limit:
        return summarise_markdown(
            f"{_HEADING} almost nothing; its source\n\n{seen}\n{text}", budget
        )
    return summarise_markdown(f"{_HEADING} its text\n\n{seen}", budget)


def readable(text: str) -> str:
    """The visible text, with headings, list items and links written as in Markdown, and ` | `
    between the cells of a row. Linear."""
    page = _Page()
    position, parts, skipped = 0, 0, ""
    for match in _PART.finditer(text):
        parts += 1
        if match.start() < position:
            continue
        if not skipped:
            page.line.append(text[position : match.start()])
        position = match.end()
        slash, name, attributes = match.groups()
        name, closes = (name or "").lower(), bool(slash)
        if not name:
            position = _after_comment(text, match)
        elif skipped:
            skipped = "" if closes and name == skipped else skipped
        elif name in _SKIPPED and not closes and not attributes.endswith("/"):
            skipped = name
        else:
            page.tag(name, attributes, closes)
        if parts >= _MAX_PARTS:
            page.finish()
            page.lines.append(f"… {len(text) - position} characters of source …")
            return "\n".join(page.lines)
    if not skipped:
        page.line.append(text[position:])
    page.finish()
    return "\n".join(page.lines)


class _Page:
    """The lines of a page so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line: list[str] = []
        """The parts of the line that is being read."""
        self._cells = 0
        self._link = ""
        """The address of an open link."""
        self._linked_from: int | None = None
        """Where its text begins in the line; None if it began in an earlier one."""

    def tag(self, name: str, attributes: str, closes: bool) -> None:
        if name in _BLOCK:
            self.finish()
            self._cells = 0 if name == "tr" else self._cells
            self.line.append("" if closes else _mark(name))
        elif name in _CELLS and not closes:
            self.line.append(" | " if self._cells else "")
            self._cells += 1
        elif name == "a":
            self._close_link()
            self._link = "" if closes else _address(attributes)
            self._linked_from = len(self.line)

    def _close_link(self) -> None:
        """Write the address behind the text of a link, as Markdown does."""
        if not self._link:
            return
        held = "".join(self.line[self._linked_from :]) if self._linked_from is not None else ""
        if self._linked_from is not None and held.strip():
            self.line[self._linked_from :] = ["[", held.strip(), f"]({self._link})"]
        else:
            self.line.append(f" ({self._link}) ")
        self._link = ""

    def finish(self) -> None:
        """End the line."""
        held = "".join(self.line)
        words = (html.unescape(held) if "&" in held else held).split()
        # Most lines that end are empty, and most others begin with a word.
        if words and (words[0][0] not in _NO_WORDS or " ".join(words).strip(_NO_WORDS)):
            self.lines.append(" ".join(words))
        self.line.clear()
        self._linked_from = None


def _address(attributes: str) -> str:
    """The address of a link, or its start and how much is missing; empty for one into the page."""
    found = _HREF.search(attributes)
    if found is None:
        return ""
    address = next(filter(None, found.groups())).strip()
    if address.startswith(_NOWHERE):
        return ""
    rest = len(address) - _ADDRESS
    return address if rest <= 0 else f"{address[:_ADDRESS]}…(+{rest} chars)"


def _after_comment(text: str, match: re.Match[str]) -> int:
    end = {"<!--": "-->", "<![CDATA[": "]]>"}.get(match.group())
    if end is None:
        return match.end()
    found = text.find(end, match.end())
    return found + len(end) if found >= 0 else len(text)


def _mark(name: str) -> str:
    if name == "title":
        return "# "
    if name[0] == "h" and name[1:].isdigit():
        return "#" * int(name[1:]) + " "
    return "- " if name == "li" else ""
