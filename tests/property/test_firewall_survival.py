"""Bodies made to break the firewall: at least 500 of each class, and the worst ones at full size.

Nothing crashes, every envelope goes to the log and back, no summary is over its cap, and what
passes whole equals its source. `make fuzz` runs the same with many more examples.
"""

import json
import os
import string
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.firewall_made import envelope

from weft.firewall.bounds import Bounds
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.policy import FirewallRules

EXAMPLES = int(os.environ.get("WEFT_FUZZ_EXAMPLES", "100"))
SMALL = Bounds(analyse_bytes=4_000, count_bytes=2_000, whole_bytes=3_000, matches=50)
TIGHT = FirewallRules(threshold=12, summary_tokens=40)

fuzz = settings(
    max_examples=EXAMPLES,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check(
    body: bytes | str, rules: FirewallRules = TIGHT, limits: Bounds = SMALL
) -> ResultEnvelope:
    found = envelope(body, rules, limits)
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    assert found.raw_size == len(raw)
    if found.passthrough:
        masked = any(signal.kind == "secret" for signal in found.signals)
        assert masked or found.summary.encode() == raw
    elif found.raw_tokens > rules.threshold:
        assert found.summary_tokens <= rules.summary_tokens
    assert len(found.facts) <= rules.max_facts
    return found


def repeated(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A short text many times over: what makes expressions explode."""
    return st.builds(lambda part, n, end: part * n + end, text, st.integers(1, 400), text)


names = st.sampled_from(
    ["type", "content", "text", "resource", "isError", "is_error", "structuredContent", "status",
     "error", "code", "message", "data", "mimeType", "uri", "id", "items", "result", "success"]
)  # fmt: skip
"""Fields that the firewall looks at, in results of tools whose fields mean something else."""
kinds = st.sampled_from(["text", "image", "resource", "error", "ok", 200, 404])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | kinds
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(names | st.text(max_size=12), inner, max_size=6)
    ),
    max_leaves=40,
)
records = st.lists(
    st.dictionaries(
        names, kinds | st.dictionaries(names, scalars, max_size=2) | values, max_size=5
    ),
    min_size=1,
    max_size=6,
)
words = st.text(
    alphabet=string.ascii_letters + " .,:;!?\n\t-_/\\'\"`#*|<>=@0123456789", max_size=300
)
edges = st.sampled_from(
    ["[", "{", "]", "}", '"', "'", "\\", "<", "</", "<!--", "a@", "a-", "x=", "password=", "://",
     "-----BEGIN PRIVATE KEY-----", "eyJ", 'File "', "  at a(", "@@ -1 +1 @@\n", "| - |\n", ",",
     "\t", "1 ", "1.", "1:", "::", "::1", "please ", "ignore all ", "\u200d", "\x1b[", "\x1b]",
     "TextContent(text='", "{'a': ", '{"a":', "- a:\n", "# \n", "```", "…", "\\u", "\\ud83d", "%"]
)  # fmt: skip


@fuzz
@given(st.binary(max_size=6_000))
def test_any_bytes(body: bytes) -> None:
    check(body)


@fuzz
@given(st.text(alphabet=st.characters(), max_size=1_500))
def test_any_text_with_lone_surrogates(body: str) -> None:
    check(body)


@fuzz
@given(words)
def test_any_words(body: str) -> None:
    check(body)


@fuzz
@given(repeated(edges | words))
def test_repetition_that_makes_expressions_explode(body: str) -> None:
    check(body)


@fuzz
@given(st.lists(edges, max_size=120).map("".join))
def test_openings_without_an_end(body: str) -> None:
    check(body)


@fuzz
@given(values)
def test_any_json_stays_json(value: object) -> None:
    body = json.dumps(value)
    found = check(body)
    if (
        isinstance(value, list | dict)
        and "NaN" not in body
        and "Infinity" not in body
        and found.summary
    ):
        json.loads(found.summary)


@fuzz
@given(records, st.booleans())
def test_any_records_whose_fields_have_the_names_of_a_containers(
    value: list[object], is_wrapped: bool
) -> None:
    check(json.dumps({"content": value} if is_wrapped else value))


@fuzz
@given(values, st.integers(0, 400))
def test_any_json_cut_off_anywhere(value: object, at: int) -> None:
    check(json.dumps(value)[:at])


@fuzz
@given(values)
def test_any_printed_python_value(value: object) -> None:
    check(repr(value))


@fuzz
@given(values, st.booleans())
def test_any_mcp_result(value: object, wrong: bool) -> None:
    blocks = [{"type": "text", "text": json.dumps(value)}, {"type": "image", "data": "x"}]
    check(json.dumps({"content": blocks, "structuredContent": value, "isError": wrong}))


@fuzz
@given(st.lists(st.lists(st.text(max_size=12), max_size=5), max_size=12), st.sampled_from(",;\t|"))
def test_any_table(rows: list[list[str]], delimiter: str) -> None:
    check("\n".join(delimiter.join(row) for row in rows))


@fuzz
@given(
    st.integers(0, 200),
    st.integers(0, 600),
    st.sampled_from(["word ", "1,2\n", '{"a":1}\n', "ü", "\x00"]),
)
def test_any_cap_and_threshold(cap: int, threshold: int, part: str) -> None:
    rules = FirewallRules(threshold=threshold, summary_tokens=cap, max_facts=cap // 10)
    check(part * 300, rules)


WORST: dict[str, Callable[[], bytes | str]] = {
    "lists": lambda: "[" * 1_000_000,
    "objects in a list": lambda: "[" + ",".join(['{"a":' * 300 + "1" + "}" * 300] * 900) + "]",
    "names": lambda: json.dumps([{f"key {n}": {"id": n} for n in range(9_000)}] * 4),
    "rows of other names": lambda: json.dumps(
        [{f"key {n % 400}": n for n in range(row, row + 300)} for row in range(300)]
    ),
    "lists of lists": lambda: json.dumps({"a": [[[[n] * 20] * 20] * 20 for n in range(12)]}),
    "objects": lambda: json.dumps({f"k{n}": {f"j{n}": [n, {"z": n}]} for n in range(20_000)}),
    "objects without an end": lambda: '{"a":' * 200_000,
    "deep": lambda: '{"a":[' * 100_000 + "]}" * 100_000,
    "a word": lambda: "a" * 1_000_000,
    "zeros": lambda: "\x00" * 1_000_000,
    "no UTF-8": lambda: b"\xff\xfe\x80" * 300_000,
    "lone surrogates": lambda: "\ud800" * 200_000,
    "quotes": lambda: '"' * 1_000_000,
    "backslashes": lambda: "\\" * 1_000_000,
    "backslashes and an end": lambda: "\\" * 1_000_000 + "x\\/",
    "escaped letters": lambda: "\\u0041" * 160_000,
    "escaped backslashes": lambda: "\\u005c" * 160_000,
}
"""Made by the test: else each process that collects the tests would hold all of them."""


@pytest.mark.parametrize("name", WORST)
def test_the_worst_megabyte_of_its_kind(name: str) -> None:
    check(WORST[name](), FirewallRules(), Bounds())


@pytest.mark.parametrize(
    "part",
    ["(", "a@", "1.1.", "1 ", "a-", "<a ", "<!--", "password=", "-----BEGIN PRIVATE KEY-----",
     "eyJhbGciOi.", "ignore ", "please send my ", "\n", "a: ", "['", "TextContent(text='", "\u200d",
     "\x1b[", "x,y\n", "| - |\n", "\U0001f468\u200d", '{"id":1}\n', "a/", "::", "x=" , "# "],
)  # fmt: skip
def test_a_pattern_that_makes_expressions_explode(part: str) -> None:
    check(part * (200_000 // len(part)), FirewallRules(), Bounds())


def test_fifty_megabytes_on_one_line() -> None:
    body = b'{"rows":[' + b'{"id":12345,"name":"a name"},' * 1_700_000 + b"1]}"
    found = check(body, FirewallRules(), Bounds())
    assert found.content_type == "application/json"
    assert json.loads(found.summary)


def test_more_than_a_megabyte_does_not_cost_more_than_the_window() -> None:
    part = "2024-05-01 10:00:00 INFO something happened to item 42\n"
    small = check(part * 80_000, FirewallRules(), Bounds(analyse_bytes=100_000))
    assert "bounded" in {signal.kind for signal in small.signals}
