"""A bar for what takes time: how much is done, how fast, and how long it will take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LOOK_SECONDS = 0.5
_bars: list[object] = []
"""What is shown now."""


async def at_work(after: float) -> None:
    """Show how long it takes, from so many seconds on, while no bar is shown; until cancelled.
    Nothing where nobody looks."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return
    begun = perf_counter()
    await asyncio.sleep(after)
    while True:
        if _bars:
            await asyncio.sleep(_LOOK_SECONDS)
            continue
        with console.status("") as line:
            while not _bars:
                line.update(f"at work for {perf_counter() - begun:.0f} s")
                await asyncio.sleep(_LOOK_SECONDS)


@contextmanager
def showing(bar: Progress) -> Iterator[Progress]:
    """The bar on the screen, and known to be there."""
    _bars.append(bar)
    try:
        with bar:
            yield bar
    finally:
        _bars.remove(bar)


@contextmanager
def steps(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """As `progress`, for work of several steps: also gives what is being done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    unseen = quiet or not console.is_terminal
    with showing(Progress(*columns, console=console, disable=unseen)) as shown:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            text = f"{what}, {done:,} of {total:,}" if total > 1 else what
            shown.update(tasks[what], completed=done, total=total, description=text)

        yield told


@contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Gives what to call with how many of how many are done; on stderr, nothing when quiet or
    where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    unseen = quiet or not console.is_terminal
    with showing(Progress(*columns, console=console, disable=unseen)) as shown:
        task = shown.add_task(what, total=None)
        begun = perf_counter()
        first: list[int] = []

        def told(done: int, total: int) -> None:
            # What was done before, such as a snapshot's share, is no measure of speed.
            if not first:
                first.append(done)
            speed = (done - first[0]) / max(perf_counter() - begun, 1e-6)
            rate = f", {speed:,.0f} a second" if speed >= 1 else ""
            text = f"{done:,} of {total:,} {what}{rate}"
            shown.update(task, completed=done, total=total, description=text)

        yield told
