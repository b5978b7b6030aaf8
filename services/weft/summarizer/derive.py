"""What the summarizer derives, as pure functions: an item's summary, a session's summary."""

from __future__ import annotations

from weft import tokens
from weft.summarizer.stretch import Stretch
from weft.summarizer.summarizer import Summarizer
from weft_schemas.events import Origin, SummaryEvent
from weft_schemas.items import ContextItem
from weft_schemas.policy import SummaryRules

WORKER = "summarizer"
VERSION = "1"


def summary_of_item(
    item: ContextItem,
    text: str,
    origin: Origin,
    rules: SummaryRules,
    summarizer: Summarizer,
    encoding: str,
) -> SummaryEvent | None:
    """The summary of one item. None if the item is short enough, or is a slice that was requested
    instead of a summary. Untrusted items are not summarised here: the firewall shortens them.

    `text` is its whole text (fetched, if the item has a BodyRef); `origin.item_id` is its id.
    """
    if not is_long(item, text, rules, encoding):
        return None
    summary = summarizer.summarise(text, rules.item_tokens, encoding)
    if not summary:
        return None
    return SummaryEvent(
        origin=origin,
        text=summary,
        tokens=tokens.count(summary, encoding),
        encoding=encoding,
        sensitivity=item.sensitivity,
        model=summarizer.name,
    )


def is_long(item: ContextItem, text: str, rules: SummaryRules, encoding: str) -> bool:
    """Whether a trusted item with this text gets a summary. If the text is stored separately and
    not at hand (empty), its size decides: a token is at least one byte."""
    if item.reserved.slice_of:
        return False
    if item.body is not None and not text:
        return item.body.size > rules.item_threshold
    return _exceeds(text, rules.item_threshold, encoding)


def summary_of_session(
    stretch: Stretch,
    origin: Origin,
    rules: SummaryRules,
    summarizer: Summarizer,
    encoding: str,
) -> SummaryEvent | None:
    """The summary of a closed stretch (`origin` is the closing event, its `item_id` empty); None
    if nothing in it may be shown."""
    if not stretch.sources:
        return None
    summary = stretch.transcript
    if _exceeds(summary, rules.session_tokens, encoding):
        summary = summarizer.summarise(summary, rules.session_tokens, encoding)
    if not summary:
        return None
    return SummaryEvent(
        origin=origin,
        text=summary,
        tokens=tokens.count(summary, encoding),
        encoding=encoding,
        sensitivity=stretch.sensitivity,
        model=summarizer.name,
        scope=stretch.scope,
        first_sequence=stretch.first_sequence,
        last_sequence=stretch.last_sequence,
        sources=stretch.sources,
    )


def _exceeds(text: str, limit: int, encoding: str) -> bool:
    # A token is at least one byte and contains at most one word: most texts need no counting.
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return False
    return len(raw.split()) > limit or tokens.count(text, encoding) > limit
