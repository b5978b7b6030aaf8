"""Released bytes: every event of version 1 decodes for ever, and encodes to the same bytes."""

import msgspec
import pytest

from tests.golden.examples import EXAMPLES, FOLDER
from weft_schemas.compile import CompileAudit
from weft_schemas.events import EVENT_TYPES, Event, decode_event, encode_event

FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
ALL_TYPES = {*EVENT_TYPES, str(CompileAudit.__struct_config__.tag)}


def decode(name: str) -> object:
    content = (FOLDER / f"{name}.json").read_bytes()
    if name.startswith("compiled."):
        return msgspec.json.decode(content, type=CompileAudit)
    return decode_event(content)


def encode(event: object) -> bytes:
    if isinstance(event, CompileAudit):
        return msgspec.json.encode(event, order="deterministic")
    assert isinstance(event, Event)
    return encode_event(event)


def test_every_event_type_has_golden_bytes() -> None:
    assert {name.partition(".")[0] for name in FILES} == ALL_TYPES


@pytest.mark.parametrize("name", FILES)
def test_released_bytes_decode_to_what_they_meant(name: str) -> None:
    assert decode(name) == EXAMPLES[name]


@pytest.mark.parametrize("name", FILES)
def test_the_same_event_encodes_to_the_released_bytes(name: str) -> None:
    assert encode(EXAMPLES[name]) == (FOLDER / f"{name}.json").read_bytes()
