"""Turns bytes into text that reads as it is: invisible, bidirectional and tag characters, terminal
escapes and control codes are removed, and each is reported. Page breaks become line breaks."""

from __future__ import annotations

import re

import msgspec

from weft_schemas.envelope import Signal

ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"  # colours, cursor
    "|\x1b[\\]PX^_][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\\\|(?=\n)|$)"  # titles, hyperlinks
    "|\x1b[@-Z\\\\^_a-z0-9=><()#%][0-9A-B]?"
    "|[\x1b\x9b]"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_MAY_BREAK = re.compile("[\v\f\x85]")
_BREAK = re.compile(r"(?<=\n)[\v\f\x85]|[\v\f\x85](?=\r?\n)")
"""Beside a line break it ends a page. Anywhere else it may cut a secret in two, and is removed."""
_HIDDEN_ASCII = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_TAG = re.compile("[\U000e0000-\U000e007f]+")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]+"
)
# Joiners and variation selectors belong between letters of other scripts and in emoji; next to
# plain ASCII they only hide something.
_STRAY_JOINER = re.compile(
    "(?<![^\x00-\x7f])[\u200c\u200d\ufe00-\ufe0e]+|[\u200c\u200d]+(?![^\x00-\x7f])"
    "|(?<![^\x00-\x7f]|[0-9#*])\ufe0f+|(?<=[\u200c\u200d])[\u200c\u200d]+"
)
_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]")
_ANY = re.compile("|".join(one.pattern for one in (_CONTROL, _BIDI, _TAG, _INVISIBLE, _JOINERS)))
"""A text without any of these characters has nothing to remove."""
_HIDDEN = (
    ("invisible", "tag_characters", _TAG, "characters of the invisible tag block"),
    ("invisible", "bidirectional", _BIDI, "characters that change the direction of text"),
    ("invisible", "zero_width", _INVISIBLE, "characters without width"),
    ("invisible", "joiners", _STRAY_JOINER, "joiners that join nothing"),
)


class Cleaned(msgspec.Struct, frozen=True):
    text: str
    """Valid Unicode without hidden characters."""
    changed: bool
    """Whether it differs from the source."""
    signals: tuple[Signal, ...]


def clean(data: bytes) -> Cleaned:
    """Decode as UTF-8 and remove invisible characters. Linear in `data`; never raises."""
    signals: list[Signal] = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        broken = max(1, text.count("\ufffd"))
        signals.append(Signal("malformed", "invalid_utf8", broken, "bytes that are not UTF-8"))
    if text.isascii() and len(data.translate(None, _HIDDEN_ASCII)) == len(data):
        return Cleaned(text, bool(signals), tuple(signals))
    characters = "".join(set(text))  # for a long text, far fewer than all its characters
    if not _ANY.search(characters):
        return Cleaned(text, bool(signals), tuple(signals))
    written = text
    if _MAY_BREAK.search(characters):
        text = _BREAK.sub("\n", text)
    if "\x1b" in text or "\x9b" in text:
        text = _strip(text, ANSI, "control", "ansi_escape", "terminal escapes", signals)
    text = _strip(text, _CONTROL, "control", "control_code", "control codes", signals)
    for kind, name, pattern, detail in _HIDDEN:
        if (_JOINERS if pattern is _STRAY_JOINER else pattern).search(characters):
            text = _strip(text, pattern, kind, name, detail, signals)
    return Cleaned(text, bool(signals) or text != written, tuple(signals))


def _strip(
    text: str, pattern: re.Pattern[str], kind: str, name: str, detail: str, signals: list[Signal]
) -> str:
    if pattern.search(text) is None:
        return text
    text, count = pattern.subn("", text)
    signals.append(Signal(kind, name, count, f"{detail}, stripped"))
    return text
