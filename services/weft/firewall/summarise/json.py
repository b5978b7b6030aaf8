"""JSON to shorter JSON: what a next step needs first, arrays of objects column by column, and what
is left out named with the path under which it can be asked for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.firewall.leaves import Leaf, Path, Step, leaves, written
from weft.firewall.summarise.budget import Budget

MORE = "…"
"""The key, or the start of the string, that stands where something was left out."""
_TEXT = 90
"""Characters of a string that are shown."""
_NAMES = 12
"""Names of left-out keys that are listed."""


def summarise_json(root: object, budget: Budget, keep: Sequence[Path] = (), note: str = "") -> str:
    """Valid JSON of at most `budget.limit` tokens. Leaves under `keep` come before all others and
    stay exact; `note` stands under the key `…` at the top."""
    ranked = _ranked(leaves(root), keep)
    low, high, best = 0, len(ranked), ""
    # Nothing that holds more leaves than tokens can fit.
    high = min(high, budget.limit)
    while low <= high:
        middle = (low + high) // 2
        text = _rendered(root, ranked[:middle], keep, note)
        if budget.fits(text):
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best or _smallest(root, budget)


def _ranked(found: list[Leaf], keep: Sequence[Path]) -> list[Leaf]:
    kept = [leaf for leaf in found if any(matches(leaf.path, path) for path in keep)]
    chosen = {leaf.path for leaf in kept}
    rest = sorted((leaf for leaf in found if leaf.path not in chosen), key=lambda leaf: -leaf.worth)
    return kept + rest


def matches(path: Path, pattern: Path) -> bool:
    """Whether `path` lies at or under `pattern`, where `*` stands for any step."""
    return len(path) >= len(pattern) and all(
        want in ("*", step) for step, want in zip(path, pattern, strict=False)
    )


def _smallest(root: object, budget: Budget) -> str:
    """What can be said in next to no tokens."""
    size = len(root) if isinstance(root, dict | list) else 0
    what = f"{'object' if isinstance(root, dict) else 'array'} of {size}"
    for value in (
        {MORE: what},
        {},
    ):
        text = _encoded(value)
        if budget.fits(text):
            return text
    return ""


class _Node(msgspec.Struct):
    """Where the chosen leaves lie."""

    children: dict[Step, _Node] = {}


def _rendered(root: object, chosen: list[Leaf], keep: Sequence[Path], note: str) -> str:
    tree = _Node({})
    for leaf in chosen:
        node = tree
        for step in leaf.path:
            node = node.children.setdefault(step, _Node({}))
    built = _build(root, tree, (), keep)
    if note:
        built = {MORE: note, **built} if isinstance(built, dict) else {MORE: note, "value": built}
    return _encoded(built)


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _build(value: object, node: _Node, path: Path, keep: Sequence[Path]) -> object:
    if isinstance(value, dict):
        return _object(value, node, path, keep)
    if isinstance(value, list):
        return _array(value, node, path, keep)
    return _scalar(value, path, keep)


def _scalar(value: object, path: Path, keep: Sequence[Path]) -> object:
    if not isinstance(value, str) or len(value) <= _TEXT + 20:
        return value
    if any(matches(path, pattern) for pattern in keep):
        return value
    return f"{value[:_TEXT]}{MORE}+{len(value) - _TEXT} chars"


def _object(
    value: dict[str, object], node: _Node, path: Path, keep: Sequence[Path]
) -> dict[str, object]:
    built: dict[str, object] = {}
    missing: list[str] = []
    for key, held in value.items():
        child = node.children.get(key)
        if child is None and (held or held == 0):
            missing.append(key)
        elif child is not None:
            built[_plain(key)] = _build(held, child, (*path, key), keep)
    if missing:
        built[MORE] = _list_names(missing)
    return built


def _plain(key: str) -> str:
    return key if len(key) <= _TEXT else f"{key[:_TEXT]}{MORE}"


def _list_names(names: list[str]) -> str:
    shown = ",".join(_plain(name)[:40] for name in names[:_NAMES])
    rest = len(names) - _NAMES
    return f"{shown} +{rest}" if rest > 0 else shown


def _array(value: list[object], node: _Node, path: Path, keep: Sequence[Path]) -> object:
    chosen = sorted(step for step in node.children if isinstance(step, int))
    records = [value[index] for index in chosen]
    if len(value) >= 3 and records and all(isinstance(record, dict) for record in records):
        return _columns(value, node, chosen, path, keep)
    shown = [_build(value[index], node.children[index], (*path, index), keep) for index in chosen]
    if len(chosen) < len(value):
        shown.append(_rest(path, chosen, len(value)))
    return shown


def _rest(path: Path, chosen: list[int], size: int) -> str:
    """Which elements are missing, and under which path they are."""
    first = next((i for i, index in enumerate(chosen) if index != i), len(chosen))
    return f"{MORE}{size - len(chosen)} more at {written(path)}[{first}:{size}]"


def _columns(
    value: list[object], node: _Node, chosen: list[int], path: Path, keep: Sequence[Path]
) -> dict[str, object]:
    """Rows as columns: `{"rows": 20, "id": […], "…": …}`. A column's values stand in the order of
    the rows; one that is the same in every row is written once."""
    names: dict[str, list[int]] = {}
    for index in chosen:
        for key in node.children[index].children:
            names.setdefault(str(key), []).append(index)
    built: dict[str, object] = {f"rows[{len(value)}]": _which(chosen, len(value))}
    for name, indexes in names.items():
        built[_plain(name)] = _column(value, name, indexes, node, path, keep)
    seen = {key: None for row in value[:50] if isinstance(row, dict) for key in row}
    missing = [key for key in seen if key not in names]
    if missing:
        built[MORE] = _list_names(missing)
    return built


def _which(chosen: list[int], size: int) -> str:
    if len(chosen) == size:
        return "all"
    if chosen == list(range(len(chosen))):
        return f"0..{len(chosen) - 1}"
    return ",".join(map(str, chosen))


def _column(
    value: list[object],
    name: str,
    indexes: list[int],
    node: _Node,
    path: Path,
    keep: Sequence[Path],
) -> object:
    cells = [
        _build(row[name], node.children[index].children[name], (*path, index, name), keep)
        for index in indexes
        if isinstance(row := value[index], dict) and name in row
    ]
    first = cells[0]
    if len(cells) > 2 and all(cell == first for cell in cells) and _is_constant(value, name):
        return {"all": first}
    return cells


def _is_constant(value: list[object], name: str) -> bool:
    first = value[0].get(name) if isinstance(value[0], dict) else None
    return all(isinstance(row, dict) and row.get(name) == first for row in value)
