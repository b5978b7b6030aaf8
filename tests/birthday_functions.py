"""Functions of workers that also run in a subprocess, which imports this module alone and starts in
half the time that the tests' own would take."""

from weft.workers import Source
from weft_schemas.events import FactsEvent


def birthday(year: int, source: Source) -> FactsEvent:
    return source.facts({"born": str(year)})


async def later(year: int, source: Source) -> FactsEvent:
    return source.facts({"born": str(year)})


class Birthday:
    def __call__(self, source: Source) -> FactsEvent:
        return source.facts({"born": "1990"})


class Later:
    async def __call__(self, source: Source) -> FactsEvent:
        return source.facts({"born": "1990"})
