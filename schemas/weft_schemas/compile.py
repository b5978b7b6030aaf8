"""The compile: what is asked, what comes back, and the audit of it."""

from __future__ import annotations

from typing import Any

import msgspec

from weft_schemas.envelope import Signal
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.reasoning import Reasoning
from weft_schemas.routing import ChoiceCard, HydrationResult

REASONS = (
    "sensitivity",
    "duplicate",
    "kind_limit",
    "budget",
    "orphan",
    "superseded",
    "pending",
    "flagged",
)
"""Why a candidate is not in the prompt."""


class CompileRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tenant and session stand in the request's subject."""

    phase: Phase
    query: str = ""
    """Only ranks; never rendered."""
    budget: int | None = None
    """Tokens; the policy's for the phase where null."""
    reserve: int = 0
    """Tokens of the caller's own system prompt and tool schemas, taken off the budget."""
    policy: ContextPolicy | None = None
    """Instead of the one in force, which it may only tighten, unless an operator asks."""
    as_of: int | None = None
    """The world at this sequence."""
    after: int = 0
    """Wait until this sequence is folded and settled."""
    stable_from: str | None = None
    """Id of an earlier pack whose rendering stays a prefix."""
    tools: tuple[dict[str, Any], ...] = ()
    """Tools on offer: `{name, description, …}`; rendered as short lines in phase route."""
    tool: str | None = None
    """Phase call: the chosen tool's name, in `tools` or in `catalog`."""
    catalog: str | None = None
    timeout: float = 2.0
    """Seconds that `after` may take."""
    v: int = 1
    cards: tuple[ChoiceCard, ...] | msgspec.UnsetType = msgspec.UNSET
    """Phase route with a `catalog`: what the router shows of it. Filled in by the service, so that
    the audit holds what was shown."""
    pin: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Ids of items that stand in the prompt whatever else does."""
    scopes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Memory of these scopes alone, of those that the session's items name. Filled in by the
    service where not all of them are granted to who asks."""
    hydration: HydrationResult | msgspec.UnsetType = msgspec.UNSET
    """Phase call with a `tool` of a `catalog`: the tool and the session's values for it. Filled in
    by the service."""


class DroppedItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    item_id: str
    reason: str
    detail: str = ""


class BuildStats(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a compile considered, kept and dropped. included + dropped == total, always.

    `total_candidates` is taken after dependency closure and before sensitivity.
    """

    total_candidates: int = 0
    included_count: int = 0
    dropped_count: int = 0
    dropped_reasons: dict[str, int] = {}
    dropped_items: tuple[DroppedItem, ...] = ()
    deduplicated_count: int = 0
    """Results that are shown as a reference to a later, equal one."""
    tokens_per_section: dict[str, int] = {}
    dependency_closures: int = 0
    """Items that became candidates because something else needed them."""
    included_items: tuple[str, ...] = ()
    prompt_tokens: int = 0
    message_tokens: dict[str, int] = {}
    """Per provider, counted with names, arguments, and the reasoning that goes back to it."""
    budget: int = 0
    """Tokens that the prompt could take, `reserve` taken off."""
    encoding: str = ""
    notes: tuple[str, ...] = ()
    """Plain sentences: a shortened policy, an unknown stable base, a budget too small."""
    shortened_count: int = 0
    """Included items of which something is left out."""
    withheld_tokens: int = 0
    """About how many tokens of the included items are left out; their handles give them."""
    session_items: int = 0
    """Items of the session at the sequence read."""


class PackEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One block of the prompt. The prompt and every provider's messages are made from the entries
    alone, so all show the same items."""

    item_id: str
    kind: ItemKind
    text: str
    """As shown: whole, redacted, summarised or the envelope's summary, fence and handle in it."""
    section: str
    """`header` (memory), `legend`, `policy`, `tools`, `context` or `latest`."""
    sequence: int = 0
    parent_id: str | None = None
    author: str | None = None
    tool_name: str | None = None
    call_id: str | None = None
    arguments: dict[str, Any] | None = None
    turn_id: str | None = None
    occurred_at: str | None = None
    view: str = "whole"
    """`whole`, `compact` (JSON without needless quotes), `parts` (some of it, gaps marked),
    `current` (all but outdated facts, marked), `summary`, `stub` (one line about it),
    `reference` or `redacted`."""
    handle: str | None = None
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    is_error: bool = False
    """Of a tool result: its call failed."""
    omitted_before: int = 0
    """Items of the session that are left out between the entry before and this one."""
    answer: str = ""
    """Of a call whose result is not shown: what is known of it, such as `no result is in the log
    yet`."""
    signals: tuple[Signal, ...] = ()
    """What the guards saw in the item, or in what it repeats."""
    reasoning: Reasoning | None = None
    """Of a call of the open exchange that is shown as it was made: what its provider wants back
    with it. In that provider's messages alone, and counted there."""


class PendingItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    item_id: str
    sequence: int
    reason: str = "no envelope yet"


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rendered item: which version of it, in which view."""

    item_id: str
    sequence: int
    version: int
    """Sequence of the event whose text was used (the item's own, its envelope's, its summary's)."""
    view: str = "whole"
    digest: str = ""


class ContextPack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to a compile."""

    id: str
    tenant: str
    session: str
    phase: Phase
    prompt: str
    entries: tuple[PackEntry, ...]
    stats: BuildStats
    sequence: int
    """The read model's sequence that was read."""
    policy_version: int
    digest: str
    """SHA-256 of the prompt, in hex."""
    pending: tuple[PendingItem, ...] = ()
    render_version: str = ""
    code_version: str = ""
    v: int = 1


class CompileAudit(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="compiled", tag_field="type"
):
    """The audit event of one compile: enough to render it again from the log."""

    id: str
    tenant: str
    session: str
    request: CompileRequest
    sequence: int
    policy_version: int
    manifest: tuple[ManifestEntry, ...]
    digest: str
    render_version: str
    code_version: str
    encoding: str
    pending: tuple[PendingItem, ...] = ()
    v: int = 1
    principal: str | msgspec.UnsetType = msgspec.UNSET
    """Who asked, where the request's subject names somebody."""
    loosened: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What of the policy in force then an operator's request loosened, field by field."""


class ErrorReply(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="error", tag_field="type"
):
    """What a service answers when it cannot."""

    code: str
    message: str
    retryable: bool = False
    v: int = 1


class DrilldownRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A slice of an artifact. `args` belong to the view: `{"start": 10, "count": 20}`,
    `{"pattern": "ERROR", "context": 2}`, `{"path": "invoices[3].number"}`, …"""

    handle: str
    view: str = "head"
    args: dict[str, str | int | float | bool | None] = {}
    max_tokens: int = 1_000
    v: int = 1


class DrilldownReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    handle: str
    view: str
    text: str
    tokens: int
    truncated: bool
    item_id: str
    session: str
    sensitivity: Sensitivity
    content_type: str
    views: tuple[str, ...] = ()
    next: dict[str, str | int | float | bool | None] | None = None
    """Arguments that give the following slice."""
    seal: str = ""
    """For `metadata.slice_seal` where the text is published as an item."""
    signals: tuple[Signal, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the guards saw in the whole body."""
    v: int = 1


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an item is in a compile or not."""

    item_id: str
    request: CompileRequest
    v: int = 1


class ExplainReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    item_id: str
    included: bool
    candidate: bool
    reason: str
    detail: str
    scores: dict[str, float] = {}
    sequence: int = 0
    signals: tuple[Signal, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the guards saw in the item, or in what it repeats, where it is shown."""
    v: int = 1
