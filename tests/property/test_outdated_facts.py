"""Whatever items state, in whichever form and order: no prompt holds a value of which a newer one
is known, one with room for all holds every value in force, and each renders again from its record.
"""

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from tests.folded import model, turn

from weft.audit.reproduce import SAME, reproduce
from weft.compiler.compile import compile_pack
from weft.messages.writing import PROVIDERS, request
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

KEYS = ("tz", "seat", "meal", "Home City")
FORMS = {
    "lines": lambda pairs: "\n".join(f"{key}: {value}" for key, value in pairs),
    "stretches": lambda pairs: "; ".join(f"{key}={value}" for key, value in pairs),
    "json": lambda pairs: json.dumps(dict(pairs), indent=1),
}
changes = st.lists(
    st.tuples(
        st.sampled_from(sorted(FORMS)),
        st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True),
        st.sampled_from([0, 1, 90]),
    ),
    min_size=1,
    max_size=6,
)
_VALUE = re.compile(r"\bv\d+\b")


@given(changes, st.sampled_from([60, 150, 400, None]))
def test_prompts_state_values_in_force_alone(
    made: list[tuple[str, list[str], int]], budget: int | None
) -> None:
    items: list[ContextItem] = [turn("start", "Good morning.")]
    newest: dict[str, str] = {}
    base: CompileAudit | None = None
    for number, (form, keys, padding) in enumerate(made):
        values = {key: f"v{number}{at}0{' and so on' * padding}" for at, key in enumerate(keys)}
        newest.update({key: value.split()[0] for key, value in values.items()})
        items.append(
            ContextItem(f"m{number}", ItemKind.MEMORY_FACT, FORMS[form](list(values.items())))
        )
        view = model(*items).view("t", "s")
        asked = CompileRequest(Phase.ANSWER, budget=budget, stable_from=base.id if base else None)
        compiled = compile_pack(view, asked, base=base)
        stated = set(_VALUE.findall(compiled.pack.prompt))
        assert stated <= set(newest.values())
        assert budget or stated == set(newest.values())
        for provider in PROVIDERS:
            sent = json.dumps(request(compiled.pack, provider), ensure_ascii=False)
            assert set(_VALUE.findall(sent)) == stated
        again = reproduce(compiled.audit, view, base=base)
        assert again.identical, again.reasons
        assert again.selection == SAME, again.selection_reasons
        base = compiled.audit
