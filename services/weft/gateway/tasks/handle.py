"""A task's id for hosts: it holds all that is known about the call, so it outlives the gateway, and
is signed with the deployment's secret."""

from __future__ import annotations

import base64
import hmac

import msgspec

from weft.gateway.masking import Masking
from weft_schemas.ids import derived_key


class RunningTask(msgspec.Struct, frozen=True, array_like=True):
    """What a task's handle contains."""

    tool: str
    """`server:tool`."""
    task: str
    """The task's id at the server."""
    call: str
    """The id of the call's item in the log, …"""
    session: str
    """… and its session."""


def handle_of(running: RunningTask, masking: Masking) -> str:
    """A task's id for hosts. Nobody without the deployment's secret can make one."""
    written = base64.urlsafe_b64encode(msgspec.json.encode(running)).decode().rstrip("=")
    return f"{written}.{_signature(written, masking)}"


def task_of(handle: str, masking: Masking) -> RunningTask | None:
    """None if no gateway of the tenant made it."""
    written, _, signature = handle.partition(".")
    if not hmac.compare_digest(signature.encode(), _signature(written, masking).encode()):
        return None
    padded = written + "=" * (-len(written) % 4)
    return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=RunningTask)


def _signature(written: str, masking: Masking) -> str:
    key = derived_key(masking.key, "tasks")
    return hmac.digest(key, f"{masking.tenant}.{written}".encode(), "sha256").hex()[:32]
