"""Comparing what is wanted with what is there, without a server."""

from typing import Any

import pytest

from weft.log.topology import SECOND, LogLimits, Topology, desired, diff


def changed(**fields: Any) -> Topology:
    """What this release desires, but for some fields of the log's stream."""
    wanted = desired()
    log = {**wanted.streams["weft"], **fields}
    return Topology({**wanted.streams, "weft": log}, wanted.consumers)


def actions(wanted: Topology, actual: Topology) -> list[tuple[str, str]]:
    return [(change.action, change.field) for change in diff(wanted, actual)]


def test_nothing_differs_from_itself() -> None:
    assert diff(desired(), desired()) == []


def test_everything_is_created_where_nothing_is() -> None:
    changes = diff(desired(), Topology({}, {}))
    assert {change.action for change in changes} == {"create"}
    assert [change.target for change in changes][:3] == [
        "stream weft",
        "stream weft_audit",
        "stream OBJ_weft_bodies",
    ]


def test_fields_that_the_server_adds_do_not_differ() -> None:
    metadata = {"_nats.level": "1", "weft.durability": "process"}
    assert diff(desired(), changed(metadata=metadata, consumer_limits={})) == []


@pytest.mark.parametrize(
    ("have", "want", "action"),
    [
        (-1, 1_000, "refuse"),
        (2_000, 1_000, "refuse"),
        (1_000, 2_000, "update"),
        (1_000, -1, "update"),
    ],
)
def test_only_a_looser_limit_is_applied(have: int, want: int, action: str) -> None:
    wanted = desired(limits=LogLimits(max_bytes=want))
    assert actions(wanted, changed(max_bytes=have)) == [(action, "max_bytes")]


@pytest.mark.parametrize(
    ("field", "value"),
    [("subjects", ["other.>"]), ("subject_transform", None), ("storage", "memory")],
)
def test_what_decides_how_events_are_stored_is_never_changed(field: str, value: Any) -> None:
    assert actions(desired(), changed(**{field: value})) == [("refuse", field)]


def test_replicas_may_grow_and_not_shrink() -> None:
    one, three = desired("process"), desired("cluster")
    assert ("update", "num_replicas") in actions(three, one)
    assert ("refuse", "num_replicas") in actions(one, three)


def test_an_older_server_is_not_asked_for_what_it_does_not_know() -> None:
    log = desired(server=(2, 11)).streams["weft"]
    assert not {"allow_atomic", "allow_batched"} & set(log)
    assert "allow_batched" not in desired(server=(2, 12)).streams["weft"]


def test_the_duplicate_window_is_never_longer_than_the_age_limit() -> None:
    assert desired(limits=LogLimits(max_age=30)).streams["weft"]["duplicate_window"] == 30 * SECOND


def test_a_refusal_says_what_differs() -> None:
    (change,) = diff(desired(limits=LogLimits(max_age=300)), desired())
    assert str(change) == "stream weft: max_age is 0, wanted 300000000000"
