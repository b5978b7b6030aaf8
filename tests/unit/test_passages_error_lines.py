"""Where a text tells of an error."""

import pytest

from weft.passages.error_lines import first_error


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Compiling quick-error v2.2.1\nCompiling libc\nerror[E0308]: mismatched types\n", 2),
        ("test result: ok. 3 passed; 0 failed\nwrote no errors\nthread panicked: exception", 2),
        ("2025-11-24 INFO retried after error\n2025-11-24 WARN error rate\nTypeError: x", 2),
        ("=== RUN TestA\n--- FAIL: TestA (0.00s)\n", 1),
        ('{"ok": false, "error": "denied"}', 0),
        ('{"level":"INFO","msg":"started, ' + "x" * 400 + '","error":"boom happened"}', 0),
        ("started\n[INFO] BUILD FAILURE\n", 1),
        ("Request timeout after 30 s", 0),
        ("INFO retry after error ok\nwrote stderr.log fine\nERROR: disk is full", 2),
        ("test_error PASSED, as test_fail\n" * 400 + "KeyError: 'flight' missing", 400),
        ("DEBUG got {" + '"a": "b", ' * 50 + '"error": null}\nERROR: disk is full', 1),
        ("\u0130 caf\u00e9 \U0001f600\nall well\nERROR: boom", 2),
        ("all is well\nexit 1\n", None),
        ("started\nsearch-1 exited with code 78\n", 1),
        ("started\nsearch-1 exited with code 0\n", None),
        ("src/a.go:9:2: declared and not used: n\n--- FAIL: TestA (0.00s)\n", 1),
        ("building\nsrc/a.go:9:2: declared and not used: n\n", 1),
        ("12:30:45: started\n2025-11-24 12:30:45: on\n", None),
        ("src/a.go:9:2: note: n\nsrc/a.py:9:2: C0114: Missing docstring\n", None),
        ("src/a.py:1:0: C0114: Missing docstring\nsrc/a.py:4:0: E0611: No name\n", 1),
    ],
)
def test_the_first_error_is_where_one_is_told(text: str, line: int | None) -> None:
    place = first_error(text)
    assert (None if place is None else text.count("\n", 0, place)) == line


WORDS = """
    error err fatal critical severe panic exception failed failure traceback denied refused cannot
    unable timeout timedout time_out timed_out not_found undefined_reference undefined_symbols
    unresolved_external multiple_definition duplicate_symbol
"""


@pytest.mark.parametrize("word", [word.replace("_", " ") for word in WORDS.split()])
def test_each_word_for_an_error_is_found(word: str) -> None:
    assert first_error(f"all well\nthe host said {word} then\n") is not None
    assert first_error(f"all well\nthe host said {word.upper()} then\n") is not None
