"""Runs a server's command under its limits. A shell sets them for itself and then becomes the
server, so all of its processes have them, and nothing runs between fork and exec."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from weft.gateway.configuration.config import Limits, ServerSpec

_NAME = "weft-limits"
"""The shell's name in its error message if it cannot set a limit."""


def limited_command(spec: ServerSpec, environ: Mapping[str, str]) -> list[str]:
    """Raises `FileNotFoundError` if there is no such command, as starting it would."""
    command = [spec.command, *spec.args]
    wanted = _settings(spec.limits)
    if not wanted:
        return command
    if "/" not in spec.command and shutil.which(spec.command, path=environ.get("PATH")) is None:
        raise FileNotFoundError(spec.command)
    script = " && ".join((*wanted, 'exec "$@"'))
    return ["/bin/sh", "-c", script, _NAME, *command]


def _settings(limits: Limits) -> list[str]:
    wanted = (("v", -(-limits.memory_bytes // 1024)), ("t", limits.cpu_seconds))
    return [f"ulimit -{flag} {most}" for flag, most in (*wanted, ("n", limits.open_files)) if most]
