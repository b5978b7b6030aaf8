"""Catalogues from files: every form, every fault at once, nothing that explodes."""

import pytest

from weft.router.catalogue import catalogue_from
from weft.router.item_faults import check_catalogue
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import Catalog, SelectableItem


@pytest.mark.parametrize(
    "content",
    [
        b'[{"name": "a"}]',
        b'{"tools": [{"name": "a"}]}',
        b'{"items": [{"name": "a"}]}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a", "inputSchema": {}}]}}',
        b"- name: a\n",
        b"tools:\n  - name: a\n",
    ],
)
def test_a_list_of_tools_is_found(content: bytes) -> None:
    catalog = catalogue_from("c", content)
    assert catalog.name == "c"
    assert [item.id for item in catalog.items] == ["a"]


def test_all_faults_are_told_at_once() -> None:
    content = b'[{"name": "a", "cost_hint": "x"}, {"name": "b", "requires": ["zz"]}, 3]'
    with pytest.raises(InvalidInput) as caught:
        catalogue_from("c", content, "tools.json")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("tools.json: tool ") for line in lines)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "no list of tools"),
        (b"{}", "no list of tools"),
        (b"[", "neither JSON nor YAML"),
        (b"\xc3\x28", "neither JSON nor YAML"),
        (b"[" * 100_000, "nested too deeply"),
        (b"a: &a [1]\ntools: *a\n", "aliases are not taken"),
        (b"tools: &t [*t]\n", "aliases are not taken"),
    ],
)
def test_what_is_no_catalogue_is_refused(content: bytes, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        catalogue_from("c", content)


def test_ten_thousand_tools_of_one_name_need_ids() -> None:
    content = b"[" + b",".join([b'{"name": "same"}'] * 10_000) + b"]"
    with pytest.raises(InvalidInput, match=r"'same': \$.id is used more than once"):
        catalogue_from("c", content)


def test_a_long_list_of_faults_is_cut() -> None:
    content = b"[" + b",".join([b"1"] * 500) + b"]"
    with pytest.raises(InvalidInput, match="and 480 more faults"):
        catalogue_from("c", content)


def test_a_catalogue_made_in_code_is_checked_too() -> None:
    with pytest.raises(InvalidInput, match=r"catalogue 'c': tool '': \$.id has 0 bytes"):
        check_catalogue(Catalog("c", (SelectableItem("", "x"),)))
