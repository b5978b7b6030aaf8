"""How an item stands in the prompt, and if it is shortened, why it was cut there."""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.candidates.find import Claim
from weft.compiler.compile import Trace
from weft.compiler.explaining.brought_in import POLICY, Reason
from weft.compiler.renditions.rendition import (
    COMPACT,
    CURRENT,
    REDACTED,
    REFERENCE,
    STUB,
    SUMMARY,
    WHOLE,
    Rendition,
    shown_parts,
)
from weft.compiler.selection.steps import Rule
from weft.readmodel.rows import ItemRow

_BY_BUDGET: Mapping[str, str] = {
    **dict.fromkeys((*Claim, POLICY), "what every prompt shows shares the budget of {:,} tokens"),
    Rule.KEPT: "the earlier prompt showed it so",
    Rule.CURRENT_TURN: (
        "the results since the user's latest message share the budget of {:,} tokens, the newest "
        "first"
    ),
    Rule.WORTH: "the budget of {:,} tokens is full, and this much was worth most per token",
}
_FULL = "the budget of {:,} tokens has no room for more"


def shown_as(trace: Trace, row: ItemRow, reason: Reason) -> str:
    """How it is shown, in a sentence."""
    one = trace.shown[row.sequence]
    if one.view == WHOLE:
        return "It is shown whole."
    if one.view == COMPACT:
        return "All of it is shown, without needless quotes and escapes."
    if one.view == CURRENT:
        count = len(row.outdated)
        what = "a fact that has" if count == 1 else f"{count} facts that have"
        return f"It is shown without {what} a newer value."
    if one.view == REDACTED:
        return f"A redaction stands for it, since it is {row.sensitivity.value} or flagged."
    if one.view == REFERENCE:
        return f"It is shown as a reference: {_later(trace, row)} says the same again."
    if one.view == SUMMARY:
        return _as_summary(trace, row)
    return _in_part(trace, row, one, reason)


def _later(trace: Trace, row: ItemRow) -> str:
    later = trace.choice.repeats[row.sequence]
    return trace.choice.cost.rows[later].id


def _as_summary(trace: Trace, row: ItemRow) -> str:
    if trace.choice.renditions[row.sequence].is_limited:
        return "Its summary is shown: the policy allows no more tokens for a result of this tool."
    if row.stored:
        return (
            f"Its summary is shown: its text of {row.stored:,} bytes is in the object store, and "
            "drill-down reads it."
        )
    return "Its summary is shown: the read model has no more of it, and drill-down reads the rest."


def _in_part(trace: Trace, row: ItemRow, one: Rendition, reason: Reason) -> str:
    if one.view == STUB and not row.whole.strip():
        return "It is empty." if not row.stored else "Its text has no summary yet."
    about = f", of about {row.whole_tokens:,} tokens in all" if row.whole_tokens > 0 else ""
    why = _why(trace, reason)
    if one.view == STUB or not one.selector:
        return f"Only a line about it is shown{about}: {why}."
    if one.selector.startswith("<"):
        return f"Only its beginning is shown{about}: {why}."
    count, total = len(shown_parts(row, one)), row.part_count
    return f"{count:,} of its {total:,} parts are shown{about}: {why}."


def _why(trace: Trace, reason: Reason) -> str:
    return _BY_BUDGET.get(reason.rule, _FULL).format(trace.choice.budget)
