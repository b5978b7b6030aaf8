"""The kinds of process that weft does not work without, and which of them do not work now."""

from __future__ import annotations

from collections.abc import Sequence

from weft_schemas.status import ProcessState

NEEDED = {
    "firewall": "results of tools stay pending, and prompts do without them",
    "summarizer": "nothing is summarised",
    "memory": "nothing is remembered",
    "indexer": "read models stand still",
    "compiler": "nobody answers a compile",
}
"""Kind of process → what fails without one. A router is only needed for routing."""


def amiss(processes: Sequence[ProcessState]) -> list[tuple[str, str]]:
    """What to say and what to do of the kinds that have no working process."""
    found = []
    for service, without in NEEDED.items():
        there = [one for one in processes if one.service == service]
        start = f"start one: `weft work {service}`"
        if not there:
            found.append((f"no {service} answers: {without}", start))
        elif not any(one.ready for one in there):
            why = there[0].complaint
            found.append((f"no {service} does its work ({why}): {without}", ""))
    return found
