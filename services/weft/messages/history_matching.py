"""Tells which items of a given history are known, which are new, and which were changed.

Frameworks pass the whole history at every step. They may cut off its beginning, leave out its
middle, and repeat equal messages; the process may have restarted, or be a different one at each
step. So an id must contain both an item's place in the session and its content: `u3-<hash>` is the
third item of the session's history, and the ids of a session's items, in order, are enough to find
a history's place in it.

A hash alone would take a second "yes" for the first one. A place alone would take the first message
of a shortened history for the session's first. A chain of hashes would not survive the cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise
from typing import Literal

import msgspec

from weft_schemas.ids import digest
from weft_schemas.items import ContextItem, ItemKind, is_users_document

HASH_DIGITS = 16
"""64 bits: nobody can make a message that passes for another one."""
_LETTERS = {
    ItemKind.USER_TURN: "u",
    ItemKind.AGENT_MSG: "a",
    ItemKind.TOOL_CALL: "c",
    ItemKind.TOOL_RESULT: "r",
    ItemKind.POLICY: "p",
    ItemKind.DOC_SNIPPET: "d",
    ItemKind.MEMORY_FACT: "f",
    ItemKind.PLAN_STATE: "s",
}
_ID = re.compile(rf"([uacrpdfs])([1-9][0-9]*)-([0-9a-f]{{{HASH_DIGITS}}})\Z")
_MADE_FROM = re.compile(_ID.pattern.removesuffix(r"\Z") + "-.")

State = Literal["known", "new", "edited", "inserted"]


class Link(msgspec.Struct, frozen=True):
    """One item of a history: its kind and content, independent of its place."""

    kind: str
    """A letter."""
    hash: str


class Placed(msgspec.Struct, frozen=True):
    """The place of a given item in the session's history."""

    state: State
    """`new`: after everything that is known. `edited`: at its place the session has the item `id`,
    with other content. `inserted`: it is between known items, after `id` unless that is empty, and
    the session has nothing there."""
    id: str


def links(items: Sequence[ContextItem]) -> list[Link]:
    """Of the items of whole messages, in order. A user's message with documents is one thing: each
    of its items is distinguished by all of it, so that with another document all of it is new."""
    made: list[Link] = []
    for turn_id, run in groupby(items, key=_users_turn):
        message = list(run)
        has_documents = any(item.kind is ItemKind.DOC_SNIPPET for item in message)
        is_whole = turn_id is not None and has_documents
        beside = [link(item).hash for item in message] if is_whole else ()
        made.extend(link(item, beside) for item in message)
    return made


def _users_turn(item: ContextItem) -> object:
    """What the items of a user's message with documents have in common."""
    is_users = item.kind is ItemKind.USER_TURN or is_users_document(item)
    return item.metadata.get("turn_id") if is_users else None


def link(item: ContextItem, message: Sequence[str] = ()) -> Link:
    """What distinguishes the item from others. Ids and parents do not, since they follow from the
    place; nor does the name of the tool in a result, since its call has it. `message` are the
    hashes of all items of a message that is one thing."""
    said = item.reserved
    tool = "" if item.kind is ItemKind.TOOL_RESULT else said.tool_name or ""
    arguments = ""
    if said.arguments is not None:
        arguments = msgspec.json.encode(said.arguments, order="sorted").decode()
    parts = (
        arguments or item.text.strip(),
        *(tool, said.call_id or "", said.author or ""),
        *(said.content_type or "", str(bool(said.is_error))),
        *message,
    )
    return Link(_LETTERS[item.kind], digest(item.kind, *parts)[:HASH_DIGITS])


def id_at(place: int, what: Link) -> str:
    """The id of an item at a place, counted from 1."""
    return f"{what.kind}{place}-{what.hash}"


class History:
    """What is known about a session's history, in order."""

    def __init__(self, ids: Sequence[str] = ()) -> None:
        """`ids` are those of a session's items, perhaps only of the latest."""
        self.ids: list[str] = []
        self.links: list[Link] = []
        self.last = 0
        """The highest place."""
        self.made_from: set[str] = set()
        """Ids that somebody has made from these, as of versions of their items."""
        self._handed: list[Link] = []
        self._found: list[Found] = []
        self._until = 0
        """The latest history, the places of its items, and how far it goes."""
        for item_id in ids:
            self.take(item_id)

    def take(self, item_id: str) -> None:
        """Note one more item of the session."""
        found = _ID.match(item_id)
        if found is None:
            self.note_made_from(item_id)
        else:
            self.ids.append(item_id)
            self.links.append(Link(found[1], found[3]))
            self.last = max(self.last, int(found[2]))

    def note_made_from(self, item_id: str) -> None:
        """Note an item whose id was made from one of the history; others are ignored."""
        if _MADE_FROM.match(item_id):
            self.made_from.add(item_id)

    def append(self, links: Sequence[Link]) -> list[str]:
        """Ids for items after everything that is known; they are known from now on."""
        ids = self.ids_for(links)
        for item_id in ids:
            self.take(item_id)
        return ids

    def ids_for(self, links: Sequence[Link], after: int = 0) -> list[str]:
        """The ids that `append` gives to items once `after` others were appended."""
        return [id_at(self.last + 1 + after + at, what) for at, what in enumerate(links)]

    def copy(self) -> History:
        made = History(self.ids)
        made._handed, made._found, made._until = self._handed, self._found, self._until
        return made

    def place(self, given: Sequence[Link]) -> list[Placed]:
        """Find each item of a given history. New ones get the ids that `append` would give them."""
        same = self.repeats(given)
        since = self._until if same else 0
        rest = _found(self.links[since:], given[same:])
        found = [
            *self._found[:same],
            *((state, at if at < 0 else at + since) for state, at in rest),
        ]
        ids = iter(self.ids_for([given[at] for at in range(len(given)) if found[at] == NEW]))
        return [
            Placed(state, next(ids) if state == "new" else self.ids[at] if at >= 0 else "")
            for state, at in found
        ]

    def repeats(self, given: Sequence[Link]) -> int:
        """How many of these, from the first on, were also given the last time."""
        same = min(len(given), len(self._handed))
        return same if list(given[:same]) == self._handed[:same] else 0

    def remember(self, given: Sequence[Link], placed: Sequence[Placed]) -> None:
        """Note that this history was given and where its items were found, the new ones being known
        by now. It is recognised when it is given again, with more after it, whatever repetitions it
        contains."""
        places = {item_id: at for at, item_id in enumerate(self.ids)}
        self._handed = list(given)
        self._found = [
            ("known" if one.state == "new" else one.state, places.get(one.id, -1)) for one in placed
        ]
        self._until = 1 + max((at for _, at in self._found), default=-1)


Found = tuple[State, int]
"""With its place in the known history, -1 if there is none."""
NEW: Found = ("new", -1)


def _found(known: Sequence[Link], given: Sequence[Link]) -> list[Found]:
    """The place of each item of a history."""
    return _grown(known, given) or _cut(known, given) or _changed(known, given)


def _grown(known: Sequence[Link], given: Sequence[Link]) -> list[Found]:
    """The places, if one history begins with all of the other; otherwise empty."""
    both = min(len(known), len(given))
    if list(given[:both]) != list(known[:both]):
        return []
    return [*(("known", at) for at in range(both)), *[NEW] * (len(given) - both)]


def _cut(known: Sequence[Link], given: Sequence[Link]) -> list[Found]:
    """The places, if the history consists of known items in order, up to the latest, followed by
    new ones; otherwise empty. If there are several ways, the one with the fewest gaps, then the one
    with the fewest new items."""
    earliest = _earliest(known, given)
    gaps = _gaps(earliest)
    ways = []
    for end, run in enumerate(_runs(known, given), start=1):
        before, first = end - run, len(known) - run
        if run and before <= len(earliest):
            last = earliest[before - 1] if before else first - 1
            if last < first:
                ways.append((gaps[before] + (last + 1 < first), len(given) - end, run))
    if not ways:
        return []
    _, new, run = min(ways)
    places = [*earliest[: len(given) - new - run], *range(len(known) - run, len(known))]
    return [*(("known", at) for at in places), *[NEW] * new]


def _runs(known: Sequence[Link], given: Sequence[Link]) -> list[int]:
    """For each place of the given history, how many items that end there equal the last known
    items. That is the Z algorithm on both histories reversed, in linear time."""
    both = [*reversed(known), None, *reversed(given)]
    sizes = [0] * len(both)
    start = end = 0  # the stretch that ends last of those that repeat the beginning
    for at in range(1, len(both)):
        size = min(sizes[at - start], end - at) if at < end else 0
        while at + size < len(both) and both[size] == both[at + size]:
            size += 1
        if at + size > end:
            start, end = at, at + size
        sizes[at] = size
    return sizes[: len(known) : -1]


def _earliest(known: Sequence[Link], given: Sequence[Link]) -> list[int]:
    """The earliest place of each, in order, up to the first one that is not found."""
    places = []
    left = enumerate(known)
    for one in given:
        at = next((at for at, other in left if other == one), None)
        if at is None:
            break
        places.append(at)
    return places


def _gaps(places: Sequence[int]) -> list[int]:
    """How many gaps there are in so many of the places, from none to all of them."""
    steps = (later != earlier + 1 for earlier, later in pairwise(places))
    return [0, *accumulate(steps, initial=0)]


def _changed(known: Sequence[Link], given: Sequence[Link]) -> list[Found]:
    """The places if something in the middle is neither known nor new: equal items are matched, and
    the neighbours decide about the others."""
    tied = _tied(known, given)
    if all(given[at].kind == POLICY for at in tied):
        return _another(known, given, tied)
    found: list[Found] = []
    last_tied = max(tied)
    question = _question(given)
    for at, one in enumerate(given):
        if at in tied:
            found.append(("known", tied[at]))
        elif at < last_tied:
            following = next(tied[later] for later in range(at, len(given)) if later in tied)
            found.append(_in_a_gap(known, one, found, following))
        else:
            found.append(_behind(known, one, found, is_asked=at >= question))
    return found


POLICY = _LETTERS[ItemKind.POLICY]
USER = _LETTERS[ItemKind.USER_TURN]
DOCUMENT = _LETTERS[ItemKind.DOC_SNIPPET]


def _another(known: Sequence[Link], given: Sequence[Link], tied: dict[int, int]) -> list[Found]:
    """Another conversation in the same session. All of it is new except its system prompt, since a
    session has only one."""
    mine = next((at for at, one in enumerate(known) if one.kind == POLICY), None)
    return [
        ("known", tied[at]) if at in tied
        else ("edited", mine) if one.kind == POLICY and mine is not None
        else NEW
        for at, one in enumerate(given)
    ]  # fmt: skip


def _in_a_gap(known: Sequence[Link], one: Link, found: Sequence[Found], end: int) -> Found:
    """Between matched items: an item was edited if another one of its kind is left there."""
    before = max((at for state, at in found if state in ("known", "edited")), default=-1)
    there = (at for at in range(before + 1, end) if known[at].kind == one.kind)
    at = next(there, None)
    return ("inserted", before) if at is None else ("edited", at)


def _question(given: Sequence[Link]) -> int:
    """Where the current question begins: a user's turn at the very end, with the documents that
    came with it."""
    at = len(given)
    if at and given[at - 1].kind == USER:
        at -= 1
    while at and given[at - 1].kind == DOCUMENT:
        at -= 1
    return at


def _behind(known: Sequence[Link], one: Link, found: Sequence[Found], is_asked: bool) -> Found:
    """After the last matched item: edited as long as its kinds follow the known history. The
    current question is not past."""
    before = max(at for _, at in found)
    step = before + 1
    if found[-1] == NEW or is_asked or step >= len(known):
        return NEW
    return ("edited", step) if known[step].kind == one.kind else NEW


def _tied(known: Sequence[Link], given: Sequence[Link]) -> dict[int, int]:
    """Place in the given history → place in the known one, both in order: the longest equal
    stretch, then the same before and after it."""
    tied: dict[int, int] = {}
    open_ = [(0, len(known), 0, len(given))]
    while open_:
        known_from, known_to, from_, to = open_.pop()
        size, at, there = _longest(known, given, (known_from, known_to), (from_, to))
        if size:
            tied |= {at + step: there + step for step in range(size)}
            open_.append((known_from, there, from_, at))
            open_.append((there + size, known_to, at + size, to))
    return dict(sorted(tied.items()))


def _longest(
    known: Sequence[Link], given: Sequence[Link], of_known: tuple[int, int], of: tuple[int, int]
) -> tuple[int, int, int]:
    """Length and places of the longest equal stretch. Among equal ones, the latest in the known
    history, and the earliest in the given one."""
    places: dict[Link, list[int]] = {}
    for at in range(*of):
        places.setdefault(given[at], []).append(at)
    best = (0, 0, 0)
    sizes: dict[int, int] = {}
    for there in range(*of_known):
        here = {at: sizes.get(at - 1, 0) + 1 for at in places.get(known[there], ())}
        sizes = here
        best = max([best, *((size, there, -at) for at, size in here.items())])
    size, there, at = best
    return (size, -at - size + 1, there - size + 1) if size else (0, 0, 0)
