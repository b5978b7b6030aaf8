"""The objects of routing: things to select, catalogues of them, and the cards that a model sees."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.items import BodyRef


class SelectableKind(StrEnum):
    TOOL = "tool"
    AGENT = "agent"
    SKILL = "skill"
    INTERNAL = "internal"


class Effect(StrEnum):
    """How a call changes things outside, as far as a catalogue says."""

    UNKNOWN = "unknown"
    READS = "reads"
    """It changes nothing: read-only."""
    ADDS = "adds"
    """It changes things and removes nothing."""
    DESTROYS = "destroys"
    """It deletes or overwrites."""


class SelectableItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Anything that the router can select."""

    id: str
    name: str
    description: str = ""
    kind: SelectableKind = SelectableKind.TOOL
    tags: tuple[str, ...] = ()
    namespace: str = ""
    side_effects: bool = False
    cost_hint: float = 0.0
    """Relative cost of one call, from 0 (free) upwards."""
    args_schema: dict[str, Any] = {}
    """JSON Schema of the arguments; never on a card."""
    examples: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Ids of items that must have been used before."""
    effect: Effect = Effect.UNKNOWN
    """Details that `side_effects` alone does not say."""


class Catalog(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="catalog", tag_field="type"
):
    """One whole version of a named catalogue; its version is its log sequence."""

    name: str
    items: tuple[SelectableItem, ...]
    """Empty if `body` contains them."""
    v: int = 1
    body: BodyRef | msgspec.UnsetType = msgspec.UNSET
    """A large catalogue's items as a JSON array in the object store."""


UNRANKED = "not ranked, has no word of the query"
"""How the note of a card begins whose tool has no word of the query."""


class ChoiceCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the model sees of a routed item: never the argument schema."""

    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    score: float = 0.0
    side_effects: str = ""
    """A warning in words, empty if there are none."""
    cost: float = 0.0
    note: str = ""
    """For example a missing prerequisite or a recent failure."""

    @property
    def is_unranked(self) -> bool:
        """It is shown though the tool has no word of the query."""
        return self.note.startswith(UNRANKED)


class ChoiceNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A node of a ChoiceGraph: interior (has children) or leaf (has an item)."""

    id: str
    label: str
    children: tuple[str, ...] = ()
    item: str = ""


class ChoiceGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bounded DAG over a catalogue, children always after their parent in `nodes`, so it cannot
    have a cycle."""

    root: str
    nodes: tuple[ChoiceNode, ...]
    max_children: int
    strategy: str
    """`namespace`, `jaccard` or `alphabetical`."""
    reason: str = ""
    """Why the builder chose it."""


class RouteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks which tools of a catalogue fit a query."""

    query: str
    catalog: str
    top_k: int = 5
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Ids of items that failed in this step: they rank lower."""
    used: tuple[str, ...] = ()
    """Ids of items that were used already: they count as met prerequisites."""
    after: int = 0
    """Wait for the catalogue's version of this sequence, or a later one."""
    timeout: float = 2.0
    """How many seconds to wait for `after`."""
    v: int = 1


class RouteReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cards of the tools that fit the query best, and how sure the router is of them. If no
    tool has a word of the query, the cards are of some tools, unranked (`is_unranked`)."""

    cards: tuple[ChoiceCard, ...]
    catalog: str
    catalog_version: int
    query: str
    """The routing query that was scored, after the transformer."""
    abstain: bool = False
    """Nothing fits; cards are shown all the same."""
    ambiguous: bool = False
    reason: str = ""
    """Why it abstains or is ambiguous, and what to do."""
    leaves_scored: int = 0
    total_leaves: int = 0
    id: str = ""
    """Id of the decision in the audit; return it with the choice."""
    v: int = 1

    @property
    def is_unranked(self) -> bool:
        """No tool has a word of the query: the cards are of some tools of the catalogue."""
        return any(card.is_unranked for card in self.cards)


class RouteAudit(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="routed", tag_field="type"
):
    """The audit event of one routing decision: enough to make it again and to learn from it."""

    id: str
    tenant: str
    session: str
    request: RouteRequest
    query: str
    """As scored, after the transformer."""
    catalog_version: int
    shown: tuple[str, ...]
    """Ids, best first."""
    scores: tuple[float, ...]
    abstain: bool
    ambiguous: bool
    scorer_version: str
    v: int = 1


class ChoiceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's choice after a decision."""

    decision: str
    """`RouteReply.id`."""
    item: str
    """Id of the item, empty if it chose none."""
    v: int = 1


class ChoiceReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The choice is stored."""

    sequence: int
    """Id of the audit event."""
    v: int = 1


class ChoiceAudit(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="chosen", tag_field="type"
):
    """The audit event of a choice."""

    tenant: str
    session: str
    decision: str
    item: str
    v: int = 1


class ValueCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value from the session that fits a parameter, and the item that states it."""

    value: str
    source: str
    score: float


class HydrateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for a tool's definition with the session's values for its parameters."""

    tool: str
    """Its id, or its name if no other tool has the same."""
    catalog: str
    query: str = ""
    after: int = 0
    timeout: float = 2.0
    v: int = 1
    catalog_version: int | msgspec.UnsetType = msgspec.UNSET
    """Of this version of the catalogue, as a decision names it; of the newest if it is not set."""


class HydrationResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The full definition of a tool, with the session's values for its parameters."""

    tool: SelectableItem
    values: dict[str, tuple[ValueCandidate, ...]]
    """Parameter name → candidates, best first."""
    used: tuple[str, ...]
    """Ids of the items that were used."""
    sequence: int
    v: int = 1


def check_unambiguous(name: str, ids: Sequence[str]) -> None:
    """Raises `InvalidInput` that names the tools, if the name is that of several; `ids` are
    theirs."""
    if len(ids) < 2:
        return
    shown = ", ".join(repr(one[:80]) for one in sorted(ids)[:_IDS_SHOWN])
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    raise InvalidInput(
        f"{len(ids)} tools have the name {name[:80]!r}: {shown}{more}; give the id of one"
    )


_IDS_SHOWN = 10


def __getattr__(name: str) -> Any:
    if name == "ToolCard":
        warnings.warn(
            "ToolCard is deprecated, use SelectableItem", DeprecationWarning, stacklevel=2
        )
        return SelectableItem
    raise AttributeError(name)
