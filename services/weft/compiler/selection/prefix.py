"""Stable prompts for a provider's prompt cache: entries of an earlier pack stay unchanged and new
items are appended. The end is replaced when too much is missing compared with a new compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import (
    MAX_FILLED_HEADS,
    MAX_PRICE,
    NEXT_ENTRY,
    OF_HALF,
    PRESENCE,
    PRICE,
    RECENTLY_USED_FACTOR,
    SHORTER,
    STAYS,
    USED_CALLS,
)
from weft.compiler.ranking.value_weights import value_weights
from weft.compiler.ranking.values import values
from weft.compiler.rendering.cost import Shown
from weft.compiler.rendering.named_calls import named_calls
from weft.compiler.rendering.prompt import RENDER_VERSION
from weft.compiler.renditions.part_selector import outdated_of
from weft.compiler.renditions.rendition import (
    PARTS,
    REDACTED,
    SUMMARY,
    Rendition,
    reproduced_rendition,
)
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.current_turn import with_current_turn
from weft.compiler.selection.dialogue import with_dialogue
from weft.compiler.selection.fill import fill
from weft.compiler.selection.left_out import with_named_calls, with_names
from weft.compiler.selection.parallel import called_together
from weft.compiler.selection.pins import note_pins, with_pins_grown
from weft.compiler.selection.select import everything_whole, filled, pins_of, selected_afresh
from weft.compiler.selection.steps import Rule, Selected, Step
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, ManifestEntry
from weft_schemas.policy import ContextPolicy


class Prefix(msgspec.Struct, frozen=True):
    """The part of the base that can stay."""

    shown: Shown = {}
    """By sequence, in the base's order."""
    reason: str = ""
    """Why nothing can be kept; empty if something is."""
    named: frozenset[int] = frozenset()
    """Calls that are left out and named in its marks."""


def kept_prefix(
    view: SessionView,
    base: CompileAudit | None,
    policy_version: int,
    policy: ContextPolicy,
    groups: Sequence[Group],
    redacted: frozenset[int],
) -> Prefix:
    """The base's blocks before the first that cannot be shown as it was. They may stay only if the
    same policy chose them: an operator's pack may have a looser one."""
    if base is None:
        return Prefix({}, "the base is not known: none of the session's latest packs has its id")
    if (base.tenant, base.session) != (view.tenant, view.session):
        return Prefix({}, "the base is of another session")
    if base.sequence > view.sequence:
        return Prefix({}, "the base is newer than what is read")
    # A policy that a request brings has no version of its own.
    theirs = policy if policy_version else base.request.policy or ContextPolicy()
    if (base.policy_version, base.encoding) != (policy_version, view.encoding) or theirs != policy:
        return Prefix({}, "the policy is another")
    if base.render_version != RENDER_VERSION:
        return Prefix({}, "the base was rendered by another release")
    rows = {row.sequence: row for group in groups for row in group.rows}
    shown: Shown = {}
    named = set[int]()
    for one in base.manifest:
        if not one.item_id:
            continue
        row = rows.get(one.sequence)
        rendition = None if row is None else _rendition_of(one, row, redacted)
        if rendition is None or not rows.keys() >= set(one.named):
            break
        shown[one.sequence] = rendition
        named.update(one.named)
    return Prefix(_complete_beginning(shown, groups), named=frozenset(named))


def _rendition_of(one: ManifestEntry, row: ItemRow, redacted: frozenset[int]) -> Rendition | None:
    """The rendition that the manifest names, or None if the item has changed."""
    name, _, selector = one.view.partition(" ")
    of_summary = name == SUMMARY and row.envelope is None
    version = row.summary_version if of_summary else row.version
    if version != one.version or (name == REDACTED) != (row.sequence in redacted):
        return None
    if outdated_of(selector) != row.outdated:
        return None
    return reproduced_rendition(row, name, selector)


def _complete_beginning(shown: Mapping[int, Rendition], groups: Sequence[Group]) -> Shown:
    """The longest beginning in which every group is complete: a call whose result came since must
    not stay without it."""
    group_of = {row.sequence: group for group in groups for row in group.rows}
    complete, missing, before = 0, set[int](), set[int]()
    for place, sequence in enumerate(shown, 1):
        before.add(sequence)
        missing |= {row.sequence for row in group_of[sequence].rows} - before
        missing.discard(sequence)
        if not missing:
            complete = place
    return dict(list(shown.items())[:complete])


def select_stable(choice: Choice, prefix: Prefix, ledger: Ledger) -> Selected:
    """Everything whole if it fits; else the prompt with the most wanted values for the tokens that
    are sent again."""
    everything = everything_whole(choice)
    if everything is not None:
        return Selected(choice, everything, [Step(Rule.WHOLE_SESSION, everything)])
    choice = _with_prefix_names(choice, prefix)
    best = _best(choice, prefix.shown)
    last = max(best.head, default=0)
    kept = [call for call in prefix.named if call < last]
    choice = with_names(choice, best.shown, kept, last)
    note_pins(choice, best.shown, ledger)
    return Selected(choice, best.shown, [Step(Rule.KEPT, best.head), *best.steps])


def _with_prefix_names(choice: Choice, prefix: Prefix) -> Choice:
    kept = [group for group in choice.groups if group.key in prefix.named]
    return with_named_calls(choice, named_calls(kept, choice.withheld))


class _Draft(msgspec.Struct, frozen=True):
    """A prompt that begins with a part of the base."""

    head: Shown
    shown: Shown
    gain: float
    """The share of what is wanted that it states, less the price of what is sent again."""
    size: int
    steps: Sequence[Step]
    """To what it shows behind the head."""

    def rank(self) -> tuple[float, int]:
        return self.gain, self.size


def _best(choice: Choice, kept: Shown) -> _Draft:
    """The best draft that fits, else what a new compile shows."""
    pinned = pins_of(choice)
    steps = selected_afresh(choice, pinned)
    fresh = steps[-1].shown
    newest = _newest_results(choice, fresh)
    judge = partial(_draft_of, choice, _WantedValues(choice, pinned, fresh))
    heads = list(_fitting_heads(choice, kept, {**newest, **pinned}))
    shorter = list(_shorter_compiles(choice, pinned))
    afresh = judge({}, fresh, steps)
    drafts = [
        afresh,
        *(judge({}, {**end[-1].shown, **newest}, [*end, *steps]) for end in shorter),
        *(
            judge(
                head,
                {**pinned, **_shown_after(choice, head, end[-1].shown), **newest, **head},
                [*end, *steps],
            )
            for head in heads
            for end in (steps, *shorter)
        ),
    ]
    for head in _promising_heads(drafts):
        filling = _filled_head(choice, head, {**newest, **pinned})
        drafts.append(judge(head, filling[-1].shown, filling))
    drafts.sort(key=_Draft.rank, reverse=True)
    return next((one for one in drafts if choice.cost.fits(one.shown, choice.budget)), afresh)


def _draft_of(
    choice: Choice, wanted: _WantedValues, head: Shown, shown: Shown, steps: Sequence[Step]
) -> _Draft:
    size = choice.cost.size(shown)
    sent = size - choice.cost.size(head)
    price = _price(choice.budget) * sent / max(choice.budget, 1)
    return _Draft(head, shown, wanted.share(shown) - price, size, steps)


def _price(budget: int) -> float:
    """The cost of sending a whole budget again, as a share of the weight of everything wanted."""
    return min(PRICE / max(budget, 1), MAX_PRICE)


def _fitting_heads(choice: Choice, kept: Shown, needed: Shown) -> Iterator[Shown]:
    """The parts of the base that fit beside what is `needed`."""
    for head in _heads(choice, kept):
        fits = choice.cost.fits({**needed, **head}, choice.budget)
        if fits and _holds_pins(choice, head, needed):
            yield head


def _shorter_compiles(choice: Choice, pinned: Shown) -> Iterator[list[Step]]:
    """The steps of new compiles that leave room: their ends fit behind more of the base."""
    for share in SHORTER:
        yield selected_afresh(choice, pinned, choice.budget - int(choice.budget * share))


def _shown_after(choice: Choice, head: Shown, end: Shown) -> Shown:
    """What `end` shows of the groups behind the head."""
    last = max(head, default=0)
    rows = (row for group in choice.groups if group.key > last for row in group.rows)
    return {row.sequence: end[row.sequence] for row in rows if row.sequence in end}


def _promising_heads(drafts: Sequence[_Draft]) -> list[Shown]:
    """The heads of the best drafts."""
    ranked = sorted(drafts, key=_Draft.rank, reverse=True)
    heads = {len(one.head): one.head for one in ranked if one.head}
    return list(heads.values())[:MAX_FILLED_HEADS]


def _filled_head(choice: Choice, head: Shown, needed: Shown) -> list[Step]:
    """The steps to the head with the most valuable of what came since."""
    last = max(head, default=0)
    base = {**needed, **head}
    current = with_pins_grown(choice, with_current_turn(choice, base, head), head)
    dialogue = with_dialogue(choice, current)
    later = [group for group in choice.groups if group.key > last and group.key not in dialogue]
    return [
        Step(Rule.PINNED, base),
        Step(Rule.CURRENT_TURN, current),
        Step(Rule.DIALOGUE, dialogue),
        filled(choice, dialogue, later, choice.budget),
    ]


def _newest_results(choice: Choice, fresh: Shown) -> Shown:
    """The latest item and the newest results: saving tokens must not hide them, nor cut what a new
    compile shows whole."""
    latest = [max(choice.groups, key=lambda group: group.last)] if choice.groups else []
    answered = [group for group in choice.current_turn if len(group.rows) > 1]
    rows = [row for group in (*latest, *called_together(answered)) for row in group.rows]
    return {row.sequence: fresh[row.sequence] for row in rows if row.sequence in fresh}


def _holds_pins(choice: Choice, head: Shown, pinned: Shown) -> bool:
    """Whether the head shows the pinned items as required, before any that it does not show."""
    last = max(head, default=0)
    for sequence, shown in pinned.items():
        if sequence in head and head[sequence] != shown and shown.view != PARTS:
            return False
        if sequence not in head and sequence < last:
            return False
    return True


def _heads(choice: Choice, kept: Shown) -> Iterator[Shown]:
    """Parts of the base that may stay: all of it, then less and less."""
    size, before = choice.cost.size(kept), -1
    for share in STAYS:
        head = kept if share == 1.0 else _head(choice, kept, int(size * share))
        if head and len(head) != before:
            yield head
        before = len(head)


def _head(choice: Choice, kept: Shown, limit: int) -> Shown:
    """The base's beginning of at most `limit` tokens, with groups complete."""
    low, high = 0, len(kept)
    items = list(kept.items())
    while low < high:
        middle = (low + high + 1) // 2
        if choice.cost.size(dict(items[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return _complete_beginning(dict(items[:low]), choice.groups)


class _WantedValues:
    """What a step wants of a session: the values stated by fresh compiles at full and half the
    budget, and the presence of their items."""

    def __init__(self, choice: Choice, pinned: Shown, fresh: Shown) -> None:
        self._choice = choice
        self._said: dict[str, Mapping[str, float]] = {}
        self._wanted = dict(self._weights_of(fresh))
        half = choice.budget // 2
        if choice.cost.exact(pinned) <= half:
            with_half = fill(choice, pinned, choice.groups, half)
            for value, weight in self._weights_of(with_half).items():
                self._wanted[value] = self._wanted.get(value, 0.0) + OF_HALF * weight
        for value in self._used():
            if value in self._wanted:
                self._wanted[value] *= RECENTLY_USED_FACTOR
        for value in self._ahead():
            if value in self._wanted:
                self._wanted[value] *= NEXT_ENTRY
        self._total = sum(self._wanted.values()) or 1.0

    def share(self, shown: Shown) -> float:
        """The share of the wanted values in these renditions; 1.0 if none is wanted."""
        if not self._wanted:
            return 1.0
        return sum(self._wanted.get(value, 0.0) for value in self._weights_of(shown)) / self._total

    def _weights_of(self, shown: Shown) -> dict[str, float]:
        weights: dict[str, float] = {}
        for sequence, one in shown.items():
            weights[f"item {sequence}"] = PRESENCE
            for value, weight in self._says(one).items():
                weights[value] = max(weights.get(value, 0.0), weight)
        return weights

    def _says(self, one: Rendition) -> Mapping[str, float]:
        if one.text not in self._said:
            self._said[one.text] = value_weights(one.text, frozenset(self._choice.asked))
        return self._said[one.text]

    def _used(self) -> set[str]:
        """The values that the last calls used."""
        calls = [group.rows[0] for group in self._choice.groups if group.is_call]
        return {value for call in calls[-USED_CALLS:] for value in values(call.whole)}

    def _ahead(self) -> set[str]:
        """The values that a loop takes next."""
        rows = {row.sequence: row for group in self._choice.groups for row in group.rows}
        return {
            value
            for sequence, stretches in self._choice.scores.ahead.items()
            for start, end in stretches
            for value in values(rows[sequence].readable[start:end])
        }
