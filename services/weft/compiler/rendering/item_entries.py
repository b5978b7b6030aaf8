"""From an item and its rendition to its entry in the pack: the section, the fence, the signals, and
the call that a result answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import msgspec

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.candidates.flags import Flags, flags_among
from weft.compiler.candidates.sensitivity import withhold
from weft.compiler.ledger import Ledger
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.rendering.entries import entry
from weft.compiler.rendering.named_calls import named_calls
from weft.compiler.renditions.rendition import Rendition
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy

OTHERS = frozenset({ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET})
"""Kinds with third-party text, always fenced, whatever the policy says."""


def entries_of(
    view: SessionView,
    request: CompileRequest,
    policy: ContextPolicy,
    above: Sequence[PackEntry],
    shown: Shown,
    named: Collection[int],
    key: bytes,
) -> list[PackEntry]:
    """The entries of these renditions; `above` are memory and tools, `named` the calls that the
    marks name."""
    groups = dependency_closure(view, view.rows({*shown, *named}), Ledger())
    flags = flags_among(view, groups)
    groups, redacted = withhold(groups, flags, policy, Ledger())
    place = (view.tenant, view.session)
    make = partial(item_entry, policy, key, place, None, groups_by_sequence(groups), flags)
    cost = PromptCost(above, groups, make, counter(view.encoding))
    calls = named_calls((one for one in groups if one.key in named), redacted | flags.keys())
    return cost.with_named_calls(calls).entries(
        {at: one for at, one in shown.items() if at in cost.rows}
    )


def item_entry(
    policy: ContextPolicy,
    key: bytes,
    place: tuple[str, str],
    latest_user: int | None,
    groups: Mapping[int, Group],
    flags: Flags,
    row: ItemRow,
    shown: Rendition,
    withheld: frozenset[int] = frozenset(),
) -> PackEntry:
    if row.sequence in withheld:  # its provider would refuse it as a call
        shown = msgspec.structs.replace(shown, arguments=None)
    section = "policy" if row.kind is ItemKind.POLICY else "context"
    if row.sequence == latest_user:
        section = "latest"
    untrusted = row.kind in {*policy.firewall.untrusted_kinds, *OTHERS} or row.envelope is not None
    call = groups[row.sequence].rows[0]
    answer = groups[row.sequence].waits if row is call else ""
    answered = None if row is call else call
    signals = flags.get(row.sequence, ())
    return entry(row, shown, key, section, untrusted, answer, answered, signals, place)


def groups_by_sequence(groups: Sequence[Group]) -> dict[int, Group]:
    return {row.sequence: group for group in groups for row in group.rows}
