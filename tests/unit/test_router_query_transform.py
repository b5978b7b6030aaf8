"""From a user's words to a routing query, by whatever transformer is configured."""

from pathlib import Path

import pytest

from weft.router.query_transform import (
    GROUP,
    by_model,
    configured,
    identity,
    template,
    transformer_named,
)
from weft_schemas.errors import ConfigurationError


class Rewriting:
    """A completion that answers what it was told to and keeps the question."""

    model = "told"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.question = ""

    def complete(self, instruction: str, question: str, max_tokens: int) -> str:
        self.question = question
        return self.answer


def test_by_default_a_query_is_as_it_is() -> None:
    assert transformer_named("identity") is identity
    assert identity("find invoices") == "find invoices"


def test_a_template_surrounds_it() -> None:
    assert template("a tool to {query}, please")("find {x}") == "a tool to find {x}, please"
    with pytest.raises(ConfigurationError, match=r"has no \{query\}"):
        template("a tool")


def test_a_model_rewrites_it() -> None:
    model = Rewriting("search for invoices")
    assert by_model(model)("I wonder where my invoice from May is") == "search for invoices"
    assert "my invoice from May" in model.question


def test_an_empty_answer_changes_nothing() -> None:
    assert by_model(Rewriting(""))("find invoices") == "find invoices"


def test_an_unknown_transformer_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'shout' is not installed"):
        transformer_named("shout")


def test_an_installed_transformer_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_queries.py").write_text("def shout(query):\n    return query.upper()\n")
    described = tmp_path / "loud_queries-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: loud_queries\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\nshout = loud_queries:shout\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert configured("shout")("find invoices") == "FIND INVOICES"


def test_the_configured_one_is_made() -> None:
    assert configured("identity") is identity
    assert configured("tools to {query}")("pay") == "tools to pay"
    assert configured("identity", "http://127.0.0.1:9/v1", "m") is not identity
