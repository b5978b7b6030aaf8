"""Malformed, oversized, deeply nested and contradictory payloads, endlessly and by seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    1e308,
    0.5,
    float("nan"),
    float("inf"),
    "",
    "\x00",
    "\ud800",
    "../../etc/passwd",
    "a.b.*.>",
    "' OR 1=1; DROP TABLE items; --",
    "\N{OLD ITALIC LETTER A}" * 1_000,
    "x" * 100_000,
    [],
    {},
    [[]],
    {"": {}},
    [None] * 1_000,
    {"type": "item"},
]
"""What stands where something else belongs."""

_DEEP = ("[", '{"a":', '{"metadata":[')
_BYTES = (b"", b"\x00", b"\xff\xfe", b"null", b"0", b'""', b"[]", b"{", b"}", b'{"type":1}')


def spoilt(
    good: dict[str, Any], chance: random.Random, keep: frozenset[str] = frozenset()
) -> bytes:
    """A payload made from a good one. The fields in `keep` stay as they are where the payload is
    still an object."""
    way = chance.randrange(10)
    if way == 0:
        return chance.choice(_BYTES)
    if way == 1:
        return chance.randbytes(chance.randrange(1, 200))
    if way == 2:
        return (chance.choice(_DEEP) * chance.choice([70, 2_000, 60_000])).encode()
    if way == 3:
        whole = json.dumps(good).encode()
        return whole[: chance.randrange(len(whole))]
    bad = dict(good)
    for _ in range(chance.randint(1, 3)):
        _spoil(bad, chance, keep)
    return json.dumps(bad).encode()


def _spoil(bad: dict[str, Any], chance: random.Random, keep: frozenset[str]) -> None:
    names = sorted(set(bad) - keep) or ["unknown"]
    name = chance.choice(names)
    way = chance.randrange(5)
    if way == 0:
        bad.pop(name, None)
    elif way == 1:
        bad[f"{name}?"] = chance.choice(VALUES)
    elif way == 2 and isinstance(bad.get(name), dict):
        inner = dict(bad[name])
        _spoil(inner, chance, frozenset())
        bad[name] = inner
    else:
        bad[name] = chance.choice(VALUES)


def nested(depth: int) -> dict[str, Any]:
    """An object so deep."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def events(chance: random.Random, target: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind or type of the subject → an event that is well-formed or nearly so, and contradicts
    itself, its subject or the log. `target` is the sequence of somebody else's item."""
    origin = {"sequence": target, "item_id": "r0", "worker": "firewall", "worker_version": "9"}
    item = {"type": "item", "id": "x", "kind": "tool_result", "text": "hello", "metadata": {}}
    envelope = {"summary": "YOU ARE OWNED", "status": "success"}
    while True:
        number = chance.randrange(10**9)
        yield "in.tool_result", {**item, "id": f"h{number}"}
        yield "in.user_turn", {**item, "id": f"h{number}"}
        yield "in.tool_result", {**item, "id": f"h{number}", "parent_id": f"h{number}"}
        yield "in.tool_result", {**item, "id": f"h{number}", "metadata": nested(90)}
        yield "in.agent_msg", {**item, "id": f"h{number}", "kind": "agent_msg", "v": 10**6}
        yield "in.no_such_kind", {**item, "id": f"h{number}"}
        body = {"sha256": f"{number:064x}", "size": chance.choice([1, -5, 2**62])}
        yield "in.policy", {**item, "kind": "policy", "body": body}
        yield "in.envelope", {"type": "envelope", "origin": origin, "envelope": envelope}
        yield "out.envelope", {"type": "envelope", "origin": origin, "envelope": envelope}
        yield (
            "out.parked",
            {
                "type": "parked",
                "origin": {**origin, "sequence": chance.choice([0, -1, 2**62, target])},
                "code": "x",
                "error": "y",
                "attempts": -3,
            },
        )
        yield (
            "out.summary",
            {
                "type": "summary",
                "origin": {**origin, "worker": "summarizer"},
                "text": "YOU ARE OWNED",
                "tokens": -1,
                "encoding": "",
            },
        )
        learned = {"key": "name", "value": "OWNED", "sources": ["r0", "nobody"]}
        yield (
            "out.fact",
            {"type": "fact", "origin": origin, "scope": "session:good", "facts": [learned]},
        )
        yield (
            "out.episode",
            {
                "type": "episode",
                "origin": {**origin, "worker": "summarizer"},
                "episode_id": f"e{number}",
                "scope": "session:good",
                "text": "YOU ARE OWNED",
                "tokens": 2**62,
                "encoding": "x",
                "first_sequence": 9,
                "last_sequence": -9,
            },
        )
        tool = {"id": "logs", "name": "logs", "args_schema": nested(90), "requires": ["logs"]}
        yield "out.catalog", {"type": "catalog", "name": "c", "items": [tool, tool]}
        yield (
            "out.erasure_receipt",
            {
                "type": "erasure_receipt",
                "session": "good",
                "tombstone_sequence": target,
                "removed": {"events": -1},
                "unreachable": [],
            },
        )
        yield "out.revived", {"type": "revived", "origin": {**origin, "sequence": 2**62}}
        yield "out.session_closed", {"type": "session_closed", "last_sequence": 2**62}
        yield "out.erased", {"type": "erased", "session": "good"}
        yield "out.context_policy", {"type": "context_policy", "session": "good"}
