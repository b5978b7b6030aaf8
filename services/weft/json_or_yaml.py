"""What a file says in JSON or YAML: policies, grants and catalogues are written in either."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml

from weft_schemas.errors import InvalidInput
from weft_schemas.lone_surrogates import lone_surrogate_in

_YAML = (".yaml", ".yml")
_FAULTS = (msgspec.MsgspecError, yaml.YAMLError, ValueError, LookupError, AttributeError)
"""Beside its own errors PyYAML raises Python's for a text that its tag does not fit: `!!bool no?`,
`!!timestamp now`, a thirteenth month."""
_DEPTH = 100
"""Nested values that a YAML file may have, far more than people write. It is counted because the
interpreter's own limit differs from process to process: a host program may have raised it."""


def parsed(content: bytes, source: str) -> Any:
    """The value in a file: read as JSON if it begins with a bracket, otherwise as YAML. A file
    whose name says YAML may begin with a bracket, too. Raises `InvalidInput` that names
    `source`."""
    try:
        value = _decoded(content, source)
    except RecursionError:
        raise InvalidInput(f"{source}: is nested too deeply; flatten it") from None
    except _FAULTS as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{source}: is neither JSON nor YAML: {reason}") from None
    if path := lone_surrogate_in(value):
        raise InvalidInput(
            f"{source}: {path} has a lone surrogate, which is half of a character; write it whole"
        )
    return value


def _decoded(content: bytes, source: str) -> Any:
    """The value, in which texts may have lone surrogates."""
    if content.lstrip()[:1] in (b"{", b"["):
        try:
            return msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if not source.endswith(_YAML):
                if _has_lone_surrogate(content):
                    return json.loads(content)
                raise
    return yaml.load(content, _PlainLoader)


def _has_lone_surrogate(content: bytes) -> bool:
    """Whether this is JSON that msgspec refuses for that alone: it tells it as a cut-off file."""
    try:
        return bool(lone_surrogate_in(json.loads(content)))
    except ValueError:
        return False


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases: with them a short file can be an endless or an exploding value. Raises
    `RecursionError` for what is nested deeper than `_DEPTH`."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases are not taken", problem_mark=event.start_mark
            )
        if self._depth == _DEPTH:
            raise RecursionError
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node
