"""What is said of a payload that could not be read: the valid values, where they are a list."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from weft.adapters.formats import read_transcripts
from weft.cli.grants import read_grants
from weft.cli.policy import read_policy
from weft.client.event_check import checked
from weft.gateway.configuration.file import config_from
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.events import decode_event
from weft_schemas.faults import converted, with_valid_values
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy

LEVELS = "use one of public, internal, confidential, restricted"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kind": "userturn"}, f"at `$.kind`: use one of {', '.join(ItemKind)}"),
        ({"sensitivity": "secret"}, f"at `$.sensitivity`: {LEVELS}"),
    ],
)
def test_an_item_that_is_published_is_told_the_valid_values(
    changed: dict[str, Any], told: str
) -> None:
    item = msgspec.structs.replace(ContextItem("k2", ItemKind.USER_TURN, "x"), **changed)
    with pytest.raises(InvalidInput) as raised:
        checked(item)
    assert str(raised.value).startswith("item 'k2': Invalid enum value ")
    assert str(raised.value).endswith(told)


def test_a_policys_file_is_told_them_too(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"firewall": {"actions": [{"signal": "injection:*", "action": "explode"}]}}')
    with pytest.raises(InvalidInput, match=r"actions\[0\]\.action`: use one of ") as raised:
        read_policy(file)
    assert "'explode'" in str(raised.value)


def test_a_policy_that_is_published_is_told_them_too() -> None:
    wrong: Any = "secret"
    with pytest.raises(InvalidInput, match=LEVELS):
        checked(ContextPolicy(sensitivity_floor=wrong))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"role": "usr", "content": "x"}]', "value 'usr'; use assistant, .*user"),
        ('{"id": "a", "kind": "userturn"}', f"value 'userturn'; use {', '.join(ItemKind)}"),
    ],
)
def test_a_transcript_is_told_them_too(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        read_transcripts(text.encode(), "auto", "chat.json")


def test_what_stands_in_a_log_is_not_quoted_beside_them() -> None:
    with pytest.raises(InvalidInput) as raised:
        decode_event(b'{"type":"item","id":"a","kind":"user_turn","sensitivity":"my secret"}')
    assert str(raised.value) == (
        f"event of type 'item': Invalid enum value at `$.sensitivity`: {LEVELS}; "
        "see schemas/jsonschema"
    )


class _Held(msgspec.Struct):
    level: Sensitivity | None = None
    by_name: dict[str, tuple[Literal["a", "b"], ...]] = {}


@pytest.mark.parametrize(
    ("value", "values"),
    [({"level": "x"}, LEVELS), ({"by_name": {"n": ["c"]}}, "use one of a, b"), ({"level": 5}, "")],
)
def test_they_are_found_at_any_place(value: dict[str, Any], values: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(value, _Held)
    assert with_valid_values(raised.value, _Held).partition("`: ")[2] == values


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"level": "\ud800"}, "$.level"),
        ({"\ud800": 1}, "$"),
        ({"by_name": {"a key": ["\ud800"]}}, "$.by_name[...][0]"),
        ({"by_name": {"n": ["a", "\ud800"]}}, "$.by_name.n[1]"),
        ("\ud800", "$"),
    ],
)
def test_a_lone_surrogate_is_told_by_its_field(value: Any, path: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        converted(value, _Held)
    said = "Text has a lone surrogate (half of a character), write it whole"
    assert str(raised.value) == f"{said} - at `{path}`"


@pytest.mark.parametrize("text", ['"\\ud800"', '{"name": "\\ud800"}', '{"\\ud800": 1}'])
def test_a_file_with_a_lone_surrogate_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "given.json"
    file.write_text(text)
    for read in (read_policy, read_grants):
        with pytest.raises(InvalidInput, match=r"given\.json: \$.* has a lone surrogate"):
            read(file)
    with pytest.raises(InvalidInput, match=r"given\.json, line 1: "):
        read_transcripts(text.encode(), "openai", str(file))


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": "\\ud800"}}',
        '{"mcpServers": {"a": {"\\ud800": 1, "command": "x"}}}',
        '{"mcpServers": {"a": {"command": "x"}}, "weft": "\\ud800"}',
        '{"mcpServers": {"a": {"command": "x"}}, "weft": {"mode": "\\ud800"}}',
    ],
)
def test_a_gateways_file_with_a_lone_surrogate_is_told_too(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^mcp\.json: .* lone surrogate"):
        config_from(text, "mcp.json", {})


def test_metadata_with_a_lone_surrogate_is_told_by_its_place() -> None:
    line = '{"id": "a", "kind": "user_turn", "text": "x", "metadata": {"\\ud800": 1}}'
    with pytest.raises(InvalidInput, match=r"lone surrogate .*`\$\.metadata`"):
        read_transcripts(line.encode(), "weft", "chat.json")


def test_an_event_with_a_lone_surrogate_for_a_word_is_refused_before_it_is_sent() -> None:
    wrong: Any = "\ud800"
    with pytest.raises(InvalidInput, match=r"lone surrogate .*`\$\.sensitivity_floor`"):
        checked(ContextPolicy(sensitivity_floor=wrong))
