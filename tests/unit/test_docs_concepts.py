"""docs/concepts.md explains every name of the domain, and what it says holds them does."""

import re
from importlib import import_module

import pytest
from tests.data import ROOT

from weft_schemas import routing

NAMES = (
    "ContextItem Sensitivity ResultEnvelope ArtifactRef ContextBudget ContextPolicy Phase "
    "MaskRedactionHook BuildStats SelectableItem ToolCard ChoiceGraph TreeBuilder Router "
    "ChoiceCard HydrationResult EventLog ArtifactStore Summarizer EpisodicStore FactStore "
    "ViewRegistry"
)
TEXT = (ROOT / "docs" / "concepts.md").read_text()
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", TEXT, re.S | re.M))


def names_in(text: str) -> list[str]:
    return re.findall(r"`([\w./]+)`", text)


@pytest.mark.parametrize("name", NAMES.split())
def test_every_name_is_explained(name):
    assert name in SECTIONS or f"`{name}`" in TEXT


@pytest.mark.filterwarnings("ignore:ToolCard is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", SECTIONS)
def test_what_holds_a_name_can_be_imported(name):
    held = re.search(r"^Held by (.*?)\.\s+Shown\s+by", SECTIONS[name], re.S | re.M)
    assert held, f"{name} does not say what holds it"
    for dotted in names_in(held[1]):
        module, _, attribute = dotted.rpartition(".")
        assert hasattr(import_module(module), attribute), dotted


@pytest.mark.parametrize("name", SECTIONS)
def test_every_name_says_which_test_shows_it(name):
    shown = re.split(r"Shown\s+by\s", SECTIONS[name])[1]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", shown)
    assert named
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(), f"{path} has no {test}"


def test_the_old_name_of_a_selectable_item_still_works_and_warns():
    with pytest.warns(DeprecationWarning, match="use SelectableItem"):
        assert routing.ToolCard is routing.SelectableItem
