"""LoCoMo conversations: turns of two people over months, each session with its date."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from weft.adapters.drafting import Reading, checked
from weft.adapters.records import Record
from weft.days import month_number
from weft_schemas.items import ContextItem, ItemKind

_SESSION = re.compile(r"session_(\d+)\Z")
_DATE = re.compile(r"(\d+):(\d+) ([ap])m on (\d+) (\w+), (\d{4})\Z")


class _Turn(msgspec.Struct, frozen=True):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


def read(record: Record) -> Reading | None:
    """A record's conversation, None if it contains none."""
    conversation = record.value.get("conversation") if isinstance(record.value, dict) else None
    return _read(record, conversation) if isinstance(conversation, dict) else None


def _read(record: Record, conversation: dict[str, Any]) -> Reading:
    """All turns in order, ids as in the data (`D3:12`), the first speaker as the user.

    A shared photo is left out; its caption follows the turn's text. Raises `InvalidInput`.
    """
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.match(key)))
    turns: list[ContextItem] = []
    photos = 0
    for number in numbers:
        when = occurred_at(str(conversation.get(f"session_{number}_date_time", "")))
        for at, value in enumerate(conversation[f"session_{number}"]):
            turn = record.to(_Turn, value, f"$.conversation.session_{number}[{at}]")
            turns.append(checked(record, _item(turn, conversation.get("speaker_a"), when)))
            photos += bool(turn.blip_caption)
    return Reading(tuple(turns), {"image": photos} if photos else {})


def occurred_at(words: str) -> str | None:
    """`1:56 pm on 8 May, 2023` as RFC 3339; None for anything else."""
    found = _DATE.match(words.strip())
    month = month_number(found[5]) if found else None
    if found is None or month is None:
        return None
    hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0)
    return f"{found[6]}-{month:02}-{int(found[4]):02}T{hour:02}:{found[2]}:00Z"


def _item(turn: _Turn, user: object, when: str | None) -> ContextItem:
    kind = ItemKind.USER_TURN if turn.speaker == user else ItemKind.AGENT_MSG
    caption = f"\n[photo: {turn.blip_caption}]" if turn.blip_caption else ""
    metadata = {"author": turn.speaker, "occurred_at": when}
    return ContextItem(
        turn.dia_id,
        kind,
        turn.text + caption,
        metadata={key: value for key, value in metadata.items() if value},
    )
