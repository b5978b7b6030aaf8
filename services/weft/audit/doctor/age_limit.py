"""Checks what the log's age limit does to tenants' policies, grants, catalogues
and tombstones."""

from __future__ import annotations

from weft.audit.doctor.check import Check
from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft.supervision.own_events import OVERDUE_SHARE, own_events
from weft_schemas.errors import Forbidden, NotFound, WeftError

_AGAIN = (
    "`weft provision` publishes them again, as `weft up` does by itself; run it at least twice "
    "within WEFT_MAX_AGE_DAYS"
)
_MAX_NAMED = 5


async def age_limit(log: Connection, settings: Settings) -> list[Check]:
    """What is in force and has left the log by age, or leaves it soon since nobody publishes it
    again: who starts anew does not know it then."""
    name = "age limit"
    try:
        known = (await own_events(log, settings.data_dir)).in_force
    except (NotFound, Forbidden):
        return []
    except WeftError as error:
        return [Check(name, "note", f"tenants' own events cannot be seen: {error}")]
    if not known:
        return []
    gone = [str(one) for one in known if one.share > 1]
    soon = [str(one) for one in known if OVERDUE_SHARE < one.share <= 1]
    found = [f"{_listed(gone)} left the log by age"] if gone else []
    found += [f"{_listed(soon)} will leave the log by age soon"] if soon else []
    if not found:
        held = f"{len(known)} policies, grants, catalogues and tombstones stay in the log"
        return [Check(name, "ok", held)]
    told = f"{' and '.join(found)}: a service that starts without them does not keep to them"
    return [Check(name, "fault", told, _AGAIN)]


def _listed(names: list[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
