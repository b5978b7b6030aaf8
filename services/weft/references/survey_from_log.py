"""Surveys a real log."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import last_sequence, read_matching
from weft.progress import OnStepProgress
from weft.references.survey import Survey
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import stored_filter

CATALOGS = stored_filter(session=TENANT_SESSION, direction="out", event="catalog")


async def extend(connection: Connection, survey: Survey, on_progress: OnStepProgress) -> None:
    """Continue a survey with what was published since."""
    last = await last_sequence(connection)
    after = survey.through
    for subjects in (stored_filter(direction="in"), CATALOGS):
        async for record in read_matching(connection, subjects, after=after, through=last):
            survey.take(record)
            if record.sequence % 1_000 == 0:
                on_progress("looking through the log", record.sequence, last)
    survey.through = last
