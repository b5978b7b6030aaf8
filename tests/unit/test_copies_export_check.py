"""An export that is cut off, damaged or changed anywhere is told before anything is imported."""

from __future__ import annotations

import hashlib
import io

import pytest

from weft.copies.copy_digest import CopyDigest
from weft.copies.export_check import check_export
from weft.copies.export_format import (
    BodyLine,
    ChunkLine,
    EndLine,
    StartLine,
    encoded_line,
    line_of,
    read_line,
)
from weft.readmodel.model import records_of
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import SessionName
from weft_schemas.items import ContextItem, ItemKind

CONTENT = b"a body of some bytes" * 50


def export() -> list[bytes]:
    items = [ContextItem(f"i{n}", ItemKind.USER_TURN, f"turn {n}") for n in range(4)]
    copy_digest, lines = CopyDigest(), []
    for record in records_of(items, "t", "s"):
        copy_digest.take(record, SessionName("t", "s"))
        lines.append(encoded_line(line_of(record)))
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    encoded = ChunkLine("YSBib2R5IG9mIHNvbWUgYnl0ZXM=")
    body = [encoded_line(BodyLine(sha256, len(CONTENT))), *[encoded_line(encoded)] * 50]
    return [
        encoded_line(StartLine("t", "s", 9, {})), *lines[:2], *body, *lines[2:],
        encoded_line(EndLine(4, 1, copy_digest.hexdigest())),
    ]  # fmt: skip


def check(lines: list[bytes]) -> None:
    check_export(io.BytesIO(b"".join(lines)))


def test_a_whole_one_is_whole() -> None:
    check(export())


@pytest.mark.parametrize("kept", [0, 1, 3, 20, -2, -1])
def test_one_that_is_cut_off_is_not(kept: int) -> None:
    with pytest.raises(InvalidInput, match=r"not whole.*nothing was imported; export again"):
        check(export()[:kept])


def test_one_that_is_cut_off_within_a_line_names_it() -> None:
    whole = b"".join(export())
    with pytest.raises(InvalidInput, match=r"line 57 .*nothing was imported"):
        check([whole[:-20]])


@pytest.mark.parametrize("line", range(57))
def test_a_change_in_any_line_is_noticed(line: int) -> None:
    lines = export()
    changed = lines[line].replace(b"turn ", b"torn ").replace(b"YSBib2R5", b"YSBib3R5")
    changed = changed.replace(b'"size":1000', b'"size":1001').replace(b'"bodies":1', b'"bodies":2')
    if line == 0:
        changed = changed.replace(b'"line":"start"', b'"line":"record"')
    with pytest.raises(InvalidInput, match="nothing was imported"):
        check([*lines[:line], changed, *lines[line + 1 :]])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [lines[0], *lines[2:]], "3 events"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 3 .* out of order"),
        (lambda lines: [*lines[:4], b'{"line":"chunk","base64":"?"}\n', *lines[5:]], "line 5"),
        (lambda lines: [*lines[:1], lines[5], *lines[1:]], "line 2 belongs to no body"),
        (lambda lines: [*lines, lines[1]], "line 58 stands in the wrong place"),
        (lambda lines: [*lines[:2], b"\x00\xff\n", *lines[3:]], "line 3 is none of an export"),
    ],
)
def test_what_is_wrong_is_told(damage, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check(damage(export()))


def test_a_line_that_is_too_deep_is_told_of() -> None:
    payload = b"[" * 100_000 + b"]" * 100_000
    line = b'{"line":"record","sequence":1,"session":"s","direction":"in","event":"user_turn",'
    with pytest.raises(InvalidInput, match="line 7"):
        read_line(line + b'"published_ns":1,"payload":' + payload + b"}", 7)
