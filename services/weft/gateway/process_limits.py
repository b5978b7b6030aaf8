"""The command of a server under the limits of its file. A shell sets them on itself and becomes the
server, so no process of it is without them, and nothing runs between fork and exec."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from weft.gateway.config import Limits, ServerSpec

_NAME = "weft-limits"
"""What the shell calls itself where it says that it cannot set a limit."""


def limited_command(spec: ServerSpec, environ: Mapping[str, str]) -> list[str]:
    """Raises `FileNotFoundError` for a command that is not there, as starting it would."""
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
