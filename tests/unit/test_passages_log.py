"""A log's errors are shown with any part of it."""

from __future__ import annotations

import pytest

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.error_lines import level_of
from weft.passages.log import LOG
from weft.passages.part import leaf_count
from weft.passages.splitting import outline_of

FAILED = (
    "2025-11-24T08:20:27Z ERROR [pool-1] Hikari - Connection to pgbouncer:6432 timed out (10000 ms)"
)


def line(number: int, level: str = "DEBUG", said: str = "readiness check: db=DOWN") -> str:
    return f"2025-11-24T08:{number // 60:02}:{number % 60:02}Z {level} [http-3] {said} {number}"


def shown(lines: list[str], leaf: int) -> str:
    text = "\n".join(lines) + "\n"
    outline = outline_of(text, LOG)
    assert outline is not None
    return assembled_text(text, outline, [leaf % leaf_count(outline.root)])


def test_the_only_error_is_shown_with_any_other_part() -> None:
    lines = [*map(line, range(60)), FAILED, *map(line, range(60, 90))]
    for leaf in (0, 5, -1):
        text = shown(lines, leaf)
        assert FAILED in text
        assert "… " in text


def test_errors_that_say_the_same_are_shown_once() -> None:
    lines = [
        *map(line, range(30)),
        *(line(n, "ERROR", "no answer from host") for n in range(30, 50)),
    ]
    text = shown([*lines, FAILED, *map(line, range(50, 80))], 0)
    assert text.count("no answer from host") == 1
    assert FAILED in text


def test_errors_have_limited_room() -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    lines = [line(n, "ERROR", f"{word} " * 12) for n, word in enumerate(words)]
    logged = [*map(line, range(40)), *lines, line(40)]
    assert shown(logged, 0).count(" ERROR ") < 5


@pytest.mark.parametrize("text", ["ERRORS = 3", "INFO error.py: loaded", "2025 INFO no error"])
def test_a_word_in_another_line_is_no_error(text: str) -> None:
    lines = [*map(line, range(60)), text, text, *map(line, range(60, 90))]  # once it would be odd
    assert level_of(text) != "ERROR"
    assert text not in shown(lines, 0)


def test_a_long_line_may_be_the_only_error() -> None:
    failed = f"2025-11-24T08:20:27Z ERROR payment failed {'x=1 ' * 170}"
    assert failed in shown([*map(line, range(60)), failed, *map(line, range(60, 90))], 0)


def test_what_belongs_with_an_error_is_shown_with_it_though_other_errors_follow() -> None:
    required = ["  required: Options", "  found: nothing"]
    others = [line(n, "ERROR", f"{'ab'[n % 2]} refused " * 9) for n in range(60, 64)]
    before = [one for n in range(60) for one in (line(n), f"  took {n} ms", "  in all")]
    text = shown([*before, FAILED, *required, *others, *before], 0)
    assert "\n".join((FAILED, *required)) in text


ROWS = [f"Zeile {n}: übernommen (Kunde {n * 37})" for n in range(60)]
HOSTS = [f"host=web-{n} status=up ms={n}" for n in range(60)]


@pytest.mark.parametrize(
    ("lines", "odd"),
    [
        (
            [*ROWS, "Zeile 60: abgelehnt, IBAN ungültig", *ROWS],
            "Zeile 60: abgelehnt, IBAN ungültig",
        ),
        ([*ROWS, "60 Zeilen gelesen, 60 übernommen"], "60 Zeilen gelesen, 60 übernommen"),
        ([*HOSTS, "host=kiosk-7 status=down ms=3", *HOSTS], "host=kiosk-7 status=down ms=3"),
    ],
)
def test_a_line_unlike_all_others_is_shown_with_any_part(lines: list[str], odd: str) -> None:
    outline = outline_of("\n".join(lines), "text/plain")
    assert outline is not None
    assert odd in assembled_text("\n".join(lines), outline, {0})


JOBS = [
    f"15:57:{n % 60:02} {job} | {said} stacks/{n}"
    for n, (job, said) in enumerate(
        [("opa", "ok"), ("fmt", "skip"), ("docs", "PASS"), ("tflint", "passed check 7")] * 20
    )
]
DENIED = "15:57:12 opa | DENY stacks/idem.tf:2 rule=module_source; use the registry"
SUMMARY = "15:58:40 summary | 4 jobs ok, 1 failed (opa)"


def marked(lines: list[str]) -> str:
    """What is shown with the first part of these lines."""
    text = "\n".join(lines) + "\n"
    outline = outline_of(text, "text/plain")
    assert outline is not None
    return assembled_text(text, outline, {0})


def test_of_lines_with_bars_those_with_a_rare_value_are_shown_with_any_part() -> None:
    found = marked([*JOBS, DENIED, *JOBS, SUMMARY])
    assert DENIED in found
    assert SUMMARY in found
    assert found.count("\n") < 20


@pytest.mark.parametrize(
    "lines",
    [
        [*JOBS, DENIED.replace("|", ":"), *JOBS],
        [*JOBS, *(DENIED.replace("DENY", f"DENY{n}") for n in range(5)), *JOBS],
        [line.replace(" | ", " - ") for line in [*JOBS, DENIED, *JOBS]],
    ],
)
def test_without_a_few_rare_values_between_bars_no_line_is(lines: list[str]) -> None:
    assert "DENY" not in marked(lines)


def test_the_rows_of_a_table_among_other_lines_stay_under_its_header() -> None:
    rows = [f" {n}  | {'open' if n - 40 else 'DENY'} | {n * 7}" for n in range(90)]
    found = marked(["psql -f a.sql", " id | state | sum", "----+-------+-----", *rows, "(90 rows)"])
    assert "DENY" not in found or " id | state | sum" in found


def test_the_only_warning_is_shown_with_any_part() -> None:
    warning = line(60, "WARN", "heap after preload 702 MiB of 576 MiB")
    lines = [*(line(n, "INFO", f"GET /{n * 7919} 200") for n in range(60)), warning]
    lines += (line(n, "INFO", f"POST /v{n}/pay took {n} ms") for n in range(61, 90))
    for leaf in (0, 3, -1):
        assert warning in shown(lines, leaf)


def test_one_of_many_warnings_is_not() -> None:
    levels = ("WARN", "INFO", "INFO")
    lines = [line(n, levels[n % 3], f"GET /{n * 7919} 200") for n in range(90)]
    assert "WARN" not in shown(lines, -1).replace(lines[-3], "")


WARNED = (
    "drive current of M2 over its limit",
    "frame flagged, stars are long",
    "model is out of date",
)


def outliers(lines: list[str]) -> list[str]:
    text = "\n".join(lines) + "\n"
    outline = outline_of(text, LOG)
    assert outline is not None
    return [text[outline.leaves[at].start : outline.leaves[at].end] for at in outline.outliers]


def test_the_first_line_of_each_kind_of_warning_comes_before_others() -> None:
    lines = [line(n, "INFO", f"GET /{n * 7919} 200") for n in range(90)]
    for n, said in enumerate(WARNED * 3):
        lines.insert(7 * n + 5, line(n, "WARN", said))
    found = outliers(lines)
    assert len(found) == len(WARNED)
    assert all(any(said in one for one in found) for said in WARNED)


def test_where_a_third_of_the_lines_warn_none_comes_first() -> None:
    levels = ("WARN", "INFO", "INFO")
    assert not outliers([line(n, levels[n % 3], f"{WARNED[0]} {n * 7919}") for n in range(90)])


def always_shown(lines: list[str], content_type: str) -> str:
    text = "\n".join(lines) + "\n"
    outline = outline_of(text, content_type)
    assert outline is not None
    return "".join(text[one.start : one.end] for one in outline.leaves if one.identifies)


UPLOADS = [
    f"{verb}: out/{n * 7_919:06}.parquet to s3://lake/{n * 104_729:08}{' in parts' * (n % 3)}"
    for n, verb in enumerate(("upload", "copy", "move", "link") * 3)
]
DENIED = "upload failed: out/keys.parquet An error occurred (AccessDenied): no policy allows it"


def test_an_error_in_what_a_program_printed_is_shown_with_any_part() -> None:
    """It was a sentence among others, if the text was no log."""
    lines = [*UPLOADS[:8], DENIED, *UPLOADS[8:]]
    assert always_shown(lines, "text/plain") == f"{DENIED}\n"


@pytest.mark.parametrize(
    "lines",
    [
        [f"{n:4}\tconfig.retry_{n} = {n}  # when it failed" for n in range(40)],
        [f"We met number {n} of those who failed and then went on" for n in ("one", "two") * 16],
    ],
)
def test_a_word_for_an_error_in_a_file_or_in_prose_is_none(lines: list[str]) -> None:
    assert always_shown(lines, "text/plain") == ""


def test_lines_say_behind_their_prefix_what_they_would_say_without_it() -> None:
    said = [
        *(f"INFO {one}" for one in UPLOADS * 3),
        "ERROR: refused",
        "  required: Options",
        "BUILD SUCCESSFUL in 41s",
    ]
    lines = [f"2025-11-24T08:20:{n * 17 % 60:02}.123Z {one}" for n, one in enumerate(said)]
    found = always_shown(lines, LOG)
    assert all(one in found for one in said[-3:])
