"""Slices of a body, as drill-down shows them."""

from __future__ import annotations

from pathlib import Path

from tests.firewall_made import KEY
from weft.firewall.views import Slice, drill
from weft.firewall.views.arguments import Value
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.compile import DrilldownRequest


def slice_of(
    body: bytes | str | Path, view: str, kind: str = "text/plain", most: int = 200, **args: Value
) -> Slice:
    request = DrilldownRequest("art:x", view, args, most)
    return drill(body, request, content_type=kind, fingerprint_key=KEY, encoding=DEFAULT_ENCODING)


def everything(body: str | Path, view: str, kind: str = "text/plain", **args: Value) -> str:
    """All slices of a view, one after the other."""
    texts: list[str] = []
    following: dict[str, Value] | None = dict(args)
    while following is not None:
        part = slice_of(body, view, kind, **following)
        texts.append(part.text)
        following = part.next
        assert len(texts) < 500
    return "".join(texts)
