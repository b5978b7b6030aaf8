"""Workers: functions that derive events from events, with everything around them done.

    @derives("user_turn", version="1")
    def birthdays(source: Source) -> FactsEvent | None: ...

`weft work module:birthdays` runs it; see docs/workers.md. The firewall, the summarizer and the
memory-updater are written the same way.
"""

from weft.workers.deriver import Deriver, derives
from weft.workers.source import Source

__all__ = ["Deriver", "Source", "derives"]
