"""Leaves of JSON values: which, in which order, and under which name."""

import json

from weft.leaves import field_of, leaves, path_name

ORDER = {
    "id": 7,
    "paid": True,
    "note": None,
    "items": [{"sku": "A1", "price": 2.5}, {"sku": "B2", "tags": ["x", "y"]}],
    "to": {"name": "Mia"},
}


def test_leaves_come_in_order_without_booleans_and_nulls() -> None:
    assert [value for _, value in leaves(ORDER)] == [7, "A1", 2.5, "B2", "x", "y", "Mia"]


def test_a_path_is_written_as_parameters_are_named() -> None:
    names = [path_name(path) for path, _ in leaves(ORDER)]
    assert names[:3] == ["id", "items[].sku", "items[].price"]
    assert names[-2:] == ["items[].tags[]", "to.name"]
    assert [path_name(path) for path, _ in leaves(["a"])] == ["[]"]


def test_a_field_is_the_innermost_key() -> None:
    assert [field_of(path) for path, _ in leaves(ORDER)] == [
        "id", "sku", "price", "sku", "tags", "tags", "name",
    ]  # fmt: skip
    assert field_of((0, 1)) == ""


def test_no_depth_is_too_deep() -> None:
    deep = json.loads("[" * 900 + "1" + "]" * 900)
    for _ in range(5_000):
        deep = [deep]
    assert [value for _, value in leaves(deep)] == [1]
