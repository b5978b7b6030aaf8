"""The record that the user names is told before others, in every phase."""

import json

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

NAMES = ["Moreau", "Garcia", "Dufour", "Roux", "Fontaine", "Robin", "Masson", "Petit", "Colin"]


def employee(number: int, name: str) -> dict[str, object]:
    contract = {"number": f"C{7_919 * number}", "type": "permanent", "hours": 151.67}
    account = {
        "iban": f"FR76{104_729 * number:023}",
        "bank": {"bic": f"QX{number}", "city": "Arras"},
    }
    post = {"unit": "EN-14", "title": "Driver", "since": f"20{number + 11}-01-01"}
    return {
        "staff_id": f"S{1_000 + number}",
        "name": name,
        "post": post | {"site": {"code": f"ST{number}", "badge": f"{number * 15_485_863:016x}"}},
        "training": {"licence": f"L{number * 31}", "course": "cold store", "valid": "2027-02-01"},
        "contract": contract | {"rate": 12 + number / 7},
        "payment": account | {"mode": "transfer", "holder": name},
        "devices": {"scanner": f"SC-{number * 37}", "key": f"K{number * 41}", "truck": "none"},
        "status": "active",
    }


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_all_of_the_record_that_the_user_names_is_told(phase: Phase) -> None:
    listed = json.dumps({"staff": [employee(n, name) for n, name in enumerate(NAMES * 2)]})
    listed = listed.replace('"Petit"', '"Perrin"', 2)  # Petit stands there once
    question = "Tell me all about Petit, with contract and account."
    items = [
        ContextItem("u", ItemKind.USER_TURN, question),
        ContextItem("c", ItemKind.TOOL_CALL, metadata={"tool_name": "staff", "arguments": {}}),
        ContextItem("r", ItemKind.TOOL_RESULT, listed, "c"),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(phase, budget=500)).pack.prompt
    number = len(NAMES) + NAMES.index("Petit")
    assert f"S{1_000 + number}" in prompt
    assert f"C{7_919 * number}" in prompt
    assert f"FR76{104_729 * number:023}" in prompt
