"""docs/concepts.md explains every name of the domain, and what it says holds them does."""

import re
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from tests.data import ROOT

from weft_schemas import routing
from weft_schemas.compile import BuildStats
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase

NAMES = (
    "ContextItem ItemKind Sensitivity Phase ContextBudget ContextPolicy MaskRedactionHook "
    "BuildStats ResultEnvelope ArtifactRef ViewRegistry EventLog ArtifactStore Summarizer "
    "SelectableItem ToolCard ChoiceGraph TreeBuilder Router ChoiceCard HydrationResult "
    "EpisodicStore FactStore"
)
"""Fixed, as contextweaver has them."""
FIELDS = {
    ContextItem: "id kind text parent_id token_estimate sensitivity metadata",
    ResultEnvelope: "summary facts artifacts views status",
    BuildStats: "total_candidates included_count dropped_count dropped_reasons dropped_items "
    "deduplicated_count tokens_per_section dependency_closures",
    ContextPolicy: "sensitivity_floor sensitivity_action",
    routing.SelectableItem: "id kind name description tags namespace side_effects cost_hint",
    routing.ChoiceCard: "name description score side_effects",
}
VALUES = {
    ItemKind: "user_turn agent_msg tool_call tool_result doc_snippet memory_fact plan_state policy",
    Sensitivity: "public internal confidential restricted",
    Phase: "route call interpret answer",
    ResultStatus: "success error partial",
}
IDEAS = ("routing query", "alphabet", "Jaccard", "`drop` or `redact`", "never the raw user turn")
"""Of the concepts that have no name of their own."""
USED_AS = {
    "ContextBudget": r"\.budgets\.",
    "MaskRedactionHook": r"redaction_hook\(",
    "ArtifactRef": r"\.artifacts\b",
    "EpisodicStore": r"\.episodes\(",
    "FactStore": r"\.facts\(",
}
"""How services reach what they need not name."""

TEXT = (ROOT / "docs" / "concepts.md").read_text()
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", TEXT, re.S | re.M))
SOURCES = {path: path.read_text() for path in (ROOT / "services").rglob("*.py")}


def names_in(text: str) -> list[str]:
    return re.findall(r"`([\w./]+)`", text)


def held_by(section: str) -> list[str]:
    """The dotted names after "Held by"."""
    held = re.search(r"^Held by (.*?)\.\s+Shown\s+by", SECTIONS[section], re.S | re.M)
    assert held, f"{section} does not say what holds it"
    return names_in(held[1])


def section_of(name: str) -> str:
    return name if name in SECTIONS else next(s for s in SECTIONS if f"`{name}`" in SECTIONS[s])


def home_of(name: str) -> str:
    """The module that concepts.md names for a name."""
    homes = [dotted for dotted in held_by(section_of(name)) if dotted.endswith(f".{name}")]
    assert homes, f"docs/concepts.md names no module for {name}"
    return homes[0].rpartition(".")[0]


@pytest.mark.filterwarnings("ignore:ToolCard is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES.split())
def test_every_name_is_explained_and_importable_from_where_it_says(name: str) -> None:
    assert hasattr(import_module(home_of(name)), name)


@pytest.mark.parametrize("name", [name for name in NAMES.split() if name != "ToolCard"])
def test_every_name_is_used_by_a_service(name: str) -> None:
    home = import_module(home_of(name)).__file__ or ""
    used = re.compile(rf"\b{name}\b|{USED_AS.get(name, name)}")
    users = [path for path, text in SOURCES.items() if used.search(text) and path != Path(home)]
    assert [path for path in users if "weft_eval" not in path.parts]


@pytest.mark.parametrize(("struct", "fields"), FIELDS.items())
def test_the_fields_are_named_as_in_the_concepts(struct: type, fields: str) -> None:
    assert set(fields.split()) <= {field.name for field in msgspec.structs.fields(struct)}


@pytest.mark.parametrize(("enum", "values"), VALUES.items())
def test_the_values_are_those_of_the_concepts_in_their_order(enum: type, values: str) -> None:
    assert [member.value for member in enum] == values.split()
    assert all(f"`{value}`" in SECTIONS[enum.__name__] for value in values.split())


def test_the_defaults_are_those_of_the_concepts() -> None:
    assert msgspec.to_builtins(ContextBudget()) == {
        "route": 2_000,
        "call": 3_000,
        "interpret": 4_000,
        "answer": 6_000,
    }
    policy = ContextPolicy()
    assert (policy.sensitivity_floor.value, policy.sensitivity_action.value) == (
        "confidential",
        "drop",
    )
    assert ContextItem("i", ItemKind.USER_TURN).sensitivity is Sensitivity.PUBLIC


@pytest.mark.parametrize("idea", IDEAS)
def test_ideas_without_a_name_are_explained(idea: str) -> None:
    assert idea in TEXT


@pytest.mark.filterwarnings("ignore:ToolCard is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", SECTIONS)
def test_what_holds_a_name_can_be_imported(name: str) -> None:
    for dotted in held_by(name):
        module, _, attribute = dotted.rpartition(".")
        assert hasattr(import_module(module), attribute), dotted


@pytest.mark.parametrize("name", SECTIONS)
def test_every_name_says_which_test_shows_it(name: str) -> None:
    shown = re.split(r"Shown\s+by\s", SECTIONS[name])[1]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", shown)
    assert named
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(), f"{path} has no {test}"


def test_the_old_name_of_a_selectable_item_still_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match="use SelectableItem"):
        assert routing.ToolCard is routing.SelectableItem
