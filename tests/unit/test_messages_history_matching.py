"""A history handed over finds its place in what a session holds, cut, repeated or changed.

A letter is an item: what the user says in lower case, what the agent says in upper case, a policy
as a digit. `0 1 +` reads: known, as the first and second; new.
"""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.client.histories import Histories
from weft.client.outgoing import PublishAck
from weft.messages.history_matching import History, Link, Placed, _cut, link
from weft.messages.history_matching import links as links_of
from weft_schemas.items import ContextItem, ItemKind


def links(letters: str) -> list[Link]:
    return [
        Link("p" if one.isdigit() else "u" if one.islower() else "a", f"{ord(one):016x}")
        for one in letters
    ]


def holding(letters: str) -> History:
    history = History()
    history.append(links(letters))
    return history


def test_adding_to_a_long_history_reads_only_what_is_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[str] = []
    take = History.take

    def counted(self: History, item_id: str) -> None:
        taken.append(item_id)
        take(self, item_id)

    async def publish(session: str, items: Sequence[ContextItem]) -> PublishAck:
        return PublishAck(session, len(taken), 1, len(items), 0, ())

    async def known_ids(session: str) -> tuple[int, Sequence[str]]:
        return 0, ()

    async def added() -> list[str]:
        histories = Histories(publish, known_ids)
        said = [ContextItem("m0", ItemKind.USER_TURN, "yes")]
        runs = [await histories.append("s", [said, said]) for _ in range(100)]
        return [item.id for run in runs for item in run.items]

    monkeypatch.setattr(History, "take", counted)
    ids = asyncio.run(added())
    assert [id.partition("-")[0] for id in ids] == [f"u{place}" for place in range(1, 201)]
    assert taken == ids


def places(known: str, handed: str) -> str:
    history = holding(known)

    def short(placed: Placed) -> str:
        at = history.ids.index(placed.id) if placed.id in history.ids else ""
        return {"known": f"{at}", "new": "+", "edited": f"!{at}", "inserted": f"^{at}"}[
            placed.state
        ]

    return " ".join(short(placed) for placed in history.place(links(handed)))


@pytest.mark.parametrize(
    ("known", "handed", "found"),
    [
        ("", "aBc", "+ + +"),
        ("aB", "aB", "0 1"),
        ("aB", "aBcD", "0 1 + +"),
        ("aBcD", "aB", "0 1"),
    ],
)
def test_a_history_that_grew_is_known_and_new(known: str, handed: str, found: str) -> None:
    assert places(known, handed) == found


@pytest.mark.parametrize(
    ("known", "handed", "found"),
    [
        ("aBcD", "cDe", "2 3 +"),
        ("0aBcD", "0cDe", "0 3 4 +"),
        ("aBcDeF", "aeFg", "0 4 5 +"),
        ("aBcDeF", "F", "5"),
        ("aBCD", "aDe", "0 3 +"),
    ],
)
def test_what_was_cut_from_the_front_or_the_middle_is_not_missed(
    known: str, handed: str, found: str
) -> None:
    assert places(known, handed) == found


@pytest.mark.parametrize(
    ("known", "handed", "found"),
    [
        ("y", "yy", "0 +"),
        ("yA", "yAyA", "0 1 + +"),
        ("yAyB", "yBy", "2 3 +"),
        ("ay", "yy", "1 +"),
        ("0yAyA", "0yAyA", "0 1 2 3 4"),
        ("0yAyA", "0yAyAy", "0 1 2 3 4 +"),
        ("0bAyA", "0yAyA", "0 3 4 + +"),
    ],
)
def test_equal_messages_are_several(known: str, handed: str, found: str) -> None:
    assert places(known, handed) == found


def cut(known: str, handed: str) -> str:
    found = _cut(links(known), links(handed))
    return " ".join(str(at) if state == "known" else "+" for state, at in found)


def cut_by_trying_all(known: str, handed: str) -> str:
    """The definition: each place where the latest known item is given may be the last known one.
    The run up to there is known, and what is given before the run is found as early as possible."""
    ways = []
    for end in (at + 1 for at, one in enumerate(handed) if one == known[-1]):
        run = max(size for size in range(end + 1) if known.endswith(handed[end - size : end]))
        found = [-1]
        for one in handed[: end - run]:
            found.append(known.find(one, found[-1] + 1, len(known) - run))
            if found[-1] < 0:
                break
        else:
            all_found = [*found[1:], *range(len(known) - run, len(known))]
            gaps = sum(later != earlier + 1 for earlier, later in pairwise(all_found))
            ways.append((gaps, -end, all_found))
    if not ways:
        return ""
    _, end, all_found = min(ways)
    return " ".join([*map(str, all_found), *"+" * (len(handed) + end)])


@settings(max_examples=300)
@given(st.text("abA", min_size=1, max_size=14), st.text("abA", max_size=14))
def test_of_all_ways_to_cut_the_one_with_the_fewest_gaps_is_found(known: str, handed: str) -> None:
    assert cut(known, handed) == cut_by_trying_all(known, handed)


@settings(max_examples=300)
@given(st.text("abA", min_size=1, max_size=14), st.data())
def test_a_history_that_was_cut_and_goes_on_is_found_so(known: str, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(known), max_size=len(known)))
    handed = "".join(one for one, is_kept in zip(known, kept, strict=True) if is_kept)
    handed += known[-1] + data.draw(st.text("abA", max_size=4))
    assert cut(known, handed) == cut_by_trying_all(known, handed)


class Compared:
    """An item that counts its comparisons."""

    times = 0

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return isinstance(other, Compared) and self.letter == other.letter


@pytest.mark.parametrize("unit", ["y", "yA", "yAyB", "yyyA"])
def test_a_cut_history_that_repeats_itself_is_found_in_linear_time(unit: str) -> None:
    def comparisons(size: int) -> int:
        known = [Compared(one) for one in unit * (size // len(unit))]
        Compared.times = 0
        assert _cut(known, known[1:])  # type: ignore[arg-type]
        return Compared.times

    assert comparisons(4_000) < 5 * comparisons(1_000)


@pytest.mark.parametrize(
    ("known", "handed", "found"),
    [
        ("aBcDe", "aBxDe", "0 1 !2 3 4"),
        ("aBcD", "aXcD", "0 !1 2 3"),
        ("aBcD", "aXcDe", "0 !1 2 3 +"),
        ("aB", "aXc", "0 !1 +"),
        ("aBcD", "aBcXe", "0 1 2 !3 +"),
        ("0aB", "1aBc", "!0 1 2 +"),
        ("0aB", "1xYz", "!0 + + +"),
    ],
)
def test_what_was_edited_is_told_and_never_new(known: str, handed: str, found: str) -> None:
    assert places(known, handed) == found


def test_what_was_put_between_known_items_is_told() -> None:
    assert places("aBcD", "aBxcD") == "0 1 ^1 2 3"
    assert places("aB", "xaB") == "^ 0 1"


def test_the_users_last_words_are_no_past() -> None:
    """A question asked again in other words, after a step that failed."""
    assert places("aBc", "aBd") == "0 1 +"
    assert places("aBcd", "aBde") == "0 1 3 +"


def test_another_conversation_in_the_session_is_new() -> None:
    assert places("aBcD", "xYz") == "+ + +"
    assert places("0aBcD", "0xYz") == "0 + + +"


def test_ids_say_the_place_and_two_processes_give_the_same() -> None:
    behind = holding("aB").place(links("aBcD"))
    ahead = holding("aBcD").place(links("aBcD"))
    cut = holding("aB").place(links("BcD"))
    assert [one.id for one in behind] == [one.id for one in ahead]
    assert [one.id for one in cut] == [one.id for one in ahead][1:]
    assert behind[2].id == f"u3-{ord('c'):016x}"


def test_a_history_is_read_from_a_sessions_ids_alone() -> None:
    known = holding("aBcD")
    again = History(["m1", "doc-7", *known.ids, "slice", "u0-0000000000000000"])
    assert (again.ids, again.links, again.last) == (known.ids, known.links, 4)
    newest = History(known.ids[2:])
    assert [one.state for one in newest.place(links("cDe"))] == ["known", "known", "new"]
    assert newest.place(links("cDe"))[2].id.startswith("u5-")


@settings(max_examples=75)
@given(
    st.text("abAB0", max_size=12),
    st.text("abAB", max_size=4),
    st.integers(0, 12),
)
def test_a_history_handed_over_again_doubles_nothing(known: str, more: str, cut: int) -> None:
    """Whatever is cut off its beginning and however it repeats itself, what was new once is known
    the next time, and more behind it changes nothing of that."""
    history = holding(known)
    handed = links((known + more)[min(cut, len(known)) :])
    placed = history.place(handed)
    new = [what for one, what in zip(placed, handed, strict=True) if one.state == "new"]
    assert history.append(new) == [one.id for one in placed if one.state == "new"]
    history.remember(handed, placed)
    again = history.place([*handed, *links("ab")])
    assert [one.id for one in again[:-2]] == [one.id for one in placed]
    assert "new" not in [one.state for one in again[:-2]]


def test_what_was_added_behind_a_history_is_known_when_it_comes_with_it() -> None:
    history = holding("yA")
    handed = links("yAy")
    history.append(links("y"))
    history.remember(handed, history.place(handed))
    history.append(links("A"))
    assert [one.state for one in history.place(links("yAyAy"))][-2:] == ["known", "new"]
    older = holding("aB")
    older.remember(links("a"), older.place(links("a")))
    assert [one.state for one in older.place(links("aBc"))] == ["known", "known", "new"]


@settings(max_examples=75)
@given(st.lists(st.integers(0, 10_000), unique=True, max_size=14), st.integers(0, 8))
def test_of_different_messages_none_is_lost_or_doubled(said: list[int], seen: int) -> None:
    """Every window of a growing history gives each message once."""
    every = [Link("ua"[at % 2], f"{one:016x}") for at, one in enumerate(said)]
    history = History()
    for end in range(len(every) + 1):
        handed = every[max(0, end - 1 - seen) : end]
        placed = history.place(handed)
        assert {one.state for one in placed} <= {"known", "new"}
        new = [what for one, what in zip(placed, handed, strict=True) if one.state == "new"]
        history.append(new)
    assert history.links == every


def test_what_an_item_says_is_its_text_its_call_and_its_outcome() -> None:
    def hashed(text: str = "x", **metadata: object) -> str:
        return link(ContextItem("i", ItemKind.TOOL_RESULT, text, metadata=metadata)).hash

    several = [
        hashed(),
        hashed("y"),
        hashed(call_id="c"),
        hashed(is_error=True),
        hashed(author="A"),
    ]
    assert len(set(several)) == len(several)
    assert hashed("x\n") == hashed(turn_id="t") == hashed()
    assert hashed("f({1})", arguments={"a": 1, "b": 2}) == hashed("?", arguments={"b": 2, "a": 1})


def test_the_documents_of_a_question_at_the_end_are_not_past() -> None:
    """A question with a file is asked again in other words, with another file."""

    def made(*parts: str) -> list[Link]:
        return [Link(part[0], f"{hash_of:016x}") for part in parts for hash_of in [ord(part[1])]]

    history = History()
    history.append(made("u1", "a1", "d1", "u2", "a2"))
    for asked in (("d2", "u3"), ("d2", "d3", "u3"), ("d2",)):
        placed = history.place(made("u1", "a1", *asked))
        assert [one.state for one in placed[2:]] == ["new"] * len(asked), asked
    placed = history.place(made("u1", "a1", "d2", "u2", "a2", "u4"))
    assert [one.state for one in placed] == ["known", "known", "edited", "known", "known", "new"]


def message(place: int, words: str, *documents: str) -> list[ContextItem]:
    turn = {"turn_id": f"m{place}"} if documents else {}
    kinds = [ItemKind.DOC_SNIPPET] * len(documents) + [ItemKind.USER_TURN]
    texts = (*documents, words)
    return [
        ContextItem(f"m{place}.{at}", kind, text, metadata=turn)
        for at, (kind, text) in enumerate(zip(kinds, texts, strict=True))
    ]


def test_a_users_message_is_known_by_its_words_and_all_of_its_documents() -> None:
    several = [
        message(0, "x"),
        message(0, "y", "1"),
        message(0, "x", "1"),
        message(0, "x", "2"),
        message(0, "x", "1", "2"),
        message(0, "x", "2", "1"),
    ]
    hashes = [one.hash for items in several for one in links_of(items)]
    assert len(set(hashes)) == len(hashes)
    both = [*message(0, "x", "1"), *message(1, "x", "1"), *message(2, "x")]
    apart = [links_of(items) for items in (both[:2], both[2:4], both[4:])]
    assert links_of(both) == [*apart[0], *apart[1], *apart[2]]
    assert apart[0] == apart[1]
    assert apart[2] == [link(both[4])]
    agents = ContextItem("m", ItemKind.DOC_SNIPPET, "1")
    assert links_of([agents, *message(1, "x")]) == [link(agents), apart[2][0]]
