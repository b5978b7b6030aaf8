"""Ends a child process when its parent dies, however that happens: nothing is left running."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

VARIABLE = "WEFT_PARENT_PID"
"""Set by a supervisor for its children."""

_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""
_IS_LINUX = sys.platform == "linux"


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed when `parent` (default: the process that `WEFT_PARENT_PID` names)
    ends. Does nothing if no parent is named. Call it in the main thread."""
    named = str(parent or os.environ.get(VARIABLE, ""))
    if not named.isdigit():
        return
    if _IS_LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(int(named),), daemon=True).start()
    if os.getppid() != int(named):
        # It ended before the line above could take effect.
        os.kill(os.getpid(), signal.SIGKILL)


def terminate_with_parent() -> Callable[[], None] | None:
    """The `preexec_fn` of another program: on Linux it gets SIGTERM when its parent dies."""
    if not _IS_LINUX:
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
