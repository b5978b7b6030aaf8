"""Queries with their right tools: MetaTool, BFCL, files of our own, and a catalogue crowded with
near-copies."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft.router.catalogue import catalogue_from
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import SelectableItem


class RoutingCase(msgspec.Struct, frozen=True):
    query: str
    gold: tuple[str, ...]
    """Ids; at least one of them must be shown."""


class RoutingSet(msgspec.Struct, frozen=True):
    name: str
    items: tuple[SelectableItem, ...]
    cases: tuple[RoutingCase, ...]


def read_routing_sets(paths: Sequence[Path]) -> list[RoutingSet]:
    """A MetaTool folder (`queries.json` and `plugin_des.json`), BFCL files (all pooled into one
    catalogue), or files of the form `{"tools": […], "cases": [{"query", "gold"}]}`.

    Raises `InvalidInput` naming the file.
    """
    sets, functions = list[RoutingSet](), list[Path]()
    for path in paths:
        if path.is_dir():
            sets.append(metatool(path))
        elif path.name.startswith("BFCL"):
            functions.append(path)
        else:
            sets.append(_own(path))
    return [*sets, bfcl(functions)] if functions else sets


def metatool(folder: Path) -> RoutingSet:
    """MetaTool's single-tool queries over its merged descriptions."""
    described = _json(folder / "plugin_des.json")
    queries = _json(folder / "queries.json")
    items = tuple(SelectableItem(name, name, text) for name, text in sorted(described.items()))
    cases = tuple(RoutingCase(one["Query"], (one["Tool"],)) for one in queries)
    return RoutingSet("MetaTool", items, cases)


def bfcl(files: Iterable[Path]) -> RoutingSet:
    """Every function of the files in one catalogue. The right ones for a query are those that its
    answer file (`gold_…` next to it) calls, otherwise those that it came with."""
    items: dict[str, SelectableItem] = {}
    cases = []
    for file in sorted(files):
        answers = _answers(file.with_name(f"gold_{file.name}"))
        for line in file.read_text().splitlines():
            row = msgspec.json.decode(line)
            functions = row["function"]
            for one in functions if isinstance(functions, list) else [functions]:
                items.setdefault(one["name"], _function(one))
            names = tuple(one["name"] for one in functions)
            gold = answers.get(row["id"], names)
            cases.append(RoutingCase(_last_turn(row["question"]), gold))
    return RoutingSet("BFCL pooled", tuple(items[name] for name in sorted(items)), tuple(cases))


QUALIFIERS = (
    "archived bulk daily draft eu external internal legacy mobile partner pending personal public"
    " recurring regional sandbox scheduled shared shadow staging team temporary us verified weekly"
)
"""The differences between near-copies."""


def near_copies(base: Sequence[SelectableItem], count: int, seed: int = 1) -> list[SelectableItem]:
    """The base catalogue and variants of its tools, `count` items together.

    Variants go round the base in order. Each has one to two qualifiers drawn with `seed`: the first
    goes before the name, all go after the description (`for eu, bulk use`); the rest stays.
    The right answer to a query is the base tool, which no qualifier narrows.
    """
    chance = random.Random(seed)
    items = list(base)
    for number in range(count - len(base)):
        origin = base[number % len(base)]
        drawn = chance.sample(QUALIFIERS.split(), chance.choice((1, 2)))
        items.append(
            msgspec.structs.replace(
                origin,
                id=f"{origin.id}.{'.'.join(drawn)}.{number}",
                name=f"{drawn[0]}_{origin.name}",
                description=f"{origin.description} for {', '.join(drawn)} use",
            )
        )
    return items


def _own(path: Path) -> RoutingSet:
    content = path.read_bytes()
    catalog = catalogue_from(path.stem, content, str(path))
    try:
        cases = msgspec.convert(msgspec.json.decode(content)["cases"], tuple[RoutingCase, ...])
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path}: cases: {error}; give a list of query and gold") from None
    return RoutingSet(path.stem, catalog.items, cases)


def _function(entry: dict[str, Any]) -> SelectableItem:
    return SelectableItem(
        entry["name"],
        entry["name"],
        entry.get("description", ""),
        args_schema=entry.get("parameters", {}),
    )


def _answers(file: Path) -> dict[str, tuple[str, ...]]:
    if not file.exists():
        return {}
    rows = [msgspec.json.decode(line) for line in file.read_text().splitlines()]
    return {row["id"]: tuple(name for call in row["ground_truth"] for name in call) for row in rows}


def _last_turn(question: Any) -> str:
    """What the user says: the last user message of the first turn."""
    turn = question[0] if isinstance(question[0], list) else question
    return str([message["content"] for message in turn if message["role"] == "user"][-1])


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path}: {error}") from None
