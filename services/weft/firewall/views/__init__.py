"""Ways to read an artifact in chunks: `drill` answers one request for a slice."""

from weft.firewall.views.drill import Slice, drill
from weft.firewall.views.installed import registry
from weft.firewall.views.registry import ViewRegistry

__all__ = ["Slice", "ViewRegistry", "drill", "registry"]
