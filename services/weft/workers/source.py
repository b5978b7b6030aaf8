"""The argument of a derive function: one event of the log with its policy and origin, as a plain
value that can be sent to a subprocess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from pathlib import Path

import msgspec

from weft import tokens
from weft.secrets.masked_items import masked_item
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    SensitivityEvent,
    SummaryEvent,
)
from weft_schemas.ids import session_scope
from weft_schemas.items import LEVELS, ContextItem, Sensitivity
from weft_schemas.lone_surrogates import is_encodable
from weft_schemas.policy import ContextPolicy


class Source(msgspec.Struct, frozen=True):
    """One event, the policy in force at its sequence, and the origin of derived events."""

    event: Event
    tenant: str
    session: str
    name: str
    """Last token of its subject: an item's kind, or the event's type."""
    sequence: int
    policy: ContextPolicy
    origin: Origin
    is_untrusted: bool = False
    """Whether it is an item that is shown only through its envelope."""
    attempt: int = 1
    body: str | Path = ""
    """An item's text, wherever it is stored; a file for functions that take bodies whole."""

    @property
    def item(self) -> ContextItem:
        """The item. Raises `InvalidInput` if it is another event."""
        if not isinstance(self.event, ContextItem):
            raise InvalidInput(f"event {self.sequence} is a {self.name} and no item")
        return self.event

    @property
    def text(self) -> str:
        """The item's text."""
        return self.body if isinstance(self.body, str) else self.body.read_text("utf-8", "replace")

    @property
    def scope(self) -> str:
        """The scope of facts from it: the item's, else its session."""
        return self.item.reserved.scope or session_scope(self.session)

    def facts(self, values: Mapping[str, str]) -> FactsEvent:
        """Facts, key to value, learned from this item and as sensitive as it is. An empty value
        says that nothing is known any more. Raises `InvalidInput` with the fact's position if a
        key or a value is no text."""
        item = self.item
        for position, (key, value) in enumerate(values.items(), 1):
            _check_fact(f"fact {position} of {len(values)}", key, value)
        facts = tuple(
            MemoryFact(key, value, (item.id,), item.sensitivity) for key, value in values.items()
        )
        return FactsEvent(self.origin, self.scope, facts)

    def summary(
        self, text: str, model: str, encoding: str = tokens.DEFAULT_ENCODING
    ) -> SummaryEvent:
        """A summary of this item; `model` is the name of its author. Raises `InvalidInput` if one
        of them is no text."""
        for name, value in (("text", text), ("model", model)):
            if not isinstance(value, str):
                raise InvalidInput(
                    f"summary of item {self.item.id!r}: its {name} is of type "
                    f"{type(value).__name__}; give a str"
                )
        count = tokens.count(text, encoding)
        return SummaryEvent(self.origin, text, count, encoding, self.item.sensitivity, model)

    def sensitivity(self, level: Sensitivity | str) -> SensitivityEvent | None:
        """Raises the item to a level; None if it is that sensitive already. Raises `InvalidInput`
        for an unknown level."""
        if level not in LEVELS:
            length = f" and length {len(level)}" if isinstance(level, Sized) else ""
            raise InvalidInput(
                f"sensitivity of item {self.item.id!r}: a value of type {type(level).__name__}"
                f"{length} is no level; use one of {', '.join(LEVELS)}"
            )
        level = Sensitivity(level)
        if self.item.sensitivity.reaches(level):
            return None
        return SensitivityEvent(self.origin, level)


def _check_fact(fact: str, key: object, value: object) -> None:
    """Quotes neither: the error may go into the log, where an erasure would not find it."""
    if not isinstance(key, str) or not key.strip() or not is_encodable(key):
        raise InvalidInput(
            f"{fact}: its key, of type {type(key).__name__}, is empty or no valid text; give it a "
            "name"
        )
    if not isinstance(value, str) or not is_encodable(value):
        raise InvalidInput(
            f"{fact}: its value, of type {type(value).__name__}, is no valid text; give a str, an "
            "empty one if nothing is known any more"
        )


def as_shown(source: Source) -> Source:
    """The source with its item as it may be shown: credentials are masked in text and metadata,
    since derived events may be in a prompt or go to a model."""
    event = source.event
    if not isinstance(event, ContextItem):
        return source
    item = masked_item(msgspec.structs.replace(event, text=source.text), source.policy.firewall)
    return msgspec.structs.replace(source, event=item, body=item.text)
