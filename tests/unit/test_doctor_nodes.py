"""What `weft doctor` says of a cluster's nodes, from the answer of nats-server 2.15.1."""

from typing import Any

import pytest

from weft.audit.doctor.log import nodes

SECOND = 1_000_000_000


def info(*replicas: dict[str, Any]) -> dict[str, Any]:
    return {"cluster": {"name": "weft", "leader": "node1", "replicas": list(replicas)}}


def node(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "current": True, "active": SECOND // 2, "peer": "aVQul9Yd", **more}


def test_of_a_single_server_nothing_is_said() -> None:
    assert list(nodes({})) == []
    assert list(nodes({"cluster": {"leader": "node1"}})) == []


@pytest.mark.parametrize(
    ("replicas", "state", "found"),
    [
        ([node("a"), node("b")], "ok", "3 of 3 nodes that hold the log answer"),
        (
            [node("a", active=9 * SECOND), node("b")],
            "note",
            "2 of 3 nodes that hold the log answer, not a",
        ),
        (
            [node("b", offline=True, active=0), node("a", active=9 * SECOND)],
            "fault",
            "1 of 3 nodes that hold the log answer, not a, b",
        ),
    ],
)
def test_nodes_that_are_away_are_named(
    replicas: list[dict[str, Any]], state: str, found: str
) -> None:
    (check,) = nodes(info(*replicas))
    assert (check.state, check.found) == (state, found)
    assert bool(check.do) is (state != "ok")


def test_a_log_without_a_leader_is_at_fault() -> None:
    """A node that is left alone lists itself as well."""
    gone = [node("b", current=False, active=0), node("c", current=False, offline=True, active=0)]
    (check,) = nodes({"cluster": {"name": "weft", "replicas": [node("a"), *gone]}})
    assert check.state == "fault"
    assert check.found == "the log has no leader: 1 of 3 nodes that hold it answer, not b, c"
    (check,) = nodes({"cluster": {"name": "weft", "replicas": [node("a"), node("b"), node("c")]}})
    assert (check.state, check.found) == ("fault", "the log has no leader: its nodes elect one")
