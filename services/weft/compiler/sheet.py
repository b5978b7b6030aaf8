"""One compile's sheet of paper: makes entries of forms, and says what they cost. Entries and their
costs are made once, however often the fit asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.adapters.drafting import compact
from weft.compiler.blocks import undated
from weft.compiler.counting import MESSAGE, Count, message_tokens, prompt_tokens
from weft.compiler.forms import Form
from weft.compiler.rendering import block
from weft.days import day_of, written
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

Forms = Mapping[int, Form]
"""What is shown, by sequence."""

ROLE = 2
"""Tokens of a label that messages have no need of."""


class Sheet:
    """`above` are the entries of header and tools; `rows` all that may be shown."""

    def __init__(
        self,
        above: Sequence[PackEntry],
        rows: Mapping[int, ItemRow],
        make: Callable[[ItemRow, Form], PackEntry],
        count: Count,
    ) -> None:
        self.above = tuple(above)
        self.rows = rows
        self._make = make
        self._count = count
        self._entries: dict[tuple[int, str, str], PackEntry] = {}
        self._days = {day_of(str(row.metadata.get("occurred_at"))) for row in rows.values()}

    def entries(self, forms: Forms) -> list[PackEntry]:
        """All entries, in order of happening below the header."""
        shown = [self._entry(sequence, forms[sequence]) for sequence in sorted(forms)]
        return [*self.above, *undated(shown)]

    def exact(self, forms: Forms) -> int:
        """Tokens of the prompt, or of the longest provider's messages where that is more."""
        entries = self.entries(forms)
        if not entries:
            return 0
        messages = message_tokens(entries, self._count)
        return max(prompt_tokens(entries, self._count), *messages.values())

    def size(self, forms: Forms) -> int:
        """The same, added up from the blocks: exact for the prompt, close for messages."""
        prompt = sum(self._count(above.text + "\n") for above in self.above)
        extra, day = 0, ""
        previous: PackEntry | None = None
        for sequence in sorted(forms):
            made = self._entry(sequence, forms[sequence])
            prompt += self._count(block(made, previous) + "\n")
            extra += _as_message(made, previous, self._count)
            today = day_of(made.occurred_at)
            if len(self._days) > 1 and today and today != day:
                prompt += self._count(written(today, day) + "\n")
                day = today
            previous = made
        return prompt + max(extra, 0)

    def _entry(self, sequence: int, form: Form) -> PackEntry:
        key = (sequence, form.view, form.recipe)
        made = self._entries.get(key)
        if made is None:
            made = self._entries[key] = self._make(self.rows[sequence], form)
        return made


def _as_message(made: PackEntry, previous: PackEntry | None, count: Count) -> int:
    """About how many tokens more an entry costs as a message than as a block."""
    extra = 0 if made.author else -ROLE
    if previous is None or _speaker(previous) != _speaker(made):
        extra += MESSAGE - 1
    if made.kind is ItemKind.TOOL_CALL:
        written_out = compact(made.arguments or {})
        extra += count(written_out) + count(made.tool_name or "") - count(made.text) + 4
    return extra


def _speaker(made: PackEntry) -> object:
    """Entries of one speaker in a row become one message; each call and result is its own."""
    if made.kind in (ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT):
        return made.item_id
    return made.kind is ItemKind.AGENT_MSG
