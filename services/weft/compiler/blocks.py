"""From a row in one of its forms to the entry that a pack holds."""

from __future__ import annotations

from weft.compiler.fencing import fence, unlabelled
from weft.compiler.forms import ENVELOPE, SHORTENED, Form
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy

HANDLE_FROM = 300
"""Tokens that the raw body must have over what is shown before the text names its handle, which
costs ten; the entry always carries it."""


def entry(
    row: ItemRow, form: Form, policy: ContextPolicy, key: bytes, section: str, dated: bool
) -> PackEntry:
    """The entry of one item: fenced where it is untrusted, its handle shown where much is missing."""
    handle = _handle(row, form)
    text = form.text
    if handle and row.envelope and row.envelope.raw_tokens - row.tokens > HANDLE_FROM:
        text = f"{text} [{handle}]"
    if row.kind in policy.firewall.untrusted_kinds or row.kind is ItemKind.TOOL_RESULT:
        text = fence(text, row.id, key)
    else:
        text = unlabelled(text)
    named = row.metadata.get
    return PackEntry(
        item_id=row.id,
        kind=row.kind,
        text=text,
        section=section,
        sequence=row.sequence,
        parent_id=row.parent_id,
        author=named("author"),
        tool_name=named("tool_name"),
        call_id=named("call_id"),
        arguments=form.arguments,
        turn_id=named("turn_id"),
        occurred_at=named("occurred_at") if dated else None,
        view=form.view,
        handle=handle,
        sensitivity=row.sensitivity,
    )


def _handle(row: ItemRow, form: Form) -> str | None:
    if row.envelope is None or form.view not in (SHORTENED, ENVELOPE):
        return None
    return row.envelope.artifacts[0].handle if row.envelope.artifacts else None
