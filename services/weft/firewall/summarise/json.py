"""JSON to shorter JSON: what a next step needs first, in its own place beside its own key, and what
is left out named with the path under which it can be asked for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.firewall.leaves import FEW, Leaf, Path, Step, written
from weft.firewall.summarise.budget import Budget

MORE = "…"
"""The key, or the start of the string, that stands where something was left out."""
_TEXT = 90
"""Characters of a string that are shown."""
_TOKENS_OF_A_LEAF = 10
"""About what a value costs with its key."""
_NAMES = 12
"""Names of left-out keys that are listed."""
_NAMES_ROOM = 240
"""Characters of them: long ones must not take what values need."""
_SHARED = 24
"""Characters of such a value."""
_ALIKE = 3
"""Objects from which an array is told as records: what they share once, at its head."""


def summarise_json(
    root: object, found: list[Leaf], budget: Budget, keep: Sequence[Path] = ()
) -> str:
    """Valid JSON of at most `budget.limit` tokens, empty where not even `{}` fits.

    `found` are the leaves of `root`; those under `keep` come before all others and stay exact.
    """
    ranked = _ranked(found, keep)
    # Nothing that holds more leaves than tokens can fit.
    low, high, best = 0, min(len(ranked), budget.limit), ""
    guess = budget.limit // _TOKENS_OF_A_LEAF
    heads: dict[Path, str] = {}
    while low <= high:
        middle = min(max(guess, low), high)
        text = _rendered(root, ranked[:middle], keep, _TEXT, heads)
        cost = budget.count(text)
        if cost <= budget.limit:
            best, low = text, middle + 1
        else:
            high = middle - 1
        # The cost grows about evenly with the leaves; halves keep a wrong guess from going far.
        even = middle * budget.limit // max(1, cost)
        guess = even if low < even < high else (low + high) // 2
    if best and high == len(ranked):
        best = _with_longer_text(root, ranked, keep, budget) or best
    return best or _smallest(root, budget)


def _with_longer_text(
    root: object, ranked: list[Leaf], keep: Sequence[Path], budget: Budget
) -> str:
    """Every value is there: as much of the long strings as fits."""
    for cap in (32 * _TEXT, 16 * _TEXT, 8 * _TEXT, 4 * _TEXT, 2 * _TEXT):
        text = _rendered(root, ranked, keep, cap, {})
        if budget.fits(text):
            return text
    return ""


def _ranked(found: list[Leaf], keep: Sequence[Path]) -> list[Leaf]:
    """Kept leaves, then the others by worth; what all records of an array share, and a value that
    has already stood, come later."""
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
    for value in ({MORE: what}, {}):
        text = _encoded(value)
        if budget.fits(text):
            return text
    return ""


class _Node(msgspec.Struct):
    """Where the chosen leaves lie."""

    children: dict[Step, _Node] = {}


class _Shape(msgspec.Struct, frozen=True):
    """What stays the same while a value is built."""

    keep: Sequence[Path]
    cap: int
    """Characters of a string that are shown."""
    heads: dict[Path, str]
    """What has been said at the head of an array; the same in every rendering."""


def _rendered(
    root: object, chosen: list[Leaf], keep: Sequence[Path], cap: int, heads: dict[Path, str]
) -> str:
    tree = _Node({})
    for leaf in chosen:
        node = tree
        for step in leaf.path:
            node = node.children.setdefault(step, _Node({}))
    return _encoded(_build(root, tree, (), _Shape(keep, cap, heads)))


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _build(value: object, node: _Node, path: Path, shape: _Shape, told: bool = False) -> object:
    if isinstance(value, dict):
        return _object(value, node, path, shape, told)
    if isinstance(value, list):
        return _array(value, node, path, shape, told)
    return _scalar(value, path, shape)


def _scalar(value: object, path: Path, shape: _Shape) -> object:
    if not isinstance(value, str) or len(value) <= shape.cap + 20:
        return value
    if any(matches(path, pattern) for pattern in shape.keep):
        return value
    return f"{value[: shape.cap]}{MORE}+{len(value) - shape.cap} chars"


def _object(
    value: dict[str, object], node: _Node, path: Path, shape: _Shape, told: bool
) -> dict[str, object]:
    """`told`: an array above has said what its records leave out."""
    built: dict[str, object] = {}
    missing: list[str] = []
    for key, held in value.items():
        child = node.children.get(key)
        if child is not None:
            built[_plain(key)] = _build(held, child, (*path, key), shape, told)
        elif held or held == 0:
            missing.append(key)
    if missing and not told:
        built[MORE] = _list_names(missing)
    return built


def _plain(key: str) -> str:
    return key if len(key) <= _TEXT else f"{key[:_TEXT]}{MORE}"


def _list_names(names: list[str]) -> str:
    shown: list[str] = []
    room = _NAMES_ROOM
    for name in names[:_NAMES]:
        room -= len(_plain(name))
        if room < 0 and shown:
            break
        shown.append(_plain(name))
    rest = len(names) - len(shown)
    told = ",".join(shown)
    return f"{told} +{rest}" if rest > 0 else told


def _array(value: list[object], node: _Node, path: Path, shape: _Shape, told: bool) -> list[object]:
    chosen = sorted(step for step in node.children if isinstance(step, int))
    shown: list[object] = []
    records = _records(value)
    if len(records) >= _ALIKE and not told:
        if path not in shape.heads:
            shape.heads[path] = _head(value, records)
        shown.append(shape.heads[path])
        told = True
    shown += [_build(value[i], node.children[i], (*path, i), shape, told) for i in chosen]
    if len(chosen) < len(value) and value:
        shown.append(_rest(path, chosen, len(value)))
    return shown


def _records(value: list[object]) -> list[dict[str, object]]:
    """The objects of an array, or of the arrays in it."""
    flat: list[dict[str, object]] = []
    for held in value[:200]:
        if isinstance(held, dict):
            flat.append(held)
        elif isinstance(held, list):
            flat += [inner for inner in held[:50] if isinstance(inner, dict)]
    return flat


def _head(value: list[object], records: list[dict[str, object]]) -> str:
    """One line about an array of objects: how many, and which keys they have."""
    keys = dict.fromkeys(key for record in records[:50] for key in record)
    names = [_with_values(key, records) for key in keys]
    return f"{MORE}{len(value)} x {{{_list_names(names)}}}"


def _with_values(key: str, records: list[dict[str, object]]) -> str:
    """A key, with its values where all records share a few short ones."""
    values: dict[str, None] = {}
    for record in records:
        held = record.get(key)
        if not isinstance(held, str | int) or isinstance(held, bool) or len(str(held)) > _SHARED:
            return key
        values[str(held)] = None
        if len(values) > FEW:
            return key
    return f"{key}={'|'.join(values)}" if len(values) * 2 < len(records) else key


def _rest(path: Path, chosen: list[int], size: int) -> str:
    """Which elements are missing, and under which path they are."""
    first = next((i for i, index in enumerate(chosen) if index != i), len(chosen))
    return f"{MORE}{size - len(chosen)} more at {written(path)}[{first}:{size}]"
