"""Shows an item that states several facts without the outdated ones. A mark replaces each run of
outdated facts; the rest of the text is exact."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from weft.compiler.renditions.assembling import MAX_NAMED_FIELDS
from weft.facts.memory_fact import StatedFact, facts_named
from weft.passages.part import packed
from weft.passages.splitting import outline_of
from weft.readmodel.rows import ItemRow


def without_outdated_facts(row: ItemRow, outdated: Sequence[int], tokens: int = -1) -> ItemRow:
    """The row without the facts with these numbers, counted from 0 in order of its text. `tokens`
    is the size of the rest."""
    text = text_without_outdated_facts(row, outdated)
    return msgspec.structs.replace(
        row, text=text, tokens=tokens, outline=packed(outline_of(text)), outdated=tuple(outdated)
    )


def text_without_outdated_facts(row: ItemRow, outdated: Sequence[int]) -> str:
    """The row's text, with a mark for each run of outdated facts."""
    facts, pieces, at = facts_named(row.metadata, row.whole), list[str](), 0
    for _, run in groupby(enumerate(sorted(outdated)), lambda pair: pair[1] - pair[0]):
        outdated_facts = [facts[number] for _, number in run]
        pieces += [row.whole[at : outdated_facts[0].start], _mark(outdated_facts)]
        at = outdated_facts[-1].end
    return "".join([*pieces, row.whole[at:]])


def _mark(facts: Sequence[StatedFact]) -> str:
    """`… 2 outdated: tz, seat …`."""
    names = [fact.key for fact in facts[:MAX_NAMED_FIELDS]]
    more = [f"{len(facts) - MAX_NAMED_FIELDS} more"] if len(facts) > MAX_NAMED_FIELDS else []
    return f"… {len(facts)} outdated: {', '.join([*names, *more])} …"
