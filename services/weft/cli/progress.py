"""A bar for long work: how much is done, how fast, and how long the rest will take."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from weft.progress import OnProgress, OnStepProgress

_POLL_SECONDS = 0.5
_bars: list[object] = []
"""The bar that is shown now."""


async def at_work(after: float) -> None:
    """From this many seconds on, show how long it takes while no bar is shown; until cancelled.
    Does nothing if stderr is not a terminal."""
    begun = perf_counter()
    await asyncio.sleep(after)
    # Loading it is half of the time of a short command, which shows nothing.
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return
    while True:
        if _bars:
            await asyncio.sleep(_POLL_SECONDS)
            continue
        with console.status("") as line:
            while not _bars:
                line.update(f"at work for {perf_counter() - begun:.0f} s")
                await asyncio.sleep(_POLL_SECONDS)


@contextmanager
def showing(bar: Progress) -> Iterator[Progress]:
    """A bar that is shown on the screen."""
    _bars.append(bar)
    try:
        with bar:
            yield bar
    finally:
        _bars.remove(bar)


@contextmanager
def steps(quiet: bool = False) -> Iterator[OnStepProgress]:
    """Like `progress`, for work of several steps: it also takes the name of the step."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    unseen = quiet or not console.is_terminal
    with showing(Progress(*columns, console=console, disable=unseen)) as shown:
        tasks: dict[str, TaskID] = {}

        def on_progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            text = f"{what}, {done:,} of {total:,}" if total > 1 else what
            shown.update(tasks[what], completed=done, total=total, description=text)

        yield on_progress


@contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[OnProgress]:
    """Yields a function to call with the number done and the number in all. It writes to stderr,
    and nothing if quiet or if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    unseen = quiet or not console.is_terminal
    with showing(Progress(*columns, console=console, disable=unseen)) as shown:
        task = shown.add_task(what, total=None)
        begun = perf_counter()
        first: list[int] = []

        def on_progress(done: int, total: int) -> None:
            # What was done before, such as a snapshot's share, does not count for the speed.
            if not first:
                first.append(done)
            speed = (done - first[0]) / max(perf_counter() - begun, 1e-6)
            rate = f", {speed:,.0f} a second" if speed >= 1 else ""
            text = f"{done:,} of {total:,} {what}{rate}"
            shown.update(task, completed=done, total=total, description=text)

        yield on_progress
