"""One compile's sheet of paper: makes entries of forms, and says what they cost. Entries and their
costs are made once, however often the fit asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from weft.adapters.drafting import compact
from weft.compiler.blocks import undated
from weft.compiler.counting import MESSAGE, Count, message_tokens, prompt_tokens
from weft.compiler.forms import Form
from weft.compiler.rendering import block, label
from weft.days import day_of, written
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

ROLE = 2
"""Tokens of a label that messages have no need of."""
FILLERS = 12
"""Tokens of what a provider's rules add: a first user message, a last one."""
CALL_IDS = 6
"""Tokens of a call's id, with the call and with its result, and of what stands around them."""

FAR = 64
"""With it, twice the sum of the blocks is more than any provider's messages take."""


class Cost(NamedTuple):
    """Tokens of one entry, and what those of others hang on."""

    after_call: int
    """Its block right after its call, line break included."""
    alone: int
    """Its block elsewhere."""
    extra: int
    """About how many more it takes as a message, if the speaker stays the same."""
    speaker: str
    """Entries of one speaker in a row become one message; each call and result is its own."""
    day: str
    item_id: str
    parent_id: str | None


class Weighed(msgspec.Struct, frozen=True):
    """A finished sheet, in tokens."""

    entries: tuple[PackEntry, ...]
    prompt: int
    messages: dict[str, int]
    """Per provider."""


class Sheet:
    """`above` are the entries of header and tools; `rows` all that may be shown."""

    def __init__(
        self,
        above: Sequence[PackEntry],
        rows: Mapping[int, ItemRow],
        make: Callable[[ItemRow, Form], PackEntry],
        count: Count,
        learn: Callable[[ItemRow, Form], None],
    ) -> None:
        """`learn` is shown what will be counted."""
        self.above = tuple(above)
        self.rows = rows
        self._make = make
        self._count = count
        self._learn = learn
        self._entries: dict[int, tuple[Form, PackEntry, Cost]] = {}
        self._above = sum(count(made.text + "\n") for made in self.above)
        self._weighed: tuple[dict[int, Form], Weighed] | None = None
        self._dated = (
            len({day_of(str(row.metadata.get("occurred_at") or "")) for row in rows.values()}) > 1
        )

    def entries(self, forms: Mapping[int, Form]) -> list[PackEntry]:
        """All entries, in order of happening below the header."""
        shown = [self._entry(sequence, forms[sequence])[1] for sequence in sorted(forms)]
        return [*self.above, *undated(shown)]

    def weigh(self, forms: Mapping[int, Form]) -> Weighed:
        """The entries and what is really sent of them, counted."""
        if self._weighed is None or self._weighed[0] != forms:
            entries = self.entries(forms)
            messages = message_tokens(entries, self._count) if entries else {}
            prompt = prompt_tokens(entries, self._count)
            self._weighed = dict(forms), Weighed(tuple(entries), prompt, messages)
        return self._weighed[1]

    def exact(self, forms: Mapping[int, Form]) -> int:
        """Tokens of the prompt, or of the longest provider's messages where that is more."""
        weighed = self.weigh(forms)
        return max(weighed.prompt, *weighed.messages.values(), 0)

    def fits(self, forms: Mapping[int, Form], limit: int) -> bool:
        """Whether that is at most so much; what is far below needs no exact count."""
        return self.size(forms) * 2 + FAR <= limit or self.exact(forms) <= limit

    def size(self, forms: Mapping[int, Form]) -> int:
        """The same, added up from the blocks: exact for the prompt, close for messages."""
        prompt, extra, latest, last = self._above, 0, "", ""
        before: str | bool = False
        for sequence in sorted(forms):
            cost = self._entry(sequence, forms[sequence])[2]
            after_call, alone, more, speaker, day, item_id, parent_id = cost
            prompt += after_call if before == parent_id else alone
            extra += more if speaker == last else more + MESSAGE - 1
            if self._dated and day and day != latest:
                prompt += self._count(written(day, latest) + "\n")
                latest = day
            before, last = item_id, speaker
        return prompt + max(extra + FILLERS, 0)

    def _entry(self, sequence: int, form: Form) -> tuple[Form, PackEntry, Cost]:
        """Made once per form: kept with it, so that no other can take its identity."""
        held = self._entries.get(id(form))
        if held is None:
            row = self.rows[sequence]
            made = self._make(row, form)
            if made.text == form.text:
                self._learn(row, form)
            held = self._entries[id(form)] = form, made, _cost(made, self._count)
        return held


def _cost(made: PackEntry, count: Count) -> Cost:
    alone = count(block(made, None) + "\n")
    after_call, extra, speaker = alone, 0 if made.author else -ROLE, made.kind.value
    if made.kind is ItemKind.TOOL_RESULT:
        after_call -= count(label(made, None)) - 1
        speaker = made.item_id
    elif made.kind is ItemKind.TOOL_CALL:
        arguments = count(compact(made.arguments or {})) + count(made.tool_name or "")
        extra, speaker = extra + arguments - count(made.text) + CALL_IDS, made.item_id
    elif made.kind is not ItemKind.AGENT_MSG:
        speaker = ItemKind.USER_TURN.value
    day = day_of(made.occurred_at)
    return Cost(after_call, alone, extra, speaker, day, made.item_id, made.parent_id)
