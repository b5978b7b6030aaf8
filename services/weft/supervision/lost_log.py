"""Whether there was a log that the server does not have. An empty one in its place would overwrite
the files of the old one, and every replica would start over with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import desired
from weft.readmodel.folded_log import folded_log_of
from weft.readmodel.generations import Generations
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.store_files import stream_folder
from weft_schemas.errors import ConfigurationError, Corrupt, NotFound, Unavailable
from weft_schemas.subjects import STREAM

_ANEW = "To begin with an empty log all the same, move"


async def check_restored(connection: Connection, servers: Sequence[EmbeddedServer]) -> None:
    """Raises `ConfigurationError` if a server's store held a stream of the log that the server did
    not restore when it started: making it anew would overwrite what is left of its files."""
    for name in desired().streams:
        for server in servers:
            if name in server.stored and not await _is_there(connection, name):
                folder = stream_folder(server.data_dir, name)
                raise ConfigurationError(
                    f"nats-server could not restore the stream {name} from {folder}: "
                    f"{server.log_file} says why. Mend that, or put the folder back from a "
                    f"backup, and start again. {_ANEW} what is left of that folder away first"
                )


async def why_a_log_is_expected(data_dir: Path) -> str:
    """What the data folder's read model says about a log that must be there; empty if there may be
    none."""
    if not (data_dir / "replica").is_dir():
        return ""
    generations = Generations(data_dir)
    path = generations.current() or generations.building()
    if path is None:
        return ""
    anew = f"{_ANEW} {generations.folder} away first"
    try:
        folded = await folded_log_of(path)
    except Corrupt as error:
        return f"the server has no log, and the read model here may be of one: {error}. {anew}"
    if not folded.sequence:
        return ""
    return (
        f"the server has no log, and the read model {path} has folded one up to event "
        f"{folded.sequence}: no empty log is made in its place. Put the stream {STREAM} back, "
        "from where the server's store was or from a backup, or name the server that has it, and "
        f"start again. {anew}"
    )


async def _is_there(connection: Connection, name: str) -> bool:
    """Whether the server has a stream, be it one without a leader at the moment."""
    with suppress(Unavailable):
        try:
            await call(connection, f"STREAM.INFO.{name}")
        except NotFound:
            return False
    return True
