"""The row that links what the user asks about with what was fetched last."""

import json

import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import MAX_LINKS
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

SITES = ["north", "mill", "church", "square", "station", "park", "river", "gate"]
DEVICES = [
    {
        "customer": f"C-{48180 + n}",
        "site": SITES[n % 8],
        "device": f"D-{9000 + n * 37 % 100}",
        "installed": f"2025-{n % 12 + 1:02}-11",
    }
    for n in range(60)
]
ASKED, DEVICE = DEVICES[33]["customer"], DEVICES[33]["device"]
SCAN = [
    {"device": one["device"], "address": f"10.7.{n}.2", "state": "offline" if n == 33 else "online"}
    for n, one in enumerate(DEVICES[28:40], 28)
]
WELL = {"status": "ok", "alerts": [], "note": "All is well here. " + "Nothing to report. " * 40}
TABLE = "customer,site,device,installed\n" + "".join(
    f"{','.join(one.values())}\n" for one in DEVICES
)


def answered(number: int, tool: str, result: object) -> list[ContextItem]:
    text = result if isinstance(result, str) else json.dumps(result)
    called = {"tool_name": tool, "arguments": {"region": "north"}}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=called),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}"),
    ]


def session(devices: object, asked: str = ASKED) -> list[ContextItem]:
    return [
        ContextItem("u", ItemKind.USER_TURN, f"The router of {asked} is down. Please restart it."),
        *answered(1, "devices", devices),
        *answered(2, "status", WELL),
        *answered(3, "alerts", {**WELL, "region": "north"}),
        *answered(4, "scan", SCAN),
    ]


def links(items: list[ContextItem]) -> list[str]:
    choice = choice_of(items, 400)
    rows = {row.sequence: row for group in choice.groups for row in group.rows}
    found = []
    for at, parts in choice.scores.links.items():
        outline = rows[at].parts
        assert outline is not None
        leaves = [outline.leaves[number] for number in sorted(parts)]
        found.append("".join(rows[at].readable[leaf.start : leaf.end] for leaf in leaves))
    return found


@pytest.mark.parametrize("budget", [380, 400])
def test_it_comes_before_results_that_say_that_all_is_well(budget: int) -> None:
    view = ListView(session(TABLE))
    prompt = compile_pack(view, CompileRequest(Phase.CALL, budget=budget)).pack.prompt
    assert TABLE.splitlines()[34] in prompt.splitlines()


def test_it_states_an_id_that_the_user_named_and_one_of_the_newest_result() -> None:
    (found,) = links(session(DEVICES))
    assert ASKED in found
    assert DEVICE in found


@pytest.mark.parametrize(
    "items",
    [
        session(DEVICES, asked="C-99999"),
        session([{**one, "device": "none"} for one in DEVICES]),  # nothing of the newest result
        [*session(DEVICES), *answered(5, "scan", [{**SCAN[5], "owner": ASKED}])],  # told again
        [*session(DEVICES), *answered(5, "old devices", DEVICES), *answered(6, "scan", SCAN)],
        session([{**one, "device": f"2025-11-{n % 28 + 1:02}"} for n, one in enumerate(DEVICES)]),
    ],
    ids=["unknown", "not linked", "told again", "two rows", "dates"],
)
def test_other_rows_link_nothing(items: list[ContextItem]) -> None:
    assert links(items) == []


@pytest.mark.parametrize(("count", "found"), [(MAX_LINKS, MAX_LINKS), (MAX_LINKS + 1, 0)])
def test_many_links_are_a_list_and_no_links(count: int, found: int) -> None:
    asked = ", ".join(one["customer"] for one in DEVICES[30 : 30 + count])
    (told,) = links(session(DEVICES, asked)) or [""]
    assert told.count("customer") == found
