"""The clean text of a body: the content of the log or of the object store, normalised, with the
spans masked that its envelope records. Nothing is stored twice, and every reader of a body makes it
here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from weft.bodies.clean import clean
from weft_schemas.envelope import CleanBody, Mask
from weft_schemas.errors import Corrupt

MAX_CLEAN_BYTES = 4 << 20
"""Largest body of which a clean text is recorded: what the firewall reads whole, wherever the body
is stored."""
_DIGITS = 16
"""Hex digits of a digest: enough that two texts of one body never share it by chance."""


def clean_text(raw: str | bytes, recorded: CleanBody) -> str:
    """The body `raw`, a text or bytes in UTF-8, as it may be shown.

    Raises `Corrupt` if the masks do not fit the body, or if the result is not the text that the
    firewall saw: the masks belong to another body, or another release normalises differently.
    """
    if recorded.normalised:
        data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")
        text = clean(data).text
    else:
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    text = masked_text(text, recorded.masks)
    if recorded.digest and (len(text) != recorded.characters or digest_of(text) != recorded.digest):
        raise Corrupt(
            f"the body gives a clean text of {len(text)} characters that is not the one of "
            f"{recorded.characters} with digest {recorded.digest} that its envelope records; "
            "make the envelope anew with `weft rederive firewall`"
        )
    return text


def masked_text(text: str, masks: Iterable[Mask]) -> str:
    """`text` with each mask's span replaced. Raises `Corrupt` if masks overlap, are out of order or
    extend beyond the text."""
    pieces: list[str] = []
    position = 0
    for mask in masks:
        if not position <= mask.start <= mask.end <= len(text):
            raise Corrupt(
                f"a mask from character {mask.start} to {mask.end} does not fit a text of "
                f"{len(text)} characters of which {position} are behind it; make the envelope "
                "anew with `weft rederive firewall`"
            )
        pieces += (text[position : mask.start], mask.text)
        position = mask.end
    return "".join((*pieces, text[position:])) if pieces else text


def digest_of(text: str) -> str:
    """The first hex digits of the SHA-256 of a clean text."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
