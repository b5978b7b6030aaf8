"""All views of this installation: the built-in ones, and those that packages add by entry point."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from weft.firewall.views import records, structure, text
from weft.firewall.views.registry import ViewRegistry

ENTRY_POINTS = "weft.views"
"""Group of entry points; each names a function that takes the registry and registers views."""


@cache
def registry() -> ViewRegistry:
    """The built-in views and those of installed packages."""
    found = ViewRegistry()
    for module in (text, records, structure):
        module.register(found)
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        point.load()(found)
    return found
