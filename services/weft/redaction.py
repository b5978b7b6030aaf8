"""Redaction hooks by name: they give the text shown for an item at or above the sensitivity
floor."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from weft_schemas.errors import ConfigurationError
from weft_schemas.items import Sensitivity

if TYPE_CHECKING:
    from weft.readmodel.rows import ItemRow

ENTRY_POINTS = "weft.redaction_hooks"
"""Group under which a package offers hooks of its own; each loads to a hook or its class."""


class RedactionHook(Protocol):
    """Returns the text that may be shown. It must not depend on anything but its arguments."""

    def __call__(self, text: str, sensitivity: Sensitivity, row: ItemRow) -> str: ...


class MaskRedactionHook:
    """The default: the level and nothing else; the item's metadata stay."""

    def __call__(self, text: str, sensitivity: Sensitivity, row: ItemRow) -> str:
        return f"[REDACTED: {sensitivity.value}]"


def installed_hooks() -> tuple[str, ...]:
    """The names of the hooks that a policy can name on this machine."""
    return ("mask", *sorted(point.name for point in entry_points(group=ENTRY_POINTS)))


@cache
def redaction_hook(name: str) -> RedactionHook:
    """The hook of this name. Raises `ConfigurationError` if no package offers it."""
    if name == "mask":
        return MaskRedactionHook()
    offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join(installed_hooks())
        raise ConfigurationError(
            f"redaction hook {name!r} is not installed; use one of {known}, or install the package "
            f"that offers it under {ENTRY_POINTS}"
        )
    loaded = offered[name].load()
    hook: RedactionHook = loaded() if isinstance(loaded, type) else loaded
    return hook
