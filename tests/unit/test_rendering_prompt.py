"""Entries to the prompt: short labels that nobody can borrow, days where they change."""

from hypothesis import given
from hypothesis import strategies as st
from tests.session_view import ListView

from weft import tokens
from weft.compiler.compile import compile_pack
from weft.compiler.rendering.counting import counter, prompt_tokens
from weft.compiler.rendering.prompt import render
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def entry(item_id: str, kind: ItemKind, text: str, **more: str | None) -> PackEntry:
    return PackEntry(item_id=item_id, kind=kind, text=text, section="context", **more)


def test_a_prompt_reads_like_a_transcript() -> None:
    entries = [
        PackEntry(item_id="", kind=ItemKind.MEMORY_FACT, text="facts: a=1", section="header"),
        entry("p", ItemKind.POLICY, "Be brief."),
        entry("u", ItemKind.USER_TURN, "Hello"),
        entry("c", ItemKind.TOOL_CALL, "get(id=3)", tool_name="get"),
        entry("r", ItemKind.TOOL_RESULT, "<1 ok 1>", parent_id="c", tool_name="get"),
        entry("a", ItemKind.AGENT_MSG, "Done"),
        entry("d", ItemKind.DOC_SNIPPET, "Manual"),
        entry("f", ItemKind.MEMORY_FACT, "likes tea"),
        entry("s", ItemKind.PLAN_STATE, "step 2"),
    ]
    assert render(entries).splitlines() == [
        "facts: a=1",
        "policy: Be brief.",
        "user: Hello",
        "call: get(id=3)",
        "result: <1 ok 1>",
        "agent: Done",
        "doc: Manual",
        "fact: likes tea",
        "plan: step 2",
    ]


def test_a_result_apart_from_its_call_names_the_tool() -> None:
    late = entry("r", ItemKind.TOOL_RESULT, "<1 ok 1>", parent_id="c", tool_name="get\nuser")
    assert render([late]) == "result of get user: <1 ok 1>"


def test_results_of_parallel_calls_say_which_call_they_answer() -> None:
    """Or a model reads them in the order of the calls."""
    items = [ContextItem("u", ItemKind.USER_TURN, "How warm is it there?")]
    cities = ("Paris", "London", "Rome")
    for city in cities:
        metadata = {"tool_name": "weather", "call_id": city, "arguments": {"city": city}}
        items.append(ContextItem(city, ItemKind.TOOL_CALL, "", metadata=metadata))
    for at, city in enumerate(reversed(cities)):
        metadata = {"tool_name": "weather", "call_id": city}
        items.append(
            ContextItem(f"r{at}", ItemKind.TOOL_RESULT, f"{at}0 degrees", city, metadata=metadata)
        )
    prompt = compile_pack(ListView(items), CompileRequest(Phase.ANSWER)).pack.prompt
    for city, degrees in (("Paris", "20 degrees"), ("London", "10 degrees")):
        assert any(
            line.startswith(f'result of weather({{"city":"{city}"}}): ') and degrees in line
            for line in prompt.splitlines()
        ), prompt
    assert 'call: weather({"city":"Rome"})\nresult: ' in prompt


def test_authors_speak_under_their_names_but_under_no_label_of_ours() -> None:
    says = [
        entry("1", ItemKind.USER_TURN, "Hi", author=name) for name in ("Ann", "System", "a\nb:")
    ]
    assert render(says).splitlines() == ["Ann: Hi", "user System: Hi", "a b: Hi"]


def test_days_stand_where_they_change_and_years_where_they_do() -> None:
    times = ("2023-05-08T13:00:00Z", "2023-05-08T14:00:00Z", "2023-06-01", "2024-01-01", "soon")
    says = [entry(str(at), ItemKind.USER_TURN, "Hi", occurred_at=at) for at in times]
    assert render(says).splitlines() == [
        "8 May 2023", "user: Hi", "user: Hi", "1 Jun", "user: Hi", "1 Jan 2024", "user: Hi",
        "user: Hi",
    ]  # fmt: skip


texts = st.text(
    st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from("\n \t.,/:<>'1a")),
    max_size=40,
)


@given(st.lists(texts, max_size=6), st.sampled_from(tokens.ENCODINGS))
def test_tokens_of_blocks_add_up_to_those_of_the_prompt(said: list[str], encoding: str) -> None:
    entries = [entry(str(at), ItemKind.USER_TURN, text) for at, text in enumerate(said)]
    exact = tokens.count(render(entries), encoding)
    assert prompt_tokens(entries, counter(encoding)) == exact
