"""Released logs rebuild to their recorded digests; what a later release wrote is never guessed."""

import msgspec
import pytest

from tests.folded import faults
from tests.golden.history import FOLDER, came_to, read, recorded
from weft.log.record import LogRecord
from weft.readmodel.model import ReadModel
from weft_schemas.events import EVENT_TYPES, VERSION

ADDED = {"scope_grants", "scope_erased", "erasing"}
"""Types of event that version 1 got after its log was recorded."""
VERSIONS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def test_every_released_version_has_a_log() -> None:
    assert [f"v{number}" for number in range(1, VERSION + 1)] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_released_log_rebuilds_to_its_recorded_digest(version: str) -> None:
    assert came_to(read(version)) == recorded(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_holds_every_event_of_its_version(version: str) -> None:
    seen = {str(type(record.event()).__struct_config__.tag) for record in read(version)}
    assert seen == set(EVENT_TYPES) - ADDED


@pytest.mark.parametrize("version", VERSIONS)
def test_what_it_holds_is_shown(version: str) -> None:
    model = ReadModel.in_memory(read(version))
    rows = {row.id: row for row in model.view("acme", "s1").recent(100)}
    assert rows["r1"].text == "short"
    assert rows["a1"].summary == "It is open."
    before = {row.id: row for row in model.view("acme", "s1", 22).recent(100)}
    assert before["r1"].text == "1 open invoice: INV-4711"
    assert model.view("acme", "s1", 22).facts(["user:42"])[0].value == "UTC"
    assert model.view("acme", "gone").item_count() == 0
    model.close()


@pytest.mark.parametrize("name", sorted(set(EVENT_TYPES) - ADDED))
def test_an_event_of_a_future_version_is_a_fault_and_changes_nothing_else(name: str) -> None:
    log = read(f"v{VERSION}")
    example = next(r for r in log if str(type(r.event()).__struct_config__.tag) == name)
    future = {**msgspec.json.decode(example.payload), "v": VERSION + 1, "new_field": "meaning?"}
    late = LogRecord(len(log) + 1, example.subject, 0, msgspec.json.encode(future))
    if "gone" in example.subject:
        late = msgspec.structs.replace(late, subject=example.subject.replace("gone", "s1"))
    model = ReadModel.in_memory([*log, late])
    [fault, *_] = faults(model.db)
    assert (fault.sequence, fault.code) == (late.sequence, "unknown_version")
    assert "upgrade" in fault.error
    same = came_to([*log, late])
    assert same.items == recorded(f"v{VERSION}").items
    model.close()
