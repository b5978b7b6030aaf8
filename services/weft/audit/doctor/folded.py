"""Checks whether the log still holds what the replica on this machine has folded."""

from __future__ import annotations

from pathlib import Path

from weft.audit.doctor.check import Check
from weft.log.connection import Connection
from weft.readmodel.generations import Generations
from weft.readmodel.standing import Standing, not_held, standing_of
from weft.runtime.settings import Settings
from weft_schemas.errors import Corrupt, NotFound, WeftError
from weft_schemas.subjects import STREAM

_LOST = (
    f"find out what happened to the stream {STREAM}: put it back from a backup, or publish again "
    "what it lacks"
)


async def folded(log: Connection, settings: Settings) -> list[Check]:
    """What a log lacks that is younger or shorter than it was when a replica folded it."""
    if not (settings.data_dir / "replica").is_dir():
        return []
    generations = Generations(settings.data_dir)
    try:
        return [
            *(await _in_use(log, generations.current() or generations.building())),
            *(await _earlier(log, generations.earlier())),
        ]
    except WeftError as error:
        return [Check("read model", "note", f"it cannot be compared with the log: {error}")]


async def _in_use(log: Connection, path: Path | None) -> list[Check]:
    standing = await _standing(path)
    why = await _why_not_held(log, standing) if standing is not None else ""
    if standing is None or not why:
        return []
    found = f"the log lacks what {standing.path.name} has folded, up to {standing.sequence}: {why}"
    return [Check("read model", "fault", found, f"{_LOST}. An indexer keeps the file")]


async def _earlier(log: Connection, path: Path | None) -> list[Check]:
    standing = await _standing(path)
    if standing is None:
        return []
    why = await _why_not_held(log, standing)
    kept = f"{standing.path} is kept of an earlier log, up to {standing.sequence}"
    remove = f"remove {standing.path.name} and its companions"
    if why:
        found, do = f"{kept}, and the log lacks what it holds: {why}", f"{_LOST}; then {remove}"
        return [Check("earlier log", "fault", found, do)]
    return [Check("earlier log", "note", f"{kept}, and the log holds all of it again", remove)]


async def _standing(path: Path | None) -> Standing | None:
    """None also for a damaged file, which another check tells."""
    if path is None:
        return None
    try:
        return await standing_of(path)
    except Corrupt:
        return None


async def _why_not_held(log: Connection, standing: Standing) -> str:
    try:
        return await not_held(log, standing)
    except NotFound:
        return f"there is no stream {STREAM}"
