"""Reading from the last closing on gives the stretch that reading the whole session gives."""

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.summarizer.covered_stretches import NOTHING, CoveredStretches
from weft.summarizer.stretch import Stretch, stretch_of
from weft_schemas.events import Event, Origin, SessionClosedEvent, SummaryEvent
from weft_schemas.items import ContextItem, ItemKind, Sensitivity

PLACE = ("t", "s")
Log = list[tuple[int, Event]]

ids = st.sampled_from("abcdef")
words = st.sampled_from(["one", "two"])
events = st.one_of(
    st.builds(lambda id, text: ContextItem(id, ItemKind.USER_TURN, text), ids, words),
    st.builds(lambda at: SessionClosedEvent(at), st.sampled_from([0, 0, 0, 1, 3, 6, 99])),
    st.builds(lambda at: SummaryEvent(Origin(at), "short", 1, "x"), st.integers(1, 20)),
)


def numbered(made: list[Event]) -> Log:
    """Without summaries of what comes later: nobody derives those."""
    return [
        (sequence, event)
        for sequence, event in enumerate(made, start=1)
        if not isinstance(event, SummaryEvent) or event.origin.sequence < sequence
    ]


logs = st.lists(events, max_size=25).map(numbered)


def closings(log: Log) -> list[int]:
    return [sequence for sequence, event in log if isinstance(event, SessionClosedEvent)]


def whole(log: Log, closing: int) -> Stretch | None:
    return stretch_of("s", log, closing, Sensitivity.RESTRICTED)


def remembered(memory: CoveredStretches, log: Log, closing: int) -> tuple[Stretch | None, int]:
    """As the worker does it, and how many events it read."""
    before = memory.before(PLACE, closing)
    read = [pair for pair in log if pair[0] > before.last]
    count = len(read)
    if before.reaches_into(read, closing):
        before, read = NOTHING, log
    stretch = stretch_of("s", read, closing, Sensitivity.RESTRICTED, before=before)
    memory.keep(PLACE, before, read, closing)
    return stretch, count


@settings(max_examples=150)
@given(logs, st.sampled_from([5, 100]), st.data())
def test_what_is_remembered_changes_no_stretch(log: Log, most: int, data: st.DataObject) -> None:
    memory = CoveredStretches(most)
    order = data.draw(st.permutations(closings(log)))
    for closing in (*closings(log), *order):
        assert remembered(memory, log, closing)[0] == whole(log, closing)


def test_a_later_closing_reads_from_the_one_before() -> None:
    memory, log, read = CoveredStretches(), cast(Log, []), 0
    for n in range(100):
        item = ContextItem(f"u{n}", ItemKind.USER_TURN, "hello")
        log += [(2 * n + 1, item), (2 * n + 2, SessionClosedEvent())]
        read += remembered(memory, log, 2 * n + 2)[1]
    assert read == 200


def test_the_sessions_longest_unused_are_forgotten() -> None:
    memory = CoveredStretches(most=5)
    log: Log = [(1, ContextItem("u", ItemKind.USER_TURN, "hello")), (2, SessionClosedEvent())]
    for name in ("a", "b", "c"):
        memory.keep(("t", name), NOTHING, log, 2)
    known = [memory.before(("t", name), 3) is not NOTHING for name in ("a", "b", "c")]
    assert known == [False, True, True]
