import pytest
from tests.data import DATA, needs_data
from tests.firewall_made import envelope

from weft.adapters.formats import read_transcripts
from weft.firewall.rule_paths import steps_of
from weft.passages.json_repair import repaired
from weft.tokens import DEFAULT_ENCODING, count
from weft_eval.envelope import evaluate, head_and_tail, states_whole, values_first_stated_by
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ContextItem, ItemKind


def envelope_of(item: ContextItem) -> ResultEnvelope:
    return envelope(item.text, **item.metadata)


def result(text: str) -> ContextItem:
    return ContextItem("r", ItemKind.TOOL_RESULT, text)


def call(**arguments: object) -> ContextItem:
    return ContextItem("c", ItemKind.TOOL_CALL, metadata={"arguments": arguments})


def test_a_taken_value_stands_in_the_result_and_in_nothing_before_it() -> None:
    items = [
        ContextItem("u", ItemKind.USER_TURN, "book for ann"),
        result('{"user": "ann", "flight": "HAT017", "seat": "17C"}'),
        call(user="ann", flight="HAT017", note="window", more={"seats": ["17C", True]}),
    ]
    assert values_first_stated_by(items, 1) == ["HAT017", "17C"]


def test_a_value_counts_as_a_whole_only() -> None:
    assert states_whole("id=HAT017.", "HAT017")
    assert not states_whole("HAT0170", "HAT017")


def test_head_and_tail_keeps_both_ends_within_its_tokens() -> None:
    text = " ".join(f"word{n}" for n in range(2_000))
    short = head_and_tail(text, 100, DEFAULT_ENCODING)
    assert short.startswith("word0 ")
    assert short.endswith("word1999")
    assert count(short) <= 103


@needs_data
@pytest.mark.parametrize("name", ["taubench", "livemcpbench"])
def test_envelopes_keep_more_of_what_is_needed_than_truncation(name: str) -> None:
    sessions = [
        transcript.items
        for path in sorted((DATA / name).glob("*.json"))
        for transcript in read_transcripts(path.read_bytes(), file=path.name)
    ]
    report = evaluate(sessions, envelope_of, threshold=500, cap=300, encoding=DEFAULT_ENCODING)
    assert report.values > 10
    assert report.kept >= report.head_and_tail + 0.1
    assert report.kept_in_summary >= report.head_and_tail + 0.1
    assert report.over_cap == 0


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("invoices[].number", ("invoices", "*", "number")),
        ("$.a.b[3]", ("a", "b", 3)),
        ('["odd key"][*]', ("odd key", "*")),
        ("", ()),
    ],
)
def test_a_keep_path_is_taken_apart(path: str, steps: tuple[str | int, ...]) -> None:
    assert steps_of(path) == steps


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ('{"a": [1, 2', '{"a": [1]}'),
        ('{"a": "tex', '{"a": "tex"}'),
        ('{"a": 1, "b', '{"a": 1}'),
        ('[{"a": "x\\u00', '[{"a": "x"}]'),
        ("[1, 2]]", "[1, 2]"),
        ("[}", None),
    ],
)
def test_cut_off_json_is_closed_where_it_is_whole(cut: str, whole: str | None) -> None:
    assert repaired(cut) == whole
