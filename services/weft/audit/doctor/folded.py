"""Checks whether the log still holds what the replica on this machine has folded."""

from __future__ import annotations

from pathlib import Path

from weft.audit.doctor.check import Check
from weft.erasure.lost_erasures import lost_erasures
from weft.log.connection import Connection
from weft.readmodel.folded_log import FoldedLog, folded_log_of, not_held
from weft.readmodel.generations import Generations
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
    known = await _folded_log(path)
    why = await _why_not_held(log, known) if known is not None else ""
    if known is None or not why:
        return []
    found = f"the log lacks what {known.path.name} has folded, up to {known.sequence}: {why}"
    erase = await _erase_again(log, known.path)
    return [Check("read model", "fault", found, f"{_LOST}. An indexer keeps the file{erase}")]


async def _earlier(log: Connection, path: Path | None) -> list[Check]:
    known = await _folded_log(path)
    if known is None:
        return []
    why = await _why_not_held(log, known)
    kept = f"{known.path} is kept of an earlier log, up to {known.sequence}"
    remove = f"remove {known.path.name} and its companions"
    if why:
        found = f"{kept}, and the log lacks what it holds: {why}"
        do = f"{_LOST}; then {remove}{await _erase_again(log, known.path)}"
        return [Check("earlier log", "fault", found, do)]
    return [Check("earlier log", "note", f"{kept}, and the log holds all of it again", remove)]


async def _erase_again(log: Connection, path: Path) -> str:
    try:
        lost = await lost_erasures(log, path)
    except NotFound:
        return ""  # there is no log, which is told already
    if not lost:
        return ""
    return f". The log may hold again what was erased: {', '.join(f'`{one}`' for one in lost)}"


async def _folded_log(path: Path | None) -> FoldedLog | None:
    """None also for a damaged file, which another check tells."""
    if path is None:
        return None
    try:
        return await folded_log_of(path)
    except Corrupt:
        return None


async def _why_not_held(log: Connection, known: FoldedLog) -> str:
    try:
        return await not_held(log, known)
    except NotFound:
        return f"there is no stream {STREAM}"
