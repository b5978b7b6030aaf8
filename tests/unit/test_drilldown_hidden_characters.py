"""Tokens that hidden characters split are masked in every view of a drill-down."""

from pathlib import Path

import pytest
from tests.firewall_made import KEY

from weft.firewall.views.drill import drill
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.compile import DrilldownRequest

LINE = b"x" * 99 + b"\n"
HIDING = {
    "colours": "\x1b[31m",
    "title": "\x1b]0;x\x07",
    "zero width": "\u200b",
    "joiner": "\u200d",
    "soft hyphen": "\u00ad",
    "tag": "\U000e0041",
    "bidi": "\u202e",
    "control": "\x07",
    "selector": "\ufe0f",
    "joiners": "\u200c\u200d",
    "unassigned": "\U000e0200",
    "not UTF-8 behind it": "\u200b",
}
SPLIT = ("ghp_" + "a1B2" * 9, "AKIA" + "ABCD" * 4)


@pytest.mark.parametrize("size", [0, 22_000], ids=["small", "large"])
@pytest.mark.parametrize("name", HIDING)
def test_what_is_hidden_in_a_token_hides_it_from_no_view(
    name: str, size: int, tmp_path: Path
) -> None:
    """Both kinds of token, one after the other in one body."""
    parts = [[one[start : start + 5] for start in range(0, len(one), 5)] for one in SPLIT]
    cut = [HIDING[name].join(part) for part in parts]
    lines = "first line\n" + "".join(f"key {one} used\n" for one in cut) + "last line\n"
    end = b"\xff\xfe" if name.startswith("not UTF-8") else b""
    body = tmp_path / "body"
    body.write_bytes(lines.encode() + end + LINE * size)
    for view, args in (("head", {}), ("lines", {"start": 2}), ("search", {"pattern": "key"})):
        asked = DrilldownRequest("art:x", view, args, 400)
        shown = drill(
            body, asked, content_type="text", fingerprint_key=KEY, encoding=DEFAULT_ENCODING
        ).text
        for secret in SPLIT:
            assert secret not in shown
            assert secret[4:14] not in shown
        assert shown.count("[secret:") == shown.count("used") == len(SPLIT)
