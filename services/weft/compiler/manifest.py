"""The audit of a compile. Its manifest is enough to render the prompt again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.part_selector import with_outdated
from weft.compiler.renditions.rendition import SUMMARY, Rendition
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack, ManifestEntry, PackEntry
from weft_schemas.ids import digest


def manifest_of(
    entries: Sequence[PackEntry], cost: PromptCost, shown: Shown
) -> tuple[ManifestEntry, ...]:
    """One entry per block, in order: `view` holds the view's name and how it was cut."""
    rows, named = cost.rows, cost.named_before(shown)
    return tuple(
        ManifestEntry(
            item_id=entry.item_id,
            sequence=entry.sequence,
            version=_version(rows[entry.sequence], shown[entry.sequence]) if entry.item_id else 0,
            view=_view(entry, rows, shown),
            digest=digest(entry.text),
            named=named.get(entry.sequence, ()) if entry.item_id else (),
        )
        for entry in entries
    )


def _version(row: ItemRow, shown: Rendition) -> int:
    if shown.view == SUMMARY and row.envelope is None and not row.stored:
        return row.summary_version
    return row.version


def _view(entry: PackEntry, rows: Mapping[int, ItemRow], shown: Mapping[int, Rendition]) -> str:
    if not entry.item_id:
        return entry.view
    one = shown[entry.sequence]
    return with_outdated(f"{one.view} {one.selector}".rstrip(), rows[entry.sequence].outdated)


def audit_of(
    pack: ContextPack, request: CompileRequest, manifest: tuple[ManifestEntry, ...]
) -> CompileAudit:
    """The audit event of a pack."""
    return CompileAudit(
        id=pack.id,
        tenant=pack.tenant,
        session=pack.session,
        request=request,
        sequence=pack.sequence,
        policy_version=pack.policy_version,
        manifest=manifest,
        digest=pack.digest,
        render_version=pack.render_version,
        code_version=pack.code_version,
        encoding=pack.stats.encoding,
        pending=pack.pending,
    )
