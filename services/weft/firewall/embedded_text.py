"""Takes a long text out of the JSON object of which it is nearly all, so that it is summarised as
what it is: a log, a table, source code. Servers return a text as `{"result": "…"}`, and programs'
output as `{"stdout": "…", "exit_code": 0}`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.firewall.json_leaves import LeafPath
from weft.firewall.verbatim_json import decoded
from weft.passages.mcp_wrapper import DEEPEST, TextField, text_field

TEXT_BELOW = '"… below …"'
"""In place of the text, in the line above its summary."""


class EmbeddedText(msgspec.Struct, frozen=True):
    """The text, and what is around it."""

    text: str
    objects: tuple[dict[str, object], ...]
    """The objects around it, the outermost first."""
    fields: tuple[TextField, ...]
    """The field of each that leads to the text."""

    @property
    def has_others(self) -> bool:
        return any(field.others for field in self.fields)

    @property
    def heading(self) -> str:
        """The line above a summary of the text, with all other fields; empty without any."""
        written = TEXT_BELOW
        for field in reversed(self.fields):
            others = "".join(f'"{name}":{value},' for name, value in field.others.items())
            written = f'{{{others}"{field.name}":{written}}}'
        return f"{written}\n" if self.has_others else ""

    @property
    def mark(self) -> str:
        """The line below the text in place of all other fields; empty without any."""
        marks = ", ".join(field.mark for field in self.fields)
        return f"\n… {marks} …\n" if self.has_others else ""

    @property
    def others(self) -> dict[str, object]:
        """The fields beside the text."""
        pairs = zip(self.objects, self.fields, strict=True)
        return {name: value[name] for value, field in pairs for name in field.others}


def embedded_text(
    text: str, keep: Sequence[LeafPath] = (), depth: int = DEEPEST
) -> EmbeddedText | None:
    """The text in an object, also in an object that is the text of another one; None if `text` is
    no such object, or if a rule keeps the value of the field. Linear in `text`."""
    field = text_field(text.strip()) if depth else None
    if field is None or any(path and path[0] in ("*", field.name) for path in keep):
        return None
    value = decoded(text)
    held = value.get(field.name) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(held, str):
        return None
    inner = embedded_text(held, (), depth - 1)
    if inner is None:
        return EmbeddedText(held, (value,), (field,))
    return EmbeddedText(inner.text, (value, *inner.objects), (field, *inner.fields))
