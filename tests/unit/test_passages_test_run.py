"""Test runs: what failed, and why, is shown with any part of them."""

import pytest
from tests.firewall_made import envelope

from weft.passages.part import leaves
from weft.passages.splitting import outline_of
from weft.passages.test_run import TEST_RUN, Line, kinds_of, split_test_run
from weft_schemas.policy import FirewallRules

PYTEST = (
    "============================= test session starts ==============================\n"
    + "".join(
        f"tests/test_m.py::test_{n} {'FAILED' if n == 300 else 'PASSED'}   [{n // 4:3d}%]\n"
        for n in range(401)
    )
    + """
=================================== FAILURES ===================================
___________________________________ test_300 ___________________________________

    def test_300():
        order = Order(lines=[1, 2])
>       assert order.total == 3
E       assert 4 == 3

tests/test_m.py:88: AssertionError
=========================== short test summary info ============================
FAILED tests/test_m.py::test_300 - assert 4 == 3
======================== 1 failed, 400 passed in 12.31s ========================
"""
)


def jest(name: str) -> str:
    return "".join(
        f"PASS src/{name}{n}.test.ts\n  Module {n}\n    ✓ adds {n} (3 ms)\n    ✓ removes {n}\n"
        for n in range(60)
    )


JEST = f"""{jest("m")}FAIL src/cart.test.ts
  Cart
    ✓ adds (2 ms)
    ✕ totals (5 ms)

  ● Cart > totals

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: 4

    > 11 |     expect(cart.total).toBe(3);

{jest("n")}
Test Suites: 1 failed, 120 passed, 121 total
Tests:       1 failed, 241 passed, 242 total
"""
GO = (
    "".join(f"=== RUN   TestA{n}\n--- PASS: TestA{n} (0.00s)\n" for n in range(200))
    + "=== RUN   TestTotal\n    cart_test.go:12: got 4, want 3\n--- FAIL: TestTotal (0.00s)\n"
    + "".join(f"=== RUN   TestB{n}\n--- PASS: TestB{n} (0.00s)\n" for n in range(200))
    + "FAIL\nFAIL\texample.com/cart\t0.005s\n"
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            PYTEST,
            [
                "tests/test_m.py::test_300 FAILED   [ 75%]",
                "E       assert 4 == 3",
                "FAILED tests/test_m.py::test_300 - assert 4 == 3",
                "1 failed, 400 passed in 12.31s",
            ],
        ),
        (
            JEST,
            ["FAIL src/cart.test.ts", "✕ totals", "Expected: 3", "Received: 4", "1 failed, 241"],
        ),
        (GO, ["cart_test.go:12: got 4, want 3", "--- FAIL: TestTotal", "FAIL\texample.com/cart"]),
    ],
)
def test_what_failed_is_shown_with_any_part(text: str, lines: list[str]) -> None:
    outline = outline_of(text, envelope(text, FirewallRules(threshold=200)).content_type)
    assert outline is not None
    always = [text[one.start : one.end] for one in outline.root.children if one.identifies]
    assert all(any(line in shown for shown in always) for line in lines)
    assert sum(map(len, always)) <= 700


@pytest.mark.parametrize("text", [PYTEST, JEST, GO, PYTEST + PYTEST.replace("300", "17") * 30])
def test_the_parts_of_a_run_are_all_of_it(text: str) -> None:
    made = split_test_run(text, "text/x-test-run")
    assert made is not None
    parts = list(leaves(made))
    assert [one.start for one in parts] == [0, *(one.end for one in parts[:-1])]
    assert parts[-1].end == len(text)
    assert {one.unit for one in parts} == {"line"}
    assert sum(one.count for one in parts) == text.count("\n")
    assert sum(one.size for one in made.children if one.identifies) <= 700


def test_another_text_is_no_test_run() -> None:
    assert split_test_run(PYTEST, "text/plain") is None


@pytest.mark.parametrize("text", [PYTEST, JEST, GO])
def test_a_summary_tells_what_failed_before_what_passed(text: str) -> None:
    found = envelope(text, FirewallRules(threshold=100, summary_tokens=140))
    assert found.content_type == "text/x-test-run"
    wanted = {PYTEST: "E       assert 4 == 3", JEST: "Expected: 3", GO: "got 4, want 3"}[text]
    assert wanted in found.summary


def test_the_lines_below_a_failure_come_before_those_of_other_tests() -> None:
    summary = envelope(JEST, FirewallRules(threshold=200, summary_tokens=300)).summary
    assert "expect(received).toBe(expected)" in summary
    assert "> 11 |     expect(cart.total).toBe(3);" in summary


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("FAILED tests/a.py::test_a - AssertionError: assert 'PASSED' == 'X'", Line.FAILURE),
        ("E       AssertionError: assert s == PASSED", Line.REASON),
        ("not ok 3 - state is PASSED", Line.FAILURE),
        ("FooTest > bar() FAILED", Line.FAILURE),
        ("FAILED (failures=1)", Line.FAILURE),
        ("tests/a.py::test_x PASSED", Line.PASSED),
    ],
)
def test_what_failed_is_no_pass_whatever_it_quotes(line: str, kind: Line) -> None:
    assert kinds_of([line]) == [kind]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("tests/a.py::test_b PASSED [ 50%]", Line.PASSED),
        ("tests/a.py::test_b PASSED    [100%]", Line.PASSED),
        ("tests/a.py::test_b FAILED (it says PASSED ) [ 50%]", Line.FAILURE),
        ("tests/a.py::test_b FAILED - not PASSED [ 50%]", Line.FAILURE),
        ("FAILED tests/a.py::test_b - not PASSED [ 50%]", Line.FAILURE),
        ("E   assert 'PASSED [ 50%]' == 'PASSED [ 60%]", Line.REASON),
        ("  \u2713 adds numbers (3 ms)", Line.PASSED),
        ("=== RUN   TestA", Line.PASSED),
        ("=== RUN of 3 failed ===", Line.TOTAL),
        ("--- PASS: TestA (0.00s)", Line.PASSED),
        ("--- FAIL: TestA (0.00s)", Line.FAILURE),
        ("\u2713 suite > adds FAILED", Line.FAILURE),
        ("\u2713 Tests run: 3, Failures: 0", Line.TOTAL),
    ],
)
def test_a_line_that_is_told_without_a_pattern_says_what_the_pattern_says(
    line: str, kind: Line
) -> None:
    assert kinds_of([line]) == [kind]


SWEEP = (
    "".join(f"=== RUN   Test{n}\n--- PASS: Test{n} (0.0{n}s)\n" for n in range(9))
    + "=== RUN   TestSweep\n"
    + "    sweep_test.go:77: read without the lock\n" * 9
    + "--- FAIL: TestSweep (0.31s)\nFAIL\nFAIL\tfleet/track\t3.2s\n"
)


@pytest.mark.parametrize(("text", "passed"), [(SWEEP, 18), (PYTEST, 400)])
def test_passed_tests_stand_beside_what_a_run_says(text: str, passed: int) -> None:
    outline = outline_of(text, "text/x-test-run")
    assert outline is not None
    held = outline.leaves
    assert "".join(text[one.start : one.end] for one in held) == text
    beside = "".join(text[held[at].start : held[at].end] for at in sorted(outline.asides))
    assert beside.count("\n") == passed
    assert all("PASS" in line or "=== RUN   Test" in line for line in beside.splitlines())
    assert "TestSweep" not in beside


def test_a_few_passed_tests_are_no_asides() -> None:
    made = split_test_run(SWEEP.replace("--- PASS", "ok is --- PASS"), "text/x-test-run")
    assert made is not None
    assert not any(one.is_aside for one in leaves(made))


def test_what_a_panic_says_below_its_place_is_shown_with_any_part() -> None:
    said = "thread 'clock' panicked at src/burst.rs:93:5:\ntokens were lost: 31.2 < 32.0\n"
    passed = "".join(f"test burst::t{n} ... ok\n" for n in range(60))
    text = f"{passed}test burst::clock ... FAILED\n\n{said}\ntest result: FAILED. 1 failed\n"
    root = split_test_run(text, TEST_RUN)
    assert root is not None
    assert any(text[one.start : one.end] == said for one in root.children if one.identifies)


MAVEN = f"""[INFO] Scanning for projects...
{"[INFO] Downloading a part of it" * 4}
[INFO] Tests run: 41, Failures: 0, Errors: 0, Skipped: 2, Time elapsed: 1.522 s
{"".join(f"[INFO] step {n} of the module that follows{chr(10)}" for n in range(20))}\
[ERROR] COMPILATION ERROR :
[INFO] -------------------------------------------------------------
[ERROR] /src/main/java/AmountReader.java:[38,28] cannot find symbol
  symbol:   variable Decimals
  location: class AmountReader
[INFO] 1 error
[INFO] BUILD FAILURE
[INFO] Total time:  12.303 s
"""


def always_shown(text: str) -> str:
    made = split_test_run(text, TEST_RUN)
    assert made is not None
    return "".join(text[one.start : one.end] for one in leaves(made) if one.identifies)


def test_what_failed_beside_the_tests_is_shown_with_any_part() -> None:
    """It was like any other line: a run in which no test fails may still fail."""
    shown = always_shown(MAVEN)
    assert "[38,28] cannot find symbol\n  symbol:   variable Decimals\n" in shown
    assert "BUILD FAILURE" in shown
    passed = MAVEN.replace("[ERROR] ", "test_error PASSED ")
    assert "COMPILATION" not in always_shown(passed)


@pytest.mark.parametrize(
    "prefix", ["2025-10-02T09:15:14.123Z ", "job\tstep\t2025-10-02T09:15:14Z "]
)
def test_a_failure_is_known_behind_the_prefix_of_each_line(prefix: str) -> None:
    collected = "".join(f"{prefix}{line}" for line in JEST.splitlines(keepends=True))
    assert "✕ totals" in always_shown(collected)
    assert "Received: 4" in always_shown(collected)
