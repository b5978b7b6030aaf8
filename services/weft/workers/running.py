"""Runs one worker in one process, from a `Deriver`."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from weft.log.publishing import Publisher
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.crashpoints import add_worker
from weft.runtime.process import Process
from weft.workers.definition import check_name
from weft.workers.deriver import Deriver
from weft.workers.worker_loop import run_worker
from weft_schemas.errors import ConfigurationError


def loaded(path: str) -> Deriver:
    """The worker at `module:name`, found as `python -m` finds modules. Raises `ConfigurationError`
    if there is none, or if it has the name of one of weft's own."""
    module, _, name = path.partition(":")
    if module.startswith("."):
        raise _no_worker(path, "its module begins with a dot, and there is no package around it")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _no_worker(path, error) from None
    if not isinstance(found, Deriver):
        raise ConfigurationError(f"{path!r} is no worker; decorate a function with `derives`")
    check_name(found.name)
    return found


def _no_worker(path: str, why: object) -> ConfigurationError:
    return ConfigurationError(
        f"there is no worker {path!r}: {why}; give MODULE:NAME, from a module that Python finds in "
        "this folder"
    )


async def run(process: Process, deriver: Deriver) -> None:
    """Run until the process stops; raises as `run_worker` does."""
    add_worker(deriver.name)
    async with Publisher(process.connection) as publisher:
        artifacts = ArtifactStore(process.connection, publisher)
        await run_worker(process, deriver.worker(artifacts))
