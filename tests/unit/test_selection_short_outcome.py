"""A short result of the newest call is shown whole, whatever it says."""

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

FILE = "".join(f"key_{n}: value of {n * 7919} in group {n % 7}\n" for n in range(90))
SAID = """respondo de la stacio pri la dosiero:
  regulo 7: la valoroj de la dosiero estas aliaj, sed en la protokolo mankas la du linioj pri tio
  regulo 8: bona
  regulo 9: bona
Nenio estas farita. Sendu ambau dosierojn per unu voko: stacio_sendu_multajn([{vojo, enhavo}])"""


@pytest.mark.parametrize("budget", [400, 700, 1_000])
def test_a_short_result_of_a_long_call_is_whole(budget: int) -> None:
    call = {"tool_name": "write", "arguments": {"path": "a.yaml", "content": FILE}}
    items = [
        ContextItem("u0", ItemKind.USER_TURN, "Please raise the limit in a.yaml."),
        ContextItem("c1", ItemKind.TOOL_CALL, metadata=call),
        ContextItem("r1", ItemKind.TOOL_RESULT, SAID, "c1"),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack.prompt
    assert SAID in prompt
    assert "a.yaml" in prompt
