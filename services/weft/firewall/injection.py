"""Text in a tool's result that speaks to the model instead of answering it. (First version.)"""

from __future__ import annotations

import re2

from weft_schemas.envelope import Signal

_OVERRIDE = re2.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following|neglect)\b"
    r".{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|your|the|system|original|existing)\b"
    r".{0,40}\b(?:instructions?|prompts?|rules?|directives?|guidelines?|commands?|context|messages?|constraints?|orders?)\b"
)


def find_injections(text: str) -> tuple[Signal, ...]:
    count = sum(1 for _ in _OVERRIDE.finditer(text))
    if not count:
        return ()
    return (
        Signal(
            "injection", "instruction_override", count, "tells the reader to drop its instructions"
        ),
    )
