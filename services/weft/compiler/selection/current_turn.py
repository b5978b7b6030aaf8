"""The current turn: the results since the latest user turn, newest first (promise 8)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import islice
from math import inf

from msgspec import structs

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    COUNTED_TO,
    CURRENT_TURN_SHARE,
    CUT_SHARE,
    FAILED_SHARE,
    MAX_CALLS_TOGETHER,
    MIN_FAILED_TOKENS,
    MIN_PIN_TOKENS,
    MIN_SHARE_TOKENS,
    OTHER_CALLS_SHARE,
    PASS_SHARE,
    RESULT_TRIES,
    RETRY_SHARE,
    SAID_SHARE,
    SHORT_CALL,
    SHORT_SHARE,
    SIBLINGS_SHARE,
    WITHOUT_SAID,
    WITHOUT_SIBLINGS,
)
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.renditions.rendition import PARTS, Rendition, is_stub, shown_parts
from weft.compiler.selection.budget import longest_beginning, nearest_that_fits
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import fill
from weft.compiler.selection.linking import with_links
from weft.compiler.selection.next_entry import with_next_entry
from weft.compiler.selection.parallel import called_together, odd_one, with_shares
from weft.compiler.selection.runs import MAX_SAVED, fitting_run, greatest_count, merged
from weft.compiler.selection.written import with_written
from weft.readmodel.rows import ItemRow


def with_current_turn(choice: Choice, pinned: Shown, kept: Container[int] = ()) -> Shown:
    """The pinned items and the current turn. Of the results since the latest user turn, newest
    first, half of the budget is filled with whole ones, and with the best parts of the first that
    does not fit. Then come the fields that the newest failure names, and the other calls are listed
    with their outcome, so that they are not made again."""
    shown, cost = _with_stubs(choice, pinned, choice.budget, is_answered=False), choice.cost
    shown = _with_said(choice, shown)
    limit = min(choice.budget, cost.exact(shown) + int(choice.budget * CURRENT_TURN_SHARE))
    forms = _Forms(choice, limit)
    shown, is_cut = _with_together(choice, shown, limit)
    rest = [group for group in choice.current_turn if group.key not in shown]
    tried = 0
    if sum(group.whole_tokens for group in rest) > limit - cost.exact(shown):
        forms.save_room()
    while rest and tried < RESULT_TRIES:
        run = _run(choice, rest, forms, shown, limit)
        shown = merged(shown, [forms.complete(group) for group in rest[:run]])
        if run == len(rest):
            break
        group, rest = rest[run], rest[run + 1 :]
        if forms.is_shorter(group) and cost.fits(merged(shown, [forms.compact(group)]), limit):
            shown = merged(shown, [forms.compact(group)])
        elif again := _with_failed_call(choice, shown, group):
            shown = again
        elif not is_cut:
            reserved = _reserved(choice, group, limit - cost.exact(shown)) if rest else 0
            shown, is_cut = _with_parts(choice, shown, group, limit, reserved), True
        elif run == 0:  # nothing was added since it was found to be small enough
            tried += 1
            continue
        if is_cut:
            room = limit - cost.exact(shown) + MAX_SAVED
            rest = [one for one in rest if forms.least_tokens(one) <= room]
    shown = _with_siblings(choice, shown)
    shown = _with_stubs(choice, shown, choice.budget, choice.field_sources)
    before = cost.exact(shown)
    shown = with_next_entry(choice, _with_calls_ahead(choice, shown, before), kept)
    shown = with_links(choice, shown, kept)
    limit += cost.exact(shown) - before + int(choice.budget * OTHER_CALLS_SHARE)
    shown = with_written(choice, _with_failed_before(choice, shown), choice.current_turn, kept)
    shown = _with_stubs(choice, shown, min(choice.budget, limit))
    return _with_short(choice, shown)


def excess_with_outcome(choice: Choice, pinned: Shown) -> int:
    """By how many tokens the pinned items with the outcome of the newest result exceed the budget;
    0 or less if they do not."""
    newest, others = _newest_result(choice)
    return choice.cost.exact(_with_outcomes(choice, pinned, newest, *others)) - choice.budget


def newest_result_fit(choice: Choice, pinned: Shown) -> int:
    """How much of the newest result that says anything fits beside the pinned items, calls without
    results and newer results that are empty: 2 for all of it, within the turn's share of the
    budget, 1 for its outcome, 0 for nothing."""
    newest, others = _newest_result(choice)
    shown, cost = _with_outcomes(choice, pinned, *others), choice.cost
    whole = {row.sequence: choice.renditions[row.sequence].whole() for row in newest.rows}
    limit = min(choice.budget, cost.exact(shown) + int(choice.budget * CURRENT_TURN_SHARE))
    outcome_fits = cost.fits(_with_outcomes(choice, shown, newest), choice.budget)
    return outcome_fits + cost.fits(merged(shown, [whole]), limit)


def _newest_result(choice: Choice) -> tuple[Group, list[Group]]:
    """The call with the newest result that says anything; the calls without results, and those with
    newer results that are empty."""
    answered = [group for group in choice.current_turn if len(group.rows) > 1]
    says = [group for group in answered if any(row.whole.strip() for row in group.rows[1:])]
    newest = says[0] if says else answered[0]
    others = [one for one in choice.current_turn if len(one.rows) == 1 or one.last > newest.last]
    return newest, others


def _with_outcomes(choice: Choice, shown: Shown, *groups: Group) -> Shown:
    return merged(shown, [_shortest_forms(choice, one) for one in groups])


def _with_together(choice: Choice, shown: Shown, limit: int) -> tuple[Shown, bool]:
    """With the results of the newest calls, if these were made together and the newest result does
    not fit whole, or one of them says something else than the others, which come after it. Also
    returns whether any was cut."""
    groups = [group for group in called_together(choice.current_turn) if group.key not in shown]
    room = limit - choice.cost.exact(shown)
    odd = odd_one(groups)
    if odd is None and not (
        2 <= len(groups) <= MAX_CALLS_TOGETHER and room >= MIN_SHARE_TOKENS * len(groups)
    ):
        return shown, False
    whole = {
        row.sequence: choice.renditions[row.sequence].whole()
        for group in (groups if odd is not None else groups[:1])
        for row in group.rows
    }
    if choice.cost.fits({**shown, **whole}, limit):
        return shown, False
    shared = with_shares(choice, shown, groups, limit)
    # Without the one that differs, the others would say that all is well.
    return (shared, True) if odd is None or odd.key in shared else (shown, False)


def _with_siblings(choice: Choice, shown: Shown) -> Shown:
    """With more of the results of calls that were made together with the newest."""
    newest, siblings = choice.current_turn[:1], called_together(choice.current_turn)[1:]
    if not 1 <= len(siblings) < MAX_CALLS_TOGETHER or newest[0].key not in shown:
        return shown
    if odd_one([*newest, *siblings]) is not None:
        return shown  # more of the others would say the same again
    room = int(max(choice.budget - WITHOUT_SIBLINGS, 0) * SIBLINGS_SHARE)
    limit = min(choice.budget, choice.cost.exact(shown) + room)
    hidden = [group for group in siblings if group.key not in shown]
    return fill(choice, with_shares(choice, shown, hidden, limit), siblings, limit)


def _reserved(choice: Choice, group: Group, room: int) -> int:
    """What older results keep of the room beside one that is cut. Nothing beside the newest, unless
    it is larger than the budget: then many of its parts are needed less than what came before."""
    if group is choice.current_turn[0] and group.whole_tokens <= choice.budget:
        return 0
    return int(room * (1 - CUT_SHARE))


def _with_parts(choice: Choice, shown: Shown, group: Group, limit: int, reserved: int) -> Shown:
    """With the best parts of a result that does not fit, beside what is reserved for older ones.
    If nothing of the newest result fits there, older ones have to wait: it takes what is reserved,
    and then what the limit would leave of the budget, but for a failure before it."""
    if group is choice.current_turn[0] and _is_failed(group):
        most = choice.cost.exact(shown) + int(choice.budget * RETRY_SHARE)
        limit, reserved = min(most, choice.budget), 0
    more = fill(choice, shown, [group], limit - reserved)
    if group is not choice.current_turn[0]:
        return more
    kept = 0 if _failed_before(choice) is None else MIN_FAILED_TOKENS
    for most in (limit, choice.budget):
        if not _says_nothing(choice, more, group):
            break
        more = fill(choice, shown, [group], most - kept)
    return (
        more
        if group.key in more
        else _with_shortest_forms(choice, shown, group, limit, choice.budget)
    )


def _says_nothing(choice: Choice, shown: Shown, group: Group) -> bool:
    """Whether a call has results of which no part is shown, at most a line about each, or of whose
    list no record is."""
    results = [
        (row, shown.get(row.sequence) or choice.renditions[row.sequence].choose(()))
        for row in group.rows[1:]
        if row.whole.strip()
    ]
    return bool(results) and all(is_stub(made) or _lacks_list(row, made) for row, made in results)


def _lacks_list(row: ItemRow, made: Rendition) -> bool:
    """Whether only other parts are shown of a result that is mostly a list."""
    outline = row.parts
    if made.view != PARTS or outline is None:
        return False
    listed = outline.record_of
    is_list = 2 * sum(outline.leaves[number].size for number in listed) > row.size_of_whole
    return is_list and shown_parts(row, made).isdisjoint(listed)


def _with_short(choice: Choice, shown: Shown) -> Shown:
    """With more of the calls whose results are short: most calls that did something, and did not
    only read, are among them, and an agent that does not see them may do it twice."""
    short = [group for group in choice.current_turn if group.whole_tokens <= SHORT_CALL]
    limit = choice.cost.exact(shown) + int(choice.budget * SHORT_SHARE)
    return _with_stubs(choice, shown, min(choice.budget, limit), short)


def with_left_calls(choice: Choice, shown: Shown, limit: int) -> Shown:
    """With those of the other calls of the current turn that fit into `limit`, newest first."""
    tried = 0
    for group in choice.current_turn:
        if group.key in shown:
            continue
        more = merged(shown, [_shortest_forms(choice, group)])
        if choice.cost.fits(more, limit):
            shown = more
        elif (tried := tried + 1) == RESULT_TRIES:
            break
    return shown


def _with_failed_before(choice: Choice, shown: Shown) -> Shown:
    """With the error line of the call before the newest, if that failed and was not made again:
    what is done now, or what the user has said about it, is probably meant to fix it. Also with the
    error lines of calls that were made together with the newest: one failure among many says the
    most."""
    before = _failed_before(choice)
    together = [group for group in called_together(choice.current_turn)[1:] if _is_failed(group)]
    limit = min(choice.cost.exact(shown) + int(choice.budget * FAILED_SHARE), choice.budget)
    for group in (*((before,) if before else ()), *together):
        if group.key not in shown:
            shown = _with_shortest_forms(choice, shown, group, limit, limit)
    return shown


def _with_failed_call(choice: Choice, shown: Shown, group: Group) -> Shown | None:
    """With all arguments of the newest call, or of the one before, if that failed, and its outcome:
    what it was given is given again. None if they do not fit, or if the outcome shows them, too."""
    is_newest = group is choice.current_turn[0]
    if not (_is_failed(group) if is_newest else group is _failed_before(choice)):
        return None
    call, limit = choice.renditions[group.rows[0].sequence], choice.budget
    if not is_newest:
        limit = min(limit, choice.cost.exact(shown) + int(limit * FAILED_SHARE))
    least = _shortest_forms(choice, group)
    if least[call.row.sequence] == call.whole() or call.row.whole_tokens > limit * COUNTED_TO:
        return None
    more = merged(shown, [{**least, call.row.sequence: call.whole()}])
    return more if choice.cost.fits(more, limit) else None


def _failed_before(choice: Choice) -> Group | None:
    """The call before the newest, if that failed and was not made again, nor made good."""
    before = choice.current_turn[1] if len(choice.current_turn) > 1 else choice.interrupted
    if before is None or all(one.key != before.key for one in choice.unresolved):
        return None
    is_again = (
        choice.current_turn and before.call_signature == choice.current_turn[0].call_signature
    )
    return None if is_again else before


def _is_failed(group: Group) -> bool:
    return any(row.failed for row in group.rows[1:])


def _with_calls_ahead(choice: Choice, shown: Shown, used: int) -> Shown:
    """With the results that a pass over a list acts on next, beside the `used` tokens."""
    groups = [group for group in choice.calls_ahead if group.key not in shown]
    limit = min(choice.budget, used + int(choice.budget * PASS_SHARE))
    return fill(choice, shown, groups, limit) if groups else shown


def _with_said(choice: Choice, shown: Shown) -> Shown:
    """With what the agent said last: why it made its newest call, and what it is about to do. Not
    if it is long, or if it takes room of the results. The legend that the first mark needs is not
    its cost: it would be needed anyway."""
    if choice.said is None or choice.said.key in shown:
        return shown
    said = {row.sequence: choice.renditions[row.sequence].whole() for row in choice.said.rows}
    if choice.cost.block_tokens(said) > (choice.budget - WITHOUT_SAID) * SAID_SHARE:
        return shown
    more, limit = merged(shown, [said]), choice.budget * (1 - CURRENT_TURN_SHARE)
    return more if choice.cost.fits(more, int(limit)) else shown


def _with_shortest_forms(
    choice: Choice, shown: Shown, group: Group, limit: int, most: int
) -> Shown:
    """With the outcome of a call, below its call: without it the model would take the call as
    not made. What is too long for `most` tokens is cut to `limit`: first the call, to as many of
    its first arguments as fit and the names of the others, then the results, to their beginning."""
    least = _shortest_forms(choice, group)
    if choice.cost.fits(merged(shown, [least]), most):
        return merged(shown, [least])
    call, results = group.rows[0].sequence, group.rows[1:]
    more = _with_call(choice, shown, group, least, limit)
    if more is None and len(results) == 1:
        result = choice.renditions[results[0].sequence]
        begun = longest_beginning(shown, {call: least[call]}, result, choice.cost, limit)
        more = None if begun is None else merged(shown, [begun])
    for room, tokens in ((4, limit), (1, limit), (1, most)):
        if more is None:
            cut = {
                row.sequence: _beginning_or_stub(choice, row, room * MIN_PIN_TOKENS)
                for row in results
            }
            more = _with_call(choice, shown, group, least | cut, tokens)
    return shown if more is None else more


def _beginning_or_stub(choice: Choice, row: ItemRow, limit: int) -> Rendition:
    """The beginning of a result, or its stub if that is shorter."""
    item_renditions = choice.renditions[row.sequence]
    return min(
        (item_renditions.beginning(limit), item_renditions.choose(())),
        key=lambda made: len(made.text),
    )


def _with_call(
    choice: Choice, shown: Shown, group: Group, least: Shown, limit: int
) -> Shown | None:
    """With `least` of a call, and as much of its call as fits; None if not even its beginning
    does."""
    call = choice.renditions[group.rows[0].sequence]
    if call.fixed is not None or call.redacted:
        more = merged(shown, [least])
        return more if choice.cost.fits(more, limit) else None
    arguments, free = sorted(call.required), structs.replace(call, required=frozenset())

    def with_first(count: int) -> Shown:
        return merged(shown, [{**least, call.row.sequence: free.choose(arguments[:count])}])

    most = len(arguments)
    count = nearest_that_fits(most, lambda count: choice.cost.fits(with_first(count), limit), most)
    if count > 0:
        return with_first(count)
    begun = longest_beginning(shown, least, call, choice.cost, limit)
    return None if begun is None else merged(shown, [begun])


def _shortest_forms(choice: Choice, group: Group) -> Shown:
    """The shortest form that says what was called and how it ended."""
    return {row.sequence: choice.renditions[row.sequence].choose(()) for row in group.rows}


class _Forms:
    """The whole and the shortest complete form of each call with its results, made once."""

    def __init__(self, choice: Choice, limit: int) -> None:
        self._choice = choice
        self._limit = limit
        self._wholes: dict[int, Shown] = {}
        self._compacts: dict[int, Shown] = {}
        self._compact_before = 0

    def may_fit(self, group: Group) -> bool:
        """Estimates of large results are close, so one that is far too large is not counted
        exactly."""
        renditions = [self._choice.renditions[row.sequence] for row in group.rows]
        tokens = sum(
            max(item_renditions.row.whole_tokens, 0)
            for item_renditions in renditions
            if item_renditions.fixed is None
        )
        return tokens <= self._limit * COUNTED_TO

    def save_room(self) -> None:
        """From now on results before the newest are complete without being whole: where not all fit
        as they were written, quotes and brackets cost more than they say."""
        if any(len(group.rows) > 1 for group in self._choice.current_turn):
            self._compact_before = _newest_result(self._choice)[0].last

    def complete(self, group: Group) -> Shown:
        """A call as it was written, with all that its results say."""
        if group.last >= self._compact_before:
            return self.whole(group)
        return {**self.compact(group), **dict(islice(self.whole(group).items(), 1))}

    def whole(self, group: Group) -> Shown:
        return self._made(self._wholes, group, ItemRenditions.whole)

    def compact(self, group: Group) -> Shown:
        return self._made(self._compacts, group, ItemRenditions.compact)

    def _made(
        self, made: dict[int, Shown], group: Group, form: Callable[[ItemRenditions], Rendition]
    ) -> Shown:
        if group.key not in made:
            renditions = self._choice.renditions
            made[group.key] = {row.sequence: form(renditions[row.sequence]) for row in group.rows}
        return made[group.key]

    def is_shorter(self, group: Group) -> bool:
        """Whether the shortest form differs from the whole."""
        return self.may_fit(group) and self.compact(group) != self.whole(group)

    def least_tokens(self, group: Group) -> float:
        """Tokens that all of a call takes at least; infinite if it is far too large."""
        return self._choice.cost.block_tokens(self.compact(group)) if self.may_fit(group) else inf


def _run(choice: Choice, groups: Sequence[Group], forms: _Forms, shown: Shown, limit: int) -> int:
    """How many of the groups, from the first on, fit whole beside `shown`."""
    most = next((at for at, group in enumerate(groups) if not forms.may_fit(group)), len(groups))

    def with_first(count: int) -> Shown:
        return merged(shown, [forms.complete(group) for group in groups[:count]])

    return fitting_run(choice.cost, with_first, most, limit)


def _with_stubs(
    choice: Choice,
    shown: Shown,
    limit: int,
    groups: Sequence[Group] | None = None,
    is_answered: bool = True,
) -> Shown:
    """What is shown and, newest first, the other calls of the current turn, or of these groups:
    those with results, each with a line about them, or those that have none."""
    stubs = [
        _shortest_forms(choice, group)
        for group in (choice.current_turn if groups is None else groups)
        if group.key not in shown and (len(group.rows) > 1) == is_answered
        if group.key not in choice.made_good  # what came of it is told
    ]
    size, exact = choice.cost.size, choice.cost.exact
    count = greatest_count(len(stubs), lambda count: size(merged(shown, stubs[:count])), limit)
    # Sizes of messages are only approximate.
    fits = nearest_that_fits(
        count, lambda count: exact(merged(shown, stubs[:count])) <= choice.budget, count
    )
    return merged(shown, stubs[:fits])
