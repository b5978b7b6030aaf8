"""Reads a catalogue from a file, in whatever format its tools are, and checks it as a whole. All
errors are reported at once."""

from __future__ import annotations

from typing import Any

from weft.json_or_yaml import parsed
from weft.router.formats import item_from
from weft.router.item_faults import faults_of, raise_faults
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import Catalog, SelectableItem

MAX_ITEMS = 200_000


def catalogue_from(name: str, content: bytes, source: str = "catalogue") -> Catalog:
    """The catalogue in a JSON or YAML file: a list of tools, or an object with them under `tools`,
    `items` or `result.tools`.

    Raises `InvalidInput` with every fault found, named by `source`, tool and field.
    """
    entries = _entries(parsed(content, source), source)
    if len(entries) > MAX_ITEMS:
        raise InvalidInput(f"{source}: {len(entries)} tools, the most is {MAX_ITEMS}; split it")
    items, faults = list[SelectableItem](), list[str]()
    for place, entry in enumerate(entries, start=1):
        try:
            items.append(item_from(entry, place))
        except InvalidInput as error:
            faults.append(str(error))
    raise_faults(source, [*faults, *faults_of(items)])
    return Catalog(name, tuple(items))


def _entries(content: Any, source: str) -> list[Any]:
    if isinstance(content, dict):
        inner = content.get("result", content)
        content = inner.get("tools", inner.get("items")) if isinstance(inner, dict) else None
    if not isinstance(content, list):
        raise InvalidInput(f"{source}: holds no list of tools; give one, or one under `tools`")
    return content
