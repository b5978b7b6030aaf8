"""The facts of a scope are read once for each sequence that a compile looks at: a scope may have
a thousand, and a stable prompt's header compares two sequences."""

from collections import Counter

from tests.compile_invariants import check_budget

from weft.compiler.compile import compile_pack
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest
from weft_schemas.events import FactsEvent, MemoryFact, Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

SCOPE = "user:42"


def taught(facts: int) -> ReadModel:
    """A session of some turns in a scope in which another session has taught facts."""
    held = {"scope": SCOPE}
    before = ContextItem("t", ItemKind.USER_TURN, "About me.", metadata=held)
    known = tuple(MemoryFact(f"pier {n}", f"{n} m", ("t",)) for n in range(facts))
    records = records_of([before, FactsEvent(Origin(1, "t", "memory"), SCOPE, known)], "t", "old")
    items = [
        ContextItem(f"u{n}", ItemKind.USER_TURN, f"How deep is pier {n}? " * 9, metadata=held)
        for n in range(30)
    ]
    return ReadModel.in_memory([*records, *records_of(items, "t", "s", 3)], "o200k_base")


def statements(model: ReadModel, request: CompileRequest, at: int, base=None) -> Counter[str]:
    """How often a compile ran each statement about memories."""
    ran: Counter[str] = Counter()
    view = model.view("t", "s", at)
    model.db.set_trace_callback(lambda sql: ran.update([sql] if "FROM memories" in sql else []))
    made = compile_pack(view, request, base=base)
    model.db.set_trace_callback(None)
    check_budget(made.pack)
    assert "pier 1=1 m" in made.pack.prompt
    return ran


def test_a_stable_prompt_reads_the_facts_of_each_sequence_once() -> None:
    model = taught(60)
    request = CompileRequest(Phase.ANSWER, budget=600)
    base = compile_pack(model.view("t", "s", 20), request).audit
    going_on = CompileRequest(Phase.ANSWER, budget=600, stable_from=base.id)
    for at in (20, 32):
        ran = statements(model, going_on, at, base)
        assert ran
        assert set(ran.values()) == {1}
