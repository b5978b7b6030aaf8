"""How large anything in a request or a policy may be: a number without a range costs somebody else
memory or time. Fields that the tables do not name have the default of their type, so none is
without a limit."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from weft_schemas.errors import InvalidInput

SEQUENCE = (0, 2**63 - 1)
"""Sequences of the log, and numbers that the read model can store."""
TOKENS = (0, 2_000_000)
"""Twice the largest window of a current model."""
WAIT_SECONDS = (0.0, 60.0)
NUMBER = (0, 100_000)
MAX_CHARACTERS = 32_000
"""Longest text, in characters. A longer query is not a query any more."""
MAX_NAME = 1_000
"""Longest name, id, handle or pattern, in characters."""
MAX_GLOB = 200
"""Longest glob over names, in characters."""
MAX_ELEMENTS = 10_000
MAX_RULES = 200
"""Most rules with globs in a policy. Before anything else is done, those of a request are compared
with each other and with those in force."""

Range = tuple[float, float]
Kept = TypeVar("Kept", bound=msgspec.Struct)

_NUMBERS: dict[str, Range] = {
    "v": (1, SEQUENCE[1]),
    "catalog_version": SEQUENCE,
    "after": SEQUENCE, "as_of": SEQUENCE, "first": SEQUENCE, "last": SEQUENCE,
    "timeout": WAIT_SECONDS,
    "budget": TOKENS, "reserve": TOKENS, "max_tokens": TOKENS,
    "route": TOKENS, "call": TOKENS, "interpret": TOKENS, "answer": TOKENS,
    "threshold": TOKENS, "item_threshold": TOKENS,
    "summary_tokens": NUMBER, "item_tokens": NUMBER, "session_tokens": NUMBER,
    "fact_tokens": NUMBER, "episode_tokens": NUMBER,
    "max_facts": (0, 10_000),
    "recent": (0, 10_000), "matches": (0, 10_000), "neighbours": (0, 100),
    "duplicate_threshold": (0.0, 1.0), "header_share": (0.0, 1.0),
    "top_k": (0, 1_000), "limit": (1, 1_000),
    "weights": (0.0, 1_000.0), "limits": NUMBER,
    "args": (-(2**53), 2**53),
}  # fmt: skip
"""Field → least and greatest value; for a field with several values, of each."""
_GLOBS = ("ToolRule.tool", "SignalRule.signal", "MemoryRules.results")
_TEXTS = {"query": MAX_CHARACTERS, **dict.fromkeys(_GLOBS, MAX_GLOB)}
"""Field, with its Struct if others have one of the same name → most characters; `MAX_NAME` if it
is not listed."""
_LISTS = dict.fromkeys(
    ("FirewallRules.tools", "FirewallRules.actions", "MemoryRules.results"), MAX_RULES
)
"""Field → most elements; `MAX_ELEMENTS` if it is not listed."""
_FREE = frozenset({"tools", "cards", "hydration", "args_schema"})
"""Fields with the caller's own content, which costs as much as its bytes."""


def check_ranges(value: msgspec.Struct, what: str, path: str = "$") -> None:
    """Raises `InvalidInput` that names the first field outside its range."""
    for field in value.__struct_fields__:
        if not (field in _FREE and not _holds_rules(value, field)):
            whole = f"{type(value).__name__}.{field}"
            name = whole if whole in _TEXTS or whole in _LISTS else field
            _check(getattr(value, field), name, what, f"{path}.{field}")


def _holds_rules(value: msgspec.Struct, field: str) -> bool:
    """`tools` of a policy are weft's rules, those of a request are the caller's own."""
    held = getattr(value, field)
    return isinstance(held, tuple) and bool(held) and isinstance(held[0], msgspec.Struct)


def _check(value: Any, field: str, what: str, path: str) -> None:
    if isinstance(value, msgspec.Struct):
        check_ranges(value, what, path)
    elif isinstance(value, str):
        most = _TEXTS.get(field, MAX_NAME)
        if len(value) > most:
            raise InvalidInput(f"{what}: {path} has {len(value)} characters; give at most {most}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        least, greatest = _NUMBERS.get(field, NUMBER)
        if not least <= value <= greatest:
            bounds = f"{_shown(least)} to {_shown(greatest)}"
            raise InvalidInput(f"{what}: {path} is {value}; give {bounds}")
    elif isinstance(value, (tuple, list, dict)):
        most = _LISTS.get(field, MAX_ELEMENTS)
        if len(value) > most:
            raise InvalidInput(f"{what}: {path} has {len(value)} elements; give at most {most}")
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, str):
                _check(str(key), "", what, f"{path} (a key)")
            _check(one, field, what, f"{path}[…]")


def clamped(value: Kept) -> Kept:
    """The same with every number within its range: a policy that an older release accepted stays
    valid, as far as this release allows."""
    return _clamped(value, "")  # type: ignore[no-any-return]


def _clamped(value: Any, field: str) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        within = {name: _clamped(held, name) for name, held in fields.items()}
        changed = {name: held for name, held in within.items() if held is not fields[name]}
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        made = tuple(_clamped(one, field) for one in value)
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value
    if isinstance(value, dict):
        known = {key: _clamped(one, field) for key, one in value.items()}
        return known if any(known[key] is not one for key, one in value.items()) else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least, greatest = _NUMBERS.get(field, NUMBER)
        if not least <= value <= greatest:
            return type(value)(least if not value >= least else greatest)
    return value


def _shown(number: float) -> str:
    return f"{number:g}" if abs(number) < 1_000_000 else f"{int(number)}"
