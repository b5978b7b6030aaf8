"""What ADK tells in words of other agents is recognised, and its models by their names."""

from __future__ import annotations

import pytest

from weft.integrations.adk_words import Retold, is_gemini, is_of_google, retold

FENCED = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n{}\n<<<END_QUOTED_AGENT_CONTENT>>>"


@pytest.mark.parametrize("form", ["{}", FENCED])
@pytest.mark.parametrize("quoted", ["two\nlines", "", "[a] said:\nnothing"])
def test_each_kind_of_part_is_told_apart(form: str, quoted: str) -> None:
    text = form.format(quoted)
    assert retold(f"[a] said:\n{text}") == Retold("a", "said", "", quoted)
    assert retold(f"[a] thought:\n{text}") == Retold("a", "thought", "", quoted)
    called = f"[a] called tool `look` with parameters:\n{text}"
    assert retold(called) == Retold("a", "called", "look", quoted)
    assert retold(f"[a] `look` tool returned result:\n{text}") == Retold(
        "a", "returned", "look", quoted
    )
    assert retold(f"a said:\n{text}") is None


@pytest.mark.parametrize(
    ("model", "gemini", "google"),
    [
        ("gemini-2.5-flash", True, True),
        ("projects/p/locations/l/endpoints/1", True, True),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", True, True),
        ("gemini/gemini-2.5-flash", True, False),
        ("vertex_ai/gemini-2.5-flash", True, False),
        ("openai/gpt-5", False, False),
        ("claude-sonnet-4", False, False),
        (None, False, False),
    ],
)
def test_models_of_google_are_told_by_their_names(model, gemini, google) -> None:
    assert (is_gemini(model), is_of_google(model)) == (gemini, google)
