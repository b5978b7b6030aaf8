"""Of a log whose lines say the same, the first, the last and the odd ones are shown with any other,
and what answers with few lines around it."""

import pytest

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.part import leaves
from weft.passages.splitting import outline_of

ACCESS = [
    f'10.0.3.{n % 250} - - [01/Aug/2024:10:{n % 60:02d}:00] "GET /items/{n}77 HTTP/1.1" 200 {n}'
    for n in range(900)
]
LEVELS = [
    f'level=info ts=10:00:{n % 60:02d} caller=sync.go:{88 + n % 3} msg="synced" took={n}ms'
    for n in range(900)
]
PATHS = [f"media/20{n % 20 + 10}/img_{n}77.jpg" for n in range(900)]
ODD = {
    "text/x-log": '10.0.3.9 - - [01/Aug/2024:10:28:24] "POST /items/4/refund HTTP/1.1" 503 87',
    "levels": 'level=warn ts=10:00:12 caller=sync.go:202 msg="requeue" took=30001ms',
    "text/x-listing": "total size is 1,203,991,112  speedup is 1.00",
}


@pytest.mark.parametrize(
    ("lines", "kind"),
    [(ACCESS, "text/x-log"), (LEVELS, "levels"), (PATHS, "text/x-listing")],
    ids=["access", "levels", "listing"],
)
def test_the_first_the_last_and_the_odd_line_are_shown_with_any_other(
    lines: list[str], kind: str
) -> None:
    text = "\n".join([*lines[:500], ODD[kind], *lines[500:]]) + "\n"
    outline = outline_of(text, "text/x-log" if kind == "levels" else kind)
    assert outline is not None
    wanted = next(
        number
        for number, leaf in enumerate(outline.leaves)
        if leaf.start <= text.index(lines[200]) < leaf.end
    )
    shown = assembled_text(text, outline, {wanted})
    for line in (lines[0], lines[200], ODD[kind], lines[-1]):
        assert line in shown.splitlines()
    assert len(shown) < 640
    assert max(leaf.size for leaf in outline.leaves) <= 160


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"Line {n} of a poem that {'says it all ' * (n % 5)}ends" for n in range(60)),
        "\n".join(ACCESS[:90]),
        "\n".join(word * (3 + n % 9) for n, word in enumerate(["a", "bb", "c d", "eee"] * 40)),
    ],
    ids=["prose", "few lines", "no values"],
)
def test_other_lines_are_not_as_rows(text: str) -> None:
    outline = outline_of(text, "text/plain")
    assert outline is not None
    assert not any(leaf.identifies for leaf in leaves(outline.root))
