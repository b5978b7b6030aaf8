"""Which sources count as dead letters, from the events about them."""

from weft.dead_letters.dead_letter import dead_letters_in
from weft.readmodel.model import records_of
from weft_schemas.events import Event, Origin, ParkedEvent, RevivedEvent


def parked(source: int, worker: str = "firewall") -> ParkedEvent:
    return ParkedEvent(
        Origin(sequence=source, item_id=f"i{source}", worker=worker), "failed", "e", 5
    )


def revived(source: int, worker: str = "firewall", drop: bool = False) -> RevivedEvent:
    return RevivedEvent(Origin(sequence=source, worker=worker), drop)


def found(*events: Event):
    return dead_letters_in(records_of(events, "t", "s", first_sequence=100))


def test_a_parked_source_waits_under_its_worker():
    [one, other] = found(parked(7), parked(7, "memory"))
    assert [one.worker, other.worker] == ["firewall", "memory"]
    assert one.open
    assert (one.sequence, one.session, one.item_id, one.parked) == (7, "s", "i7", 100)


def test_a_replayed_source_waits_no_more_and_again_once_it_is_parked_again():
    [replayed] = found(parked(7), revived(7))
    assert not replayed.open
    assert not replayed.dropped
    [again] = found(parked(7), revived(7), parked(7))
    assert again.open
    assert again.times == 2


def test_a_dropped_source_says_so():
    [dropped] = found(parked(7), revived(7, drop=True))
    assert (dropped.open, dropped.dropped) == (False, True)


def test_a_revival_without_a_worker_is_for_all_of_them():
    assert not any(one.open for one in found(parked(7), parked(7, "memory"), revived(7, "")))


def test_a_revival_of_another_source_changes_nothing():
    [one] = found(parked(7), revived(8))
    assert one.open


def test_the_same_source_number_of_another_session_is_another_letter():
    here = records_of([parked(7)], "t", "s", 100)
    there = records_of([revived(7)], "t", "other", 101)
    [one] = dead_letters_in([*here, *there])
    assert one.open
