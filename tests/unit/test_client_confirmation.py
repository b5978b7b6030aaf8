"""Which published items are new, known or in conflict, from places and collisions."""

import msgspec

from weft.client.confirmation import confirmation, questions_about, settlement
from weft.client.outgoing import PublishAck
from weft_schemas.status import Collision, StatusReply


def ack(*ids: str, first: int = 10, last: int = 20) -> PublishAck:
    return PublishAck("s", last, first, len(ids), None, ids)


def reply(places: dict[str, int], *collisions: Collision) -> StatusReply:
    return StatusReply("t", "s", 20, "cl100k_base", places=places, collisions=collisions)


def collided(item_id: str, sequence: int, conflict: bool) -> Collision:
    return Collision("s", item_id, sequence, 3, conflict)


def test_what_stands_at_or_after_the_first_is_new() -> None:
    confirmed = confirmation(ack("a", "b"), [reply({"a": 10, "b": 11})])
    assert (confirmed.stored, confirmed.duplicates, confirmed.conflicts) == (2, (), ())


def test_what_stood_before_is_a_duplicate_even_where_the_server_told_nothing() -> None:
    confirmed = confirmation(ack("a", "b"), [reply({"a": 3, "b": 10})])
    assert (confirmed.stored, confirmed.duplicates) == (1, ("a",))


def test_other_content_is_a_conflict_and_no_duplicate() -> None:
    conflict = collided("a", 12, conflict=True)
    confirmed = confirmation(ack("a"), [reply({"a": 3}, conflict)])
    assert confirmed == type(confirmed)(0, (), (conflict,))


def test_the_same_content_after_the_servers_window_is_a_duplicate() -> None:
    confirmed = confirmation(ack("a"), [reply({"a": 3}, collided("a", 12, conflict=False))])
    assert (confirmed.stored, confirmed.duplicates, confirmed.conflicts) == (0, ("a",), ())


def test_others_collisions_are_not_ours() -> None:
    confirmed = confirmation(ack("a"), [reply({"a": 10}, collided("z", 12, conflict=True))])
    assert confirmed.conflicts == ()


def test_content_that_lost_before_is_a_conflict_again_although_the_server_recognises_it() -> None:
    conflict = collided("a", 12, conflict=True)
    again = PublishAck("s", 12, 13, 2, 2, ("a", "b"), ("digest a", "digest b"))
    answer = msgspec.structs.replace(reply({"a": 3, "b": 4}), others=(conflict,))
    confirmed = confirmation(again, [answer])
    assert (confirmed.stored, confirmed.duplicates, confirmed.conflicts) == (0, ("b",), (conflict,))


def test_each_content_of_an_id_is_asked_about_once_a_thousand_to_a_request() -> None:
    ids = tuple(f"i{number}" for number in range(1_200))
    twice = PublishAck("s", 20, 10, 2_401, None, (*ids, *ids, "i0"), (*ids, *ids, "other"))
    asked = questions_about(twice)
    assert [len(one.contents or ()) for one in asked] == [1_000, 201]
    assert (asked[1].contents or ())[-1] == ("i0", "other")
    assert [len(one.ids) for one in questions_about(ack(*ids, "i0"))] == [1_000, 200]


def test_pages_of_replies_are_one_answer() -> None:
    conflict = collided("b", 12, conflict=True)
    confirmed = confirmation(
        ack("a", "b", "a"), [reply({"a": 10}, conflict), reply({"b": 3}, conflict)]
    )
    assert (confirmed.stored, confirmed.duplicates, confirmed.conflicts) == (1, (), (conflict,))


def test_without_an_acknowledgement_what_the_log_does_not_hold_is_missing() -> None:
    conflict = collided("b", 12, conflict=True)
    pages = [reply({"a": 10}, conflict), reply({"b": 3}, conflict)]
    confirmed = settlement(["a", "b", "c", "a"], pages)
    assert (confirmed.stored, confirmed.conflicts, confirmed.missing) == (2, (conflict,), ("c",))
