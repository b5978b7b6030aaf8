"""The compile: its request, its reply, and its audit event."""

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


RULES = (
    "whole_session",
    "kept",
    "latest",
    "task",
    "answered",
    "unanswered",
    "wordless",
    "publisher",
    "request",
    "goes_on",
    "policy",
    "latest_item",
    "current_turn",
    "said",
    "list",
    "link",
    "field",
    "failed",
    "last_fetched",
    "written",
    "dialogue",
    "answering",
    "worth",
    "room_left",
)
"""What brings an item into a prompt, in the order in which the selection asks: everything fits;
the earlier prompt had it; its claim to be in every prompt; the current turn; what was fetched last;
what was written into files; the newest messages; short texts about the latest; worth per token;
room that is left."""


class CompileRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tenant and session are in the request's subject."""

    phase: Phase
    query: str = ""
    """Used only for ranking; never rendered."""
    budget: int | None = None
    """In tokens; null means the policy's budget for the phase."""
    reserve: int = 0
    """Tokens of the caller's own system prompt and tool schemas, subtracted from the budget."""
    policy: ContextPolicy | None = None
    """Used instead of the policy in force. It may only tighten that one, unless an operator
    asks."""
    as_of: int | None = None
    """Read the session as of this sequence."""
    after: int = 0
    """Wait until this sequence is folded and settled."""
    stable_from: str | None = None
    """Id of an earlier pack whose rendering remains a prefix."""
    tools: tuple[dict[str, Any], ...] = ()
    """Offered tools: `{name, description, …}`; rendered as short lines in phase route."""
    tool: str | None = None
    """Phase call: the chosen tool's name, in `tools` or in `catalog`."""
    catalog: str | None = None
    timeout: float = 2.0
    """How many seconds to wait for `after`."""
    v: int = 1
    cards: tuple[ChoiceCard, ...] | msgspec.UnsetType = msgspec.UNSET
    """Phase route with a `catalog`: what the router shows of it. Filled in by the service, so that
    the audit contains what was shown."""
    pin: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Ids of items that the prompt must contain. The stats' `notes` name those that it does not."""
    scopes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Use only memory of these scopes, of those that the session's items name. Filled in by the
    service if the requester has no right to some of them."""
    hydration: HydrationResult | msgspec.UnsetType = msgspec.UNSET
    """Phase call with a `tool` of a `catalog`: the tool and the session's values for it. Filled in
    by the service."""


class DroppedItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that a compile considered and left out, and why."""

    item_id: str
    reason: str
    detail: str = ""


class BuildStats(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a compile considered, kept and dropped. included + dropped == total, always.

    `total_candidates` is counted after dependency closure and before sensitivity.
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
    """For each provider, including names, arguments, and the reasoning that goes back to it."""
    budget: int = 0
    """Tokens that the prompt could use: the budget without `reserve`."""
    encoding: str = ""
    notes: tuple[str, ...] = ()
    """Plain sentences: a shortened policy, an unknown stable base, a budget that is too small."""
    shortened_count: int = 0
    """Number of included items that are not shown whole."""
    withheld_tokens: int = 0
    """About how many tokens of the included items are left out; their handles lead to them."""
    session_items: int = 0
    """Items of the session at the sequence read."""
    no_message: str | msgspec.UnsetType = msgspec.UNSET
    """If the prompt has no message that a model could answer, though the session has some: why the
    latest of them is dropped, as in `dropped_reasons`, or `empty` if it has no text."""


class PackEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One block of the prompt. The prompt and every provider's messages are made only from the
    entries, so all show the same items."""

    item_id: str
    kind: ItemKind
    text: str
    """As shown: whole, redacted, summarised or the envelope's summary, including fence and
    handle."""
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
    """`whole`, `compact` (JSON without unnecessary quotes), `parts` (some of it, gaps marked),
    `current` (all but outdated facts, marked), `summary`, `stub` (one line about it), `reference`
    or `redacted`."""
    handle: str | None = None
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    is_error: bool = False
    """For a tool result: its call failed."""
    omitted_before: int = 0
    """How many items of the session are left out between the previous entry and this one."""
    omitted_calls: str = ""
    """Calls among these items: the newest that were considered, as far as there is room."""
    call: str = ""
    """For a tool result with other items between it and its call: the beginning of the call's
    arguments, which tells it from the results of parallel calls."""
    answer: str = ""
    """For a call whose result is not shown: what is known about it, such as `no result is in the
    log yet`."""
    signals: tuple[Signal, ...] = ()
    """What the guards found in the item, or in the item that it repeats."""
    reasoning: Reasoning | None = None
    """For a call of the current turn that is shown as it was made: what its provider wants back
    with it. Only in that provider's messages, and counted there."""


class PendingItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that no prompt may show yet, since its envelope is not there."""

    item_id: str
    sequence: int
    reason: str = "no envelope yet"


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rendered item: its version and its view."""

    item_id: str
    sequence: int
    version: int
    """Sequence of the event whose text was used (the item's own, its envelope's, its summary's)."""
    view: str = "whole"
    digest: str = ""
    named: tuple[int, ...] = ()
    """Sequences of the calls that the mark before it names: left out, but told."""


class ContextPack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to a compile."""

    id: str
    tenant: str
    session: str
    phase: Phase
    prompt: str
    entries: tuple[PackEntry, ...]
    """In the order of the log. In a prompt that is cut, results stand below their calls."""
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
    """Who asked, if the request's subject names somebody."""
    loosened: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Which fields of the policy then in force an operator's request loosened."""


class ErrorReply(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="error", tag_field="type"
):
    """The reply of a service that cannot do what was requested."""

    code: str
    message: str
    retryable: bool = False
    v: int = 1


class DrilldownRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests a slice of an artifact. `args` depend on the view: `{"start": 10, "count": 20}`,
    `{"pattern": "ERROR", "context": 2}`, `{"path": "invoices[3].number"}`, …"""

    handle: str
    view: str = "head"
    args: dict[str, str | int | float | bool | None] = {}
    max_tokens: int = 1_000
    v: int = 1


class DrilldownReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A slice of an artifact, and how to read on."""

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
    """Arguments for the next slice."""
    seal: str = ""
    """The value for `metadata.slice_seal` if the text is published as an item."""
    signals: tuple[Signal, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the guards found in the whole body."""
    v: int = 1


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks why an item is in a compile or not."""

    item_id: str
    request: CompileRequest
    v: int = 1


class ExplainReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an item is in a compile or not."""

    item_id: str
    included: bool
    candidate: bool
    reason: str
    detail: str
    """Plain sentences: what brought it in or what it lacked, how it is shown, why not whole, and in
    which turn it is."""
    scores: dict[str, float] = {}
    sequence: int = 0
    signals: tuple[Signal, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the guards found in the item, or in the item that it repeats, if it is shown."""
    v: int = 1
    rule: str | msgspec.UnsetType = msgspec.UNSET
    """If it is included: what brought it in, one of `RULES`."""
    turn: int | msgspec.UnsetType = msgspec.UNSET
    """The number of the user's turn to which it belongs, from 1; 0 before the first. Unset if the
    session has none."""
    rank: int | msgspec.UnsetType = msgspec.UNSET
    """Its place by worth per token, from 1, if it competed for what pins and the current turn leave
    of the budget."""
    ranked: int | msgspec.UnsetType = msgspec.UNSET
    """How many competed."""
