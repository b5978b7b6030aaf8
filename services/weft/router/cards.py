"""ChoiceCards: what a model sees of a tool. The text of a catalogue comes from others: it is shown
on one line, without marks that structure a prompt, without sentences that give orders, and within a
cap."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

import msgspec

from weft import tokens
from weft_schemas.routing import ChoiceCard, Effect, SelectableItem

CARD_TOKENS = 160
"""Most tokens of a whole card as JSON: enough for the longest id that a catalogue may contain, and
a name."""
_DESCRIPTION_TOKENS = 48
"""Most tokens of a description: two sentences of usual length."""
_NAME_TOKENS, _TAG_TOKENS, _NOTE_TOKENS = 24, 16, 32
_READ = 2_000
"""How many characters of a description are read."""
_REMEMBERED = 4_096
"""How many shortened descriptions are cached: the same few tools are shown repeatedly."""

_SPARED: tuple[dict[str, Any], ...] = (
    {"tags": ()},
    {"description": ""},
    {"note": ""},
    {"name": ""},
)
"""Fields that are left out of a card that is too long, the least needed first."""

_CHANGES = "changes things outside: ask before calling"
_WARNINGS = {
    Effect.READS: "reads only",
    Effect.ADDS: _CHANGES,
    Effect.DESTROYS: "deletes or overwrites: cannot be undone, ask before calling",
}
_WITHHELD = "part of the description is withheld: it gives orders"

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")  # noqa: RUF001
_ATTACK = (
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|above|earlier"
    r"|previous|prior|other tools?)\b"
    r"|\b(?:do not|don't|never)\b.{0,20}\b(?:tell|inform|mention|reveal|show)\b.{0,20}"
    r"\b(?:user|anyone)\b"
    r"|\byou are now\b|\bnew instructions?\b|<important>"
)
"""No description that only describes contains these."""
_ORDER = re.compile(
    _ATTACK
    + r"|\b(?:always|must|never|only)\b.{0,20}\b(?:choose|pick|select|prefer|use|call|invoke)\b"
    r".{0,20}\b(?:this|me|first|other|instead|tool)\b"
    r"|\b(?:before|instead of)\b.{0,20}\b(?:using|calling|any other)\b.{0,20}\btools?\b"
    r"|\b(?:system|assistant|user|human|developer)\s*:|<\||\|>|\[/?INST\]"
    r"|\b(?:send|forward|post|pass|include|reveal|read)\b.{0,60}\b(?:passwords?|secrets?|credentials?"
    r"|api.?keys?|private keys?|system prompt|conversation|chat history|\.env|id_rsa)\b",
    re.I,
)
_ATTACKED = re.compile(_ATTACK, re.I)
_MARKS = str.maketrans(
    {"<": "‹", ">": "›", "`": "'", "{": "(", "}": ")", "|": "/", "\\": "/", "#": "＃"}  # noqa: RUF001
)


def card_of(item: SelectableItem, score: float, note: str, encoding: str) -> ChoiceCard:
    """The card of a routed item, at most `CARD_TOKENS` as JSON in `encoding`."""
    description, is_withheld = _description(item.description[:_READ], encoding)
    notes = [note, _WITHHELD if is_withheld else ""]
    card = ChoiceCard(
        id=item.id,
        name=_cut(one_line(item.name), _NAME_TOKENS, encoding),
        description=description,
        tags=tuple(_cut(one_line(tag), _TAG_TOKENS, encoding) for tag in item.tags[:4]),
        score=round(score, 3) + 0.0,  # no negative zero
        side_effects=_WARNINGS.get(item.effect, _CHANGES if item.side_effects else ""),
        cost=round(item.cost_hint, 3),
        note=_cut("; ".join(part for part in notes if part), _NOTE_TOKENS, encoding),
    )
    for change in _SPARED:
        if tokens.count(msgspec.json.encode(card).decode(), encoding) <= CARD_TOKENS:
            break
        card = msgspec.structs.replace(card, **change)
    return card


def line_of(card: ChoiceCard) -> str:
    """The card on one line, as a prompt shows it; only the first line break ends it."""
    marks = [card.side_effects, f"cost {card.cost:g}" if card.cost else "", card.note]
    extras = "; ".join(mark for mark in marks if mark)
    name = "" if card.name == card.id else f" ({card.name})"
    tags = f" [{', '.join(card.tags)}]" if card.tags else ""
    text = f": {card.description}" if card.description else ""
    return f"- {card.id}{name}{text}{tags}" + (f" — {extras}" if extras else "")


def gives_orders(text: str) -> bool:
    """Whether a description contains something that only a text meant to take over a model
    contains."""
    return _ATTACKED.search(text) is not None


def one_line(text: str) -> str:
    """Other people's text on one line, with invisible letters removed and structural marks
    replaced."""
    letters = (
        " " if letter.isspace() or category == "Cc" else letter
        for letter in unicodedata.normalize("NFC", text)
        if (category := unicodedata.category(letter)) not in ("Cf", "Cs", "Co", "Cn")
    )
    return " ".join("".join(letters).translate(_MARKS).split())


@lru_cache(_REMEMBERED)
def _description(text: str, encoding: str) -> tuple[str, bool]:
    """Its first sentences that fit, and whether sentences that give orders were left out."""
    sentences = [one_line(part) for part in _SENTENCE.split(text)]
    harmless = [sentence for sentence in sentences if sentence and not _ORDER.search(sentence)]
    description = ""
    for sentence in harmless:
        longer = f"{description} {sentence}".strip()
        if tokens.count(longer, encoding) > _DESCRIPTION_TOKENS:
            break
        description = longer
    if not description and harmless:
        description = _cut(harmless[0], _DESCRIPTION_TOKENS, encoding)
    return description, len(harmless) < sum(1 for sentence in sentences if sentence)


def _cut(text: str, limit: int, encoding: str) -> str:
    """The words that fit, with an ellipsis if some do not."""
    if len(text) <= limit or tokens.count(text, encoding) <= limit:
        return text
    head = tokens.truncate(text, limit - 1, encoding)
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:") + "…"
