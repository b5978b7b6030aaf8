"""Hydration: the chosen tool's whole schema, and for each parameter the session's values that fit
it, best first, each with the item that states it.

A value fits by its form (type, format, options). It ranks by how well the words that name it match
the parameter, by its earlier uses, and by how recent it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec

from weft.readmodel.rows import ItemRow
from weft.router.stated_values import StatedValue, is_grouped, plain_number, values_of
from weft.router.words import words_of
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.routing import HydrationResult, SelectableItem, ValueCandidate

CANDIDATES = 8
"""Candidates per parameter."""
_MAX_PARAMETERS = 64
_DEEPEST = 3
"""Most levels of nested objects and lists whose leaves count as separate parameters."""

_GENERAL = frozenset(words_of("id name number code value type key text title list info data"))
"""Words that many parameters have in common: half a match, if the others differ."""
_GENERAL_WEIGHT = 0.4
_IDENTIFYING = frozenset(words_of("id number code"))
_IDENTIFIER = re.compile(r"[\d_]")
_CAPITALS = re.compile(r"[A-Z]+")
_CODE = frozenset(words_of("code"))
_SPEAKER = frozenset(words_of("user customer account"))
"""Words for oneself, before an id of one's own: `my ID is …`."""
_LONG = 5
"""Capitals alone can be an id from this length on, such as `XEHMNA`; a code may be shorter, such as
`USD`."""
_METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"]
)
"""Methods of HTTP, by RFC 9110 and RFC 5789: a sentence with an id is often about a request."""

# Evidence for a value, in units of a fully matching name. Measured on tau-bench (airline).
_FIELD, _SENTENCE = 1.0, 0.7
_STRANGE = 0.4
"""Factor for a value in a sentence that does not look like a value of the parameter's fields."""
_CARRIED_ON = 0.5
"""It was passed to another tool under the same name."""
_DONE = 1.0
"""It was passed to this tool, which takes nothing else: another call would give nothing new."""
_MENTIONED = {ItemKind.USER_TURN: 0.7, ItemKind.AGENT_MSG: 0.5}
"""The conversation mentions it."""
_ASKED = 0.4
"""The query contains it."""
_RECENT = 0.4
"""Bonus of the newest item."""
_FADING = 0.3
"""How fast recency decreases with each item in between."""
_LOOKED_BACK = 16
"""How many turns mentions count in."""
_MIN_SCORE = 0.15
"""A value with a lower score is not a candidate."""

_FORMATS = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT.+"),
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "uri": re.compile(r"\w+://\S+"),
}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?")
"""As JSON writes one: `060.09` is none."""
_KINDS = {
    "integer": re.compile(r"-?(?:0|[1-9]\d{0,17})"),
    "number": _NUMBER,
    "float": _NUMBER,
    "boolean": re.compile(r"true|false"),
}
_NUMERIC = frozenset(["integer", "number", "float"])


class Parameter(msgspec.Struct, frozen=True):
    """A leaf of a tool's schema."""

    name: str
    """`flights[].date` for a leaf within a list of objects."""
    words: tuple[str, ...]
    """Words of its own name; also of its parents' names, if its own is general."""
    kind: str
    form: re.Pattern[str] | None
    options: tuple[str, ...]
    identifies: bool
    """Whether it is called an id, a number or a code."""


def hydrate(
    tool: SelectableItem,
    rows: Iterable[ItemRow],
    query: str,
    sequence: int,
    floor: Sensitivity = Sensitivity.CONFIDENTIAL,
) -> HydrationResult:
    """Values of `rows` (one session's, as read at `sequence`) that fit the tool's parameters.

    Items that are pending, or at or above the sensitivity `floor`, give none.
    """
    usable = [row for row in rows if not row.pending and not row.sensitivity.reaches(floor)]
    session = _session(usable, query)
    leaves = parameters(tool.args_schema)
    values = {leaf.name: _candidates(leaf, tool, len(leaves) == 1, session) for leaf in leaves}
    sources = {candidate.source for found in values.values() for candidate in found}
    used = tuple(row.id for row in usable if row.id in sources)
    return HydrationResult(tool, {k: v for k, v in values.items() if v}, used, sequence)


def parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """The leaves of a JSON Schema in order. References are ignored: a schema may refer to itself,
    and the model itself fills a leaf behind a reference."""
    found: list[Parameter] = []
    stack: list[tuple[str, Any, int]] = [("", schema, 0)]
    while stack and len(found) < _MAX_PARAMETERS:
        name, part, depth = stack.pop()
        if not isinstance(part, dict):
            continue
        inner, path = _if_given(part), name
        while isinstance(inner.get("items"), dict) and path.count("[]") < _DEEPEST:
            inner, path = _if_given(inner["items"]), path + "[]"
        properties = inner.get("properties")
        if isinstance(properties, dict) and properties and depth < _DEEPEST:
            prefix = f"{path}." if path else ""
            stack.extend(
                (prefix + str(key), held, depth + 1) for key, held in reversed(properties.items())
            )
        elif name:
            found.append(_parameter(path, inner))
    return found


def _if_given(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without its null: of `anyOf` or `oneOf` of null and one schema, that schema; of a
    list of "null" and one type, that type. Any other schema stays as it is."""
    for _ in range(_DEEPEST):
        several = schema.get("anyOf", schema.get("oneOf"))
        one = _not_null(several, {"type": "null"})
        if not isinstance(one, dict):
            break
        outer = {key: held for key, held in schema.items() if key not in ("anyOf", "oneOf")}
        schema = {**outer, **one}
    kind = _not_null(schema.get("type"), "null")
    return schema if kind is None else {**schema, "type": kind}


def _not_null(several: Any, null: Any) -> Any:
    """The single other one of a list, else None."""
    others = [one for one in several if one != null] if isinstance(several, list) else []
    return others[0] if len(others) == 1 else None


def _parameter(name: str, schema: Mapping[str, Any]) -> Parameter:
    segments = name.replace("[]", "").split(".")
    own = words_of(segments[-1])
    if set(own) <= _GENERAL:
        own = [word for segment in segments for word in words_of(segment)]
    options = schema.get("enum")
    kind = schema.get("type")
    return Parameter(
        name,
        tuple(own or words_of(str(schema.get("description", "")))[:4]),
        kind if isinstance(kind, str) else "string",
        _FORMATS.get(str(schema.get("format"))),
        tuple(str(one) for one in options if one is not None) if isinstance(options, list) else (),
        not _IDENTIFYING.isdisjoint(words_of(segments[-1])),
    )


class _Session(msgspec.Struct, frozen=True):
    """The sources for all parameters."""

    rows: list[ItemRow]
    stated: list[StatedValue]
    turns: list[tuple[float, str]]
    """Newest first: the value of a mention in a turn, and the turn's text."""
    query: str
    newest: int
    """Ordinal of the newest item."""

    def recency(self, ordinal: int) -> float:
        return 1 / (1 + _FADING * (self.newest - ordinal))

    def mention(self, value: str) -> float:
        """The value of the conversation's mentions of a value: the best one counts."""
        plain = value.casefold().replace("_", " ")
        return max((worth for worth, text in self.turns if plain in text), default=0.0)


def _session(rows: list[ItemRow], query: str) -> _Session:
    newest = max((row.ordinal for row in rows), default=0)
    talk = [row for row in rows if row.kind in _MENTIONED][-_LOOKED_BACK:]
    turns = [
        (
            _MENTIONED[row.kind] / (1 + _FADING * (newest - row.ordinal)),
            row.text.casefold().replace("_", " "),
        )
        for row in reversed(talk)
    ]
    return _Session(rows, [v for row in rows for v in values_of(row)], turns, query, newest)


def _candidates(
    parameter: Parameter, tool: SelectableItem, is_only: bool, session: _Session
) -> tuple[ValueCandidate, ...]:
    fitting, models = _fitting(parameter, session)
    shapes = {_shape(value) for value in models}
    best: dict[str, tuple[float, StatedValue]] = {}
    used: dict[str, float] = {}
    for one, likeness in fitting:
        score = likeness * (_FIELD if one.is_field else _SENTENCE)
        if shapes and not one.is_field and _shape(one.value) not in shapes:
            score *= _STRANGE
        score += _RECENT * likeness * session.recency(one.ordinal)
        if one.tool and likeness == 1.0:
            is_done = is_only and one.tool in (tool.name, tool.id)
            used[one.value] = -_DONE if is_done else _CARRIED_ON * session.recency(one.ordinal)
        if score >= _MIN_SCORE and (one.value not in best or score > best[one.value][0]):
            best[one.value] = (score, one)
    ranked = [
        _candidate(value, one, score + used.get(value, 0.0), session)
        for value, (score, one) in best.items()
    ]
    # Sorting is stable: equal candidates stay in the order in which the session stated them.
    ranked.sort(key=lambda candidate: -candidate.score)
    return tuple(ranked[:CANDIDATES])


def _candidate(value: str, stated: StatedValue, score: float, session: _Session) -> ValueCandidate:
    asked = _ASKED if value in session.query else 0.0
    return ValueCandidate(value, stated.item_id, round(score + session.mention(value) + asked, 4))


def _fitting(
    parameter: Parameter, session: _Session
) -> tuple[list[tuple[StatedValue, float]], list[str]]:
    """The stated values that fit a parameter, each with how well its name does; and those of fields
    with the parameter's own name, which show how its values look."""
    stated = session.stated
    if parameter.options:
        stated = [*stated, *_options_in(parameter, session.rows)]
    elif parameter.kind in _NUMERIC:
        stated = [msgspec.structs.replace(one, value=plain_number(one.value)) for one in stated]
    fitting = [
        (one, likeness)
        for one in stated
        if (likeness := _likeness(parameter, one)) and _fits(parameter, one, likeness)
    ]
    models = [one.value for one, likeness in fitting if one.is_field and likeness == 1.0]
    if parameter.identifies and models:
        fitting = [pair for pair in fitting if pair[0].is_field or _is_like(pair[0].value, models)]
    return fitting, models


def _shape(value: str) -> str:
    """`mia_li_3668` → `a_a_0`: letters and digits in runs."""
    kinds = (
        "0" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in value
    )
    return "".join(kind for kind, _ in groupby(kinds))


def _is_like(value: str, models: Iterable[str]) -> bool:
    """Whether it has the form of one of the values of a field: the same kinds of characters, or
    some of them and the same length."""
    kinds = set(_shape(value))
    return any(
        kinds == set(_shape(model)) or (kinds < set(_shape(model)) and len(value) == len(model))
        for model in models
    )


def _fits(parameter: Parameter, one: StatedValue, likeness: float) -> bool:
    value = one.value
    if parameter.options:
        return value in parameter.options
    if not one.is_field and set(words_of(value)) <= {*parameter.words, *_GENERAL}:
        return False  # `ID` is the name of a value, not a value
    if parameter.identifies and not _can_identify(parameter, one, likeness):
        return False
    form = _KINDS.get(parameter.kind) or parameter.form
    return form is None or form.fullmatch(value) is not None


def _can_identify(parameter: Parameter, one: StatedValue, likeness: float) -> bool:
    """Whether a value looks like an identifier and something says that it is this one: the field
    that contains it, or in a sentence the word that distinguishes this parameter from others."""
    value = one.value
    if is_grouped(value):
        return False
    if one.is_field:
        return bool(_IDENTIFIER.search(value) or _CAPITALS.fullmatch(value))
    special = {word for word in parameter.words if word not in _GENERAL and word not in _SPEAKER}
    if special and special.isdisjoint(one.named):
        return False
    if _CAPITALS.fullmatch(value):
        is_code = not _CODE.isdisjoint(parameter.words)
        long_enough = is_code or len(value) >= _LONG
        return likeness == 1.0 and long_enough and value not in _METHODS
    return bool(_IDENTIFIER.search(value))


def _likeness(parameter: Parameter, one: StatedValue) -> float:
    """Share of the parameter's words that name the value, 0 to 1."""
    if not parameter.words:
        return 0.0
    named = set(one.named)
    weights = {word: _GENERAL_WEIGHT if word in _GENERAL else 1.0 for word in parameter.words}
    return sum(weight for word, weight in weights.items() if word in named) / sum(weights.values())


def _options_in(parameter: Parameter, rows: list[ItemRow]) -> list[StatedValue]:
    """Options that a text contains in plain words: `basic economy` for `basic_economy`."""
    found = []
    for row in rows:
        text = " ".join(words_of(row.text))
        for option in parameter.options:
            plain = " ".join(words_of(option))
            if plain and f" {plain} " in f" {text} ":
                found.append(
                    StatedValue(option, row.id, row.ordinal, row.kind, parameter.words, False)
                )
    return found
