"""The files of a nats-server's store, looked at before it starts: if it cannot open one of them, it
gives up the whole stream and deletes the rest of its files (2.15.1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from weft_schemas.errors import ConfigurationError


def check_usable(store: Path) -> None:
    """Raises `ConfigurationError` if this user may not use everything in a server's store."""
    for path in _closed_in(store / "jetstream"):
        raise ConfigurationError(
            f"this user may not read and write {path}, and nats-server deletes what it cannot "
            "restore: it was not started, and nothing was changed. Let the user who runs this own "
            f"all of {store.parent} (`sudo chown -R`), as is needed after `sudo weft up` or after "
            "root put files back, and start again"
        )


def stream_folder(store: Path, name: str) -> Path:
    """Where a server stores a stream."""
    return store / "jetstream" / "$G" / "streams" / name


def stored_streams(store: Path) -> frozenset[str]:
    """The names of the streams that have files in a server's store."""
    folder = stream_folder(store, "")
    return frozenset(
        one.name
        for one in (folder.iterdir() if folder.is_dir() else ())
        if any(part.is_file() for part in one.rglob("*"))
    )


def _closed_in(folder: Path) -> Iterator[Path]:
    """What in a folder, or if nothing may be looked at the folder itself, is closed to this user:
    parents before their content."""
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield folder
        return
    for at, folders, files in os.walk(folder):
        closed = [one for one in sorted(folders) if not _is_open(at, one, os.X_OK)]
        closed += [one for one in sorted(files) if not _is_open(at, one)]
        yield from (Path(at, one) for one in closed)


def _is_open(at: str, name: str, more: int = 0) -> bool:
    path = os.path.join(at, name)
    # A file that was removed meanwhile, such as a socket's or a lock's, is in nobody's way.
    return os.access(path, os.R_OK | os.W_OK | more) or not os.path.lexists(path)
