"""Renders a past prompt again.

The manifest says which version of which item it showed, and in which view. A fresh read model at
the same sequence gives the texts. No stored prompt is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from weft import tokens
from weft.audit.missing_records import MissingRecords, missing_calls, row_of
from weft.compiler.candidates.sensitivity import redact
from weft.compiler.compile import Compilation, Trace, traced_compile, within_scopes
from weft.compiler.pack import CODE_VERSION
from weft.compiler.rendering.counting import prompt_tokens
from weft.compiler.rendering.fencing import has_data, is_message
from weft.compiler.rendering.item_entries import entries_of
from weft.compiler.rendering.legend import LEGEND
from weft.compiler.rendering.memory import frozen_header
from weft.compiler.rendering.prompt import RENDER_VERSION, render
from weft.compiler.rendering.reasoning import with_reasoning
from weft.compiler.renditions.rendition import REDACTED, SUMMARY, Rendition, reproduced_rendition
from weft.messages.writing import Provider, request_of_entries, why_nothing
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft.redaction import redaction_hook
from weft_schemas.compile import CompileAudit, ManifestEntry, PackEntry
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind

SAME, OTHER, NOT_RUN = "same", "other", "not run"
NOTHING_SHOWN = "its prompt showed nothing"


class Reproduction(msgspec.Struct, frozen=True):
    """The result of rendering a compile again."""

    id: str
    session: str
    sequence: int
    """Of the read model, at the time of the compile."""
    identical: bool
    """Whether the prompt is, byte for byte, the one that was returned then."""
    recorded_digest: str
    digest: str
    """SHA-256 of the prompt rendered now, in hex."""
    prompt: str
    reasons: tuple[str, ...] = ()
    """Why it is not identical."""
    selection: str = NOT_RUN
    """`same` if the selection, run again, chose the same items in the same views, else `other`;
    `not run` if another release made the selection."""
    selection_reasons: tuple[str, ...] = ()
    prompt_tokens: int = 0
    """Of `prompt`, counted with the encoding of the compile."""
    budget: int = 0
    """In tokens: the request's, or that of the policy in force then, without `reserve`."""
    dropped: int | None = None
    """How many candidates the prompt left out; None if the selection is not the same."""
    entries: tuple[PackEntry, ...] = ()
    """The blocks of `prompt`, of which a provider's messages are made."""
    no_message: str = ""
    """Why there is no message that a model could answer; empty if there is one."""

    def request(self, provider: Provider) -> dict[str, Any]:
        """The prompt as keyword arguments for the provider's call, as `pack.request(provider)` gave
        them: the same to the byte if the prompt and the selection are the same. Otherwise they are
        made of the blocks of `prompt`, with the reasoning that this release would send back.

        Raises `InvalidInput` if nothing of the prompt can be shown any more, for another provider,
        and if there was no message that a model could answer.
        """
        if self.no_message:
            raise InvalidInput(f"session {self.session!r}: {self.no_message}")
        if not self.entries:
            raise InvalidInput(f"compile {self.id}: {'; '.join(self.reasons) or NOTHING_SHOWN}")
        return request_of_entries(self.entries, provider)


def reproduce(
    audit: CompileAudit,
    view: SessionView,
    *,
    key: bytes = b"",
    base: CompileAudit | None = None,
    gone: MissingRecords | None = None,
) -> Reproduction:
    """Render a recorded compile again from a view at its sequence. Run its selection again as well,
    if this release made it.

    `key` and `base` are as for `compile_pack`. `gone` says what is no longer in the log.
    """
    gone = gone or MissingRecords()
    if gone.tombstone:
        return _erased(audit, gone)
    view = within_scopes(view, audit.request)
    trace = traced_compile(view, audit.request, key=key, base=base)
    again = trace.made
    entries, faults = _entries(audit, view, again, key, gone)
    prompt = render(entries)
    found = hashlib.sha256(prompt.encode()).hexdigest()
    identical = found == audit.digest
    reasons = () if identical else _reasons(audit, entries, faults, gone)
    selection, differences = _selection(audit, again)
    return Reproduction(
        id=audit.id,
        session=audit.session,
        sequence=audit.sequence,
        identical=identical,
        recorded_digest=audit.digest,
        digest=found,
        prompt=prompt,
        reasons=reasons,
        selection=selection,
        selection_reasons=differences,
        prompt_tokens=prompt_tokens(entries, tokens.counter(audit.encoding).count),
        budget=again.pack.stats.budget,
        dropped=again.pack.stats.dropped_count if selection == SAME else None,
        entries=_with_reasoning(entries, trace) if selection != SAME else again.pack.entries,
        no_message=why_nothing(again.pack.stats) if selection == SAME else "",
    )


def _with_reasoning(entries: Sequence[PackEntry], trace: Trace) -> tuple[PackEntry, ...]:
    """The entries with the reasoning that goes back to its provider, which no prompt has. Calls
    whose reasoning is withheld are told in words, since the provider would refuse them."""
    what = trace.state.returned_reasoning
    told = [
        msgspec.structs.replace(one, arguments=None) if one.sequence in what.withheld else one
        for one in entries
    ]
    return tuple(with_reasoning(told, what))


def _erased(audit: CompileAudit, gone: MissingRecords) -> Reproduction:
    """Nothing erased is shown again, even while its bytes are still being removed."""
    reason = f"session {audit.session!r} was erased by event {gone.tombstone}"
    return Reproduction(
        id=audit.id,
        session=audit.session,
        sequence=audit.sequence,
        identical=False,
        recorded_digest=audit.digest,
        digest="",
        prompt="",
        reasons=(reason,),
        selection_reasons=(reason,),
    )


def _entries(
    audit: CompileAudit,
    view: SessionView,
    again: Compilation,
    key: bytes,
    gone: MissingRecords,
) -> tuple[list[PackEntry], list[str]]:
    """The entries that the manifest names, in its order, and the reasons why some are missing."""
    rows = {row.sequence: row for row in view.rows(one.sequence for one in audit.manifest)}
    _, policy = view.policy() if audit.request.policy is None else (0, audit.request.policy)
    # The view of a header names its facts and episodes. The tools come from the request alone.
    remembered = frozen_header(view, audit, policy) or []
    above = {made.view: made for made in (*again.pack.entries, *remembered) if not made.item_id}
    heads: list[PackEntry] = []
    shown: dict[int, Rendition] = {}
    faults: list[str] = []
    for one in audit.manifest:
        try:
            if not one.item_id:
                if one.view != LEGEND:  # which follows from the other blocks
                    heads.append(_head(one, above))
                continue
            row = _row(one, rows, gone)
            name, _, selector = one.view.partition(" ")
            if name == REDACTED:
                row = redact(row, redaction_hook(policy.redaction_hook))
            shown[one.sequence] = reproduced_rendition(row, name, selector)
        except InvalidInput as fault:
            faults.append(str(fault))
    named = {at for one in audit.manifest for at in one.named}
    faults += missing_calls(audit, view, gone)
    return entries_of(view, audit.request, policy, heads, shown, named, key), faults


def _head(one: ManifestEntry, above: dict[str, PackEntry]) -> PackEntry:
    if one.view not in above:
        raise InvalidInput(f"the block {one.view!r} cannot be made again from this log")
    return above[one.view]


def _row(one: ManifestEntry, rows: dict[int, ItemRow], gone: MissingRecords) -> ItemRow:
    """Raises `InvalidInput` if the log lacks the item, or the text of it that was shown."""
    row = row_of(one, rows, gone)
    name = one.view.partition(" ")[0]
    of_summary = name == SUMMARY and row.envelope is None
    version = row.summary_version if of_summary else row.version
    if version != one.version:
        raise InvalidInput(
            f"item {one.item_id!r}: its text was that of event {one.version}, which the log does "
            "not hold any more"
        )
    return row


def _reasons(
    audit: CompileAudit, entries: Sequence[PackEntry], faults: list[str], gone: MissingRecords
) -> tuple[str, ...]:
    if audit.render_version != RENDER_VERSION:
        reason = (
            f"it was rendered by version {audit.render_version}, this release renders "
            f"{RENDER_VERSION}: use a release that renders {audit.render_version}"
        )
        return (reason, *faults)
    reasons = list(faults) or _differing(audit.manifest, entries)
    if not reasons:
        reasons.append("every block is the same, but not what stands between them")
    if gone.begins and not faults:
        reasons.append(gone.cut)
    return tuple(reasons)


def _differing(manifest: Sequence[ManifestEntry], entries: Sequence[PackEntry]) -> list[str]:
    by_key = differing_by_key(manifest, entries)
    if by_key:
        return [f"only {by_key} differ: WEFT_FINGERPRINT_KEY is not the one of that compile"]
    return [
        f"{f'item {one.item_id!r}' if one.item_id else 'the block'} in view {one.view!r} reads "
        "otherwise"
        for one, made in zip(manifest, entries, strict=True)
        if digest(made.text) != one.digest
    ]


def differing_by_key(manifest: Sequence[ManifestEntry], entries: Sequence[PackEntry]) -> str:
    """What differs from a manifest of the same blocks if the key alone does; empty if nothing or
    more differs."""
    pairs = list(zip(manifest, entries, strict=True))
    differing = [made for one, made in pairs if digest(made.text) != one.digest]
    fenced = [
        made for _, made in pairs if made.item_id and (has_data(made.text) or is_message(made.text))
    ]
    keyed = [made for made in differing if made in fenced or _is_by_key(made)]
    if differing and len(differing) == len(keyed) and all(made in keyed for made in fenced):
        return "fenced blocks" if len(keyed) == len(fenced) else "fences and handles"
    return ""


def _is_by_key(made: PackEntry) -> bool:
    """Whether its handle was made by the compile: of a text in the object store that no envelope
    tells of."""
    return made.kind is not ItemKind.TOOL_RESULT and f"[{made.handle}]" in made.text


def _selection(audit: CompileAudit, again: Compilation) -> tuple[str, tuple[str, ...]]:
    """Whether this release makes the same selection, and where it differs."""
    if audit.code_version != CODE_VERSION:
        reason = f"it was selected by code {audit.code_version}, this release is {CODE_VERSION}"
        return NOT_RUN, (reason,)
    before = {(one.item_id or one.view): one for one in audit.manifest}
    after = {(one.item_id or one.view): one for one in again.audit.manifest}
    differences = [f"{name!r} is not selected again" for name in before if name not in after]
    differences += [f"{name!r} is selected now" for name in after if name not in before]
    differences += [
        f"{name!r} stands in view {after[name].view!r}, not {one.view!r}"
        if after[name].view != one.view
        else f"{name!r} reads otherwise in view {one.view!r}"
        for name, one in before.items()
        if name in after and after[name] != one
    ]
    if not differences and again.pack.digest != audit.digest:
        differences.append("the same blocks in another order")
    waited = {one.item_id for one in audit.pending if one.item_id}
    if waited != {one.item_id for one in again.pack.pending}:
        differences.append("other items were pending")
    return (OTHER if differences else SAME), tuple(differences)
