"""Files that people write: JSON or YAML, and every fault of theirs in one line."""

from typing import Any

import pytest

from weft.json_or_yaml import parsed
from weft_schemas.errors import InvalidInput


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("content", "source", "value"),
    [
        (b' {"a": [1]}', "a.json", {"a": [1]}),
        (b"a: [1]", "a.yaml", {"a": [1]}),
        (b"a: 1", "-", {"a": 1}),
        (b"{a: 1}", "a.yml", {"a": 1}),
        (b"", "a.json", None),
        (b"a: " + b"[" * 97 + b"1" + b"]" * 97, "a.yaml", {"a": _nested(97)}),
    ],
)
def test_a_value_is_read_from_either(content: bytes, source: str, value: Any) -> None:
    assert parsed(content, source) == value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 1_000_000, "is nested too deeply; flatten it"),
        (b"a: " + b"[" * 100 + b"]" * 100, "is nested too deeply; flatten it"),
        (b"[1", "is neither JSON nor YAML: "),
        (b"{a: 1}", "is neither JSON nor YAML: "),
        (b"\xff", "is neither JSON nor YAML: "),
        (b"a: &b [*b]", "aliases are not taken"),
        (b"a: 2026-13-01", "month must be in 1..12"),
        (b"a: !!bool maybe", "is neither JSON nor YAML: "),
        (b"a: !!int", "is neither JSON nor YAML: "),
        (b"a: !!timestamp now", "is neither JSON nor YAML: "),
        (rb'{"a": {"b": ["x", "\ud800"]}}', "$.a.b[1] has a lone surrogate, which is half of"),
        (rb'{"a": {"\ud800": 1}}', "$.a has a lone surrogate"),
        (rb'a: {"b c": "\ud800"}', "$.a[...] has a lone surrogate"),
        (rb'"\ud800"', "$ has a lone surrogate"),
        (rb'{"a": "\ud800"', "is neither JSON nor YAML: "),
    ],
)
def test_every_fault_of_a_file_is_one_line_that_names_it(content: bytes, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parsed(content, "given.json")
    assert str(raised.value).startswith("given.json: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_yaml_file_that_looks_like_json_is_told_its_lone_surrogate_too() -> None:
    with pytest.raises(InvalidInput, match=r"given\.yaml: \$\.a has a lone surrogate"):
        parsed(rb'{a: "\ud800"}', "given.yaml")
