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
_HREF = re.compile(r"\bhref\s{0,4}=\s{0,4}[\"']?(https?://[^\"'\s<>]{1,300})")
_MAX_PARTS = 30_000
_TOLD = "# page without scripts, styles and navigation:"


def summarise_html(text: str, budget: Budget) -> str:
    seen = readable(text)
    # A page that consists of scripts says nothing to a reader; its source is all there is.
    if len(seen) * 50 < len(text) and len(seen) < 2 * budget.limit:
        return summarise_markdown(f"{_TOLD} almost nothing; its source\n\n{seen}\n{text}", budget)
    return summarise_markdown(f"{_TOLD} its text\n\n{seen}", budget)


def readable(text: str) -> str:
    """The visible text, with headings and list items marked as in Markdown. Linear."""
    lines: list[str] = []
    line: list[str] = []
    position, parts, skipped = 0, 0, ""
    for match in _PART.finditer(text):
        parts += 1
        if match.start() < position:
            continue
        if not skipped:
            line.append(text[position : match.start()])
        position = match.end()
        name = (match.group(2) or "").lower()
        if not name:
            position = _after_comment(text, match)
        elif skipped:
            skipped = "" if match.group(1) and name == skipped else skipped
        elif name in _SKIPPED and not match.group(1) and not match.group(3).endswith("/"):
            skipped = name
        elif name in _BLOCK:
            _finish(lines, line)
            line.append("" if match.group(1) else _mark(name))
        elif name == "a" and not match.group(1) and (link := _HREF.search(match.group(3))):
            line.append(f" {link.group(1)} ")
        if parts >= _MAX_PARTS:
            _finish(lines, line)
            lines.append(f"… {len(text) - position} characters of source …")
            return "\n".join(lines)
    if not skipped:
        line.append(text[position:])
    _finish(lines, line)
    return "\n".join(lines)


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


def _finish(lines: list[str], line: list[str]) -> None:
    text = " ".join(html.unescape("".join(line)).split())
    if text and text.strip("#- "):
        lines.append(text)
    line.clear()
