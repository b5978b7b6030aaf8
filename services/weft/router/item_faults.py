"""Faults of a catalogue's items, each with its tool and field. Items without faults cannot make
routing slow, endless or misleading."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.routing import Catalog, SelectableItem

MAX_DESCRIPTION = 64 * 1024
"""In characters: a model reads a few hundred, the router a few thousand."""
_MAX_NAME = 256
_MAX_ID = 128
"""In bytes, as providers allow for a tool's name: a card shows the whole id."""
_MAX_SCHEMA = 256 * 1024
"""Most bytes of one schema as JSON."""
_FAULTS_SHOWN = 20


def check_catalogue(catalog: Catalog) -> Catalog:
    """The catalogue itself if it has no faults, otherwise `InvalidInput`."""
    raise_faults(f"catalogue {catalog.name!r}", faults_of(catalog.items))
    return catalog


def raise_faults(source: str, faults: list[str]) -> None:
    """Raises `InvalidInput` with the first faults, named by their source, if there are any."""
    if not faults:
        return
    shown = [f"{source}: {fault}" for fault in faults[:_FAULTS_SHOWN]]
    if len(faults) > _FAULTS_SHOWN:
        shown.append(f"{source}: and {len(faults) - _FAULTS_SHOWN} more faults")
    raise InvalidInput("\n".join(shown))


def faults_of(items: Iterable[SelectableItem]) -> list[str]:
    """The faults of each item alone and of all together."""
    items = list(items)
    faults = [fault for item in items for fault in _item_faults(item)]
    repeated = [item_id for item_id, count in Counter(i.id for i in items).items() if count > 1]
    faults += [f"tool {item_id[:80]!r}: $.id is used more than once" for item_id in repeated]
    known = {item.id for item in items}
    for item in items:
        faults += [
            f"tool {item.id[:80]!r}: $.requires names {other[:80]!r}, which is not here"
            for other in item.requires
            if other not in known
        ]
    circle = _circle({item.id: item.requires for item in items})
    if circle:
        faults.append(f"tool {circle[0][:80]!r}: $.requires is circular: {_chain(circle)}")
    return faults


def _item_faults(item: SelectableItem) -> list[str]:
    faults = []
    size = len(item.id.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= _MAX_ID or not item.id.isprintable() or item.id != item.id.strip():
        faults.append(f"$.id has {size} bytes; give 1 to {_MAX_ID}, printable, no outer space")
    if not item.name.strip() or len(item.name) > _MAX_NAME:
        faults.append(f"$.name has {len(item.name)} characters; give 1 to {_MAX_NAME}")
    if len(item.description) > MAX_DESCRIPTION:
        faults.append(
            f"$.description has {len(item.description)} characters; give up to {MAX_DESCRIPTION}"
        )
    if not (math.isfinite(item.cost_hint) and item.cost_hint >= 0):
        faults.append(f"$.cost_hint is {item.cost_hint}; give 0 or more")
    faults += _schema_faults(item.args_schema)
    return [f"tool {item.id[:80]!r}: {fault}" for fault in faults]


def _schema_faults(schema: dict[str, Any]) -> list[str]:
    try:
        size = len(msgspec.json.encode(schema))
    except (RecursionError, msgspec.MsgspecError, TypeError, ValueError) as error:
        return [f"$.args_schema cannot be written as JSON: {error}"]
    if size > _MAX_SCHEMA:
        return [f"$.args_schema has {size} bytes; give up to {_MAX_SCHEMA}"]
    if not isinstance(schema.get("properties", {}), dict):
        return ["$.args_schema.properties is no object; map names to schemas"]
    return []


def _circle(requires: dict[str, tuple[str, ...]]) -> list[str]:
    """One cycle in the requirements, empty if there is none. Without recursion: a chain may be as
    long as the catalogue."""
    unmet = {name: sum(other in requires for other in others) for name, others in requires.items()}
    users: dict[str, list[str]] = {}
    for name, others in requires.items():
        for other in others:
            users.setdefault(other, []).append(name)
    ready = [name for name, count in unmet.items() if count == 0]
    while ready:
        name = ready.pop()
        del unmet[name]
        for user in users.get(name, ()):
            unmet[user] -= 1
            if unmet[user] == 0:
                ready.append(user)
    if not unmet:
        return []
    path = {min(unmet): 0}
    name = min(unmet)
    while (name := next(other for other in requires[name] if other in unmet)) not in path:
        path[name] = len(path)
    return list(path)[path[name] :]


def _chain(circle: list[str]) -> str:
    shown = [name[:80] for name in circle[:6]]
    return " → ".join([*shown, "…"] if len(circle) > 6 else [*shown, circle[0][:80]])
