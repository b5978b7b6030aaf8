"""What a new version of a catalogue changes."""

from weft.router.catalogue_diff import difference
from weft_schemas.routing import SelectableItem

OLD = [SelectableItem("a", "A"), SelectableItem("b", "B"), SelectableItem("c", "C")]
NEW = [
    SelectableItem("d", "D"),
    SelectableItem("c", "C"),
    SelectableItem("b", "B", "New.", tags=("x",)),
]


def test_added_removed_and_changed_fields() -> None:
    found = difference(OLD, NEW)
    assert (found.added, found.removed) == (("d",), ("a",))
    assert found.changed == {"b": ("description", "tags")}
    assert found


def test_the_same_items_in_another_order_differ_in_nothing() -> None:
    assert not difference(OLD, reversed(OLD))
