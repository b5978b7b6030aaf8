"""The committed JSON Schemas and AsyncAPI document are those of the Structs, and they hold."""

import inspect
import json
from collections.abc import Iterator
from enum import Enum, StrEnum
from typing import Any

import msgspec
import pytest
from tests.data import ROOT
from tests.golden.examples import FOLDER

import jsonschema
from weft.http.openapi import document
from weft_schemas.generate import SHAPES, documents, schema

SCHEMAS = ROOT / "schemas"


def test_committed_documents_are_what_the_structs_give() -> None:
    committed = {
        str(path.relative_to(SCHEMAS)): path.read_bytes()
        for path in (*SCHEMAS.glob("jsonschema/*.json"), SCHEMAS / "asyncapi.json")
    }
    assert committed == documents(), "run: python -m weft_schemas.generate schemas"


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_each_schema_is_a_schema_and_describes_its_fields(name: str) -> None:
    made = schema(name)
    jsonschema.Draft202012Validator.check_schema(made)
    root = made["$defs"][made["$ref"].removeprefix("#/$defs/")]
    assert root["description"]


def test_every_part_of_a_schema_is_described_by_itself() -> None:
    parts = document()["components"]["schemas"]
    for name in SHAPES:
        parts |= schema(name)["$defs"]
    bases = (msgspec.Struct, StrEnum, Enum)
    inherited = {" ".join((inspect.getdoc(base) or "").split()) for base in bases}
    told = {name: part.get("description") for name, part in parts.items() if "enum" not in part}
    assert len(told) > 60
    assert [name for name, about in told.items() if not about or about in inherited] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_golden_events_fit_their_schema(path: Any) -> None:
    validator = jsonschema.Draft202012Validator(schema(path.name.partition(".")[0]))
    validator.validate(json.loads(path.read_bytes()))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "thought"},
        {"id": 7},
        {"sensitivity": "secret"},
        {"unknown": 1},
        {"metadata": {"call_id": 5}},
        {"type": "event"},
    ],
)
def test_the_item_schema_refuses_what_decoding_refuses(change: dict[str, Any]) -> None:
    item = {"type": "item", "id": "a", "kind": "user_turn", "text": "x", **change}
    validator = jsonschema.Draft202012Validator(schema("item"))
    assert list(validator.iter_errors(item))


def test_every_reference_of_the_asyncapi_document_leads_somewhere() -> None:
    document = json.loads((SCHEMAS / "asyncapi.json").read_bytes())
    references = list(_references(document))
    assert len(references) > 30
    for reference in references:
        file, _, pointer = reference.partition("#/")
        if file:
            assert (SCHEMAS / file).is_file(), reference
            continue
        found = document
        for key in pointer.split("/"):
            found = found[key]


def test_every_event_and_request_travels_over_some_channel() -> None:
    document = json.loads((SCHEMAS / "asyncapi.json").read_bytes())
    assert set(document["components"]["messages"]) == set(SHAPES)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, held in value.items():
            if key == "$ref":
                yield held
            else:
                yield from _references(held)
    elif isinstance(value, list):
        for held in value:
            yield from _references(held)
