"""Stages 4 to 7 put together: from the groups that may be shown to the forms that are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from weft.compiler.blocks import undated
from weft.compiler.closure import Group
from weft.compiler.counting import Count, message_tokens, prompt_tokens
from weft.compiler.fitting import Forms, fit
from weft.compiler.forms import Form, whole
from weft.compiler.packing import Wants, order_parts
from weft.compiler.pinning import pin
from weft.compiler.values import values
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry


class Sheet(msgspec.Struct, frozen=True):
    """How forms become a prompt: what stands above them, how an entry is made and counted."""

    above: tuple[PackEntry, ...]
    """Header and tools."""
    rows: Mapping[int, ItemRow]
    make: Callable[[ItemRow, Form], PackEntry]
    count: Count

    def entries(self, forms: Mapping[int, Form]) -> list[PackEntry]:
        """All entries, in order of happening below the header."""
        shown = [self.make(self.rows[sequence], forms[sequence]) for sequence in sorted(forms)]
        return [*self.above, *undated(shown)]

    def size(self, forms: Mapping[int, Form]) -> int:
        """Tokens of the prompt, or of the longest provider's messages where that is more."""
        entries = self.entries(forms)
        if not entries:
            return 0
        messages = message_tokens(entries, self.count)
        return max(prompt_tokens(entries, self.count), *messages.values())


class Selected(msgspec.Struct, frozen=True):
    forms: dict[int, Form]
    notes: tuple[str, ...]


def select(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    pinned: frozenset[int],
    redacted: frozenset[int],
    wants: Wants,
    asked: Collection[str],
    sheet: Sheet,
    budget: int,
    encoding: str,
) -> Selected:
    """Everything whole where it fits; else the pinned, then the parts worth most."""
    if not groups:
        return Selected({}, ())
    everything = _everything(groups, redacted, sheet, budget)
    if everything is not None:
        return Selected(everything, ())
    rows = [group.rows[0] for group in groups if group.key in pinned]
    pins = pin(rows, redacted, sheet.size, budget, encoding)
    stated = Counter(value for form in pins.forms.values() for value in values(form.text))
    rest = [group for group in groups if group.key not in pinned]
    additions, shapes = order_parts(
        rest, scores, redacted, wants, asked, stated, budget - sheet.size(pins.forms)
    )
    return Selected(fit(additions, shapes, pins.forms, sheet.size, budget), pins.notes)


def _everything(
    groups: Sequence[Group], redacted: frozenset[int], sheet: Sheet, budget: int
) -> Forms | None:
    if sum(max(row.tokens, 0) for group in groups for row in group.rows) > budget:
        return None
    forms = {
        row.sequence: whole(row, row.sequence in redacted) for group in groups for row in group.rows
    }
    return forms if sheet.size(forms) <= budget else None
