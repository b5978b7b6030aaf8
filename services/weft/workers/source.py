"""What a derive function is given: one event of the log and what may be known beside it, as a plain
value that can be sent to a subprocess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from weft import tokens
from weft.secrets.items import masked_item
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    SensitivityEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, Sensitivity
from weft_schemas.policy import ContextPolicy


class Source(msgspec.Struct, frozen=True):
    """One event, the policy in force at its place, and the origin of what is derived from it."""

    event: Event
    tenant: str
    session: str
    name: str
    """Last token of its subject: an item's kind, or the event's type."""
    sequence: int
    policy: ContextPolicy
    origin: Origin
    is_untrusted: bool = False
    """Whether it is an item that speaks through its envelope alone."""
    attempt: int = 1
    body: str | Path = ""
    """An item's text, wherever it lies; a file where the function takes bodies whole."""

    @property
    def item(self) -> ContextItem:
        """The item. Raises `InvalidInput` where it is another event."""
        if not isinstance(self.event, ContextItem):
            raise InvalidInput(f"event {self.sequence} is a {self.name} and no item")
        return self.event

    @property
    def text(self) -> str:
        """The item's text."""
        return self.body if isinstance(self.body, str) else self.body.read_text("utf-8", "replace")

    @property
    def scope(self) -> str:
        """Whom facts are true for: the scope that the item names, else its session."""
        return self.item.reserved.scope or f"session:{self.session}"

    def facts(self, values: Mapping[str, str]) -> FactsEvent:
        """Facts, key to value, learned from this item and as sensitive as it is."""
        item = self.item
        facts = tuple(
            MemoryFact(key, value, (item.id,), item.sensitivity) for key, value in values.items()
        )
        return FactsEvent(self.origin, self.scope, facts)

    def summary(
        self, text: str, model: str, encoding: str = tokens.DEFAULT_ENCODING
    ) -> SummaryEvent:
        """A summary of this item; `model` names what made it."""
        count = tokens.count(text, encoding)
        return SummaryEvent(self.origin, text, count, encoding, self.item.sensitivity, model)

    def sensitivity(self, level: Sensitivity | str) -> SensitivityEvent | None:
        """The item raised to a level; None where it is that sensitive already."""
        level = Sensitivity(level)
        if self.item.sensitivity.reaches(level):
            return None
        return SensitivityEvent(self.origin, level)


def as_shown(source: Source) -> Source:
    """With an item as it may be shown: credentials masked in its text and metadata, since what is
    derived of it may stand in a prompt or go to a model."""
    event = source.event
    if not isinstance(event, ContextItem):
        return source
    item = masked_item(msgspec.structs.replace(event, text=source.text), source.policy.firewall)
    return msgspec.structs.replace(source, event=item, body=item.text)
