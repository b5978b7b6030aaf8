"""How memory and files grew over a soak: samples, and their slopes over its second half.

A process counts from the start of the life that it was in at the end, so that a restart is not
taken for a shrinking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import msgspec

MIB = 1024 * 1024
PROPORTION = 0.5
"""Of the run, at its end, over which slopes are taken: what grows into its caches has done so."""


class Sample(msgspec.Struct, frozen=True):
    """What was seen at one moment."""

    seconds: float
    items: int
    memory: Mapping[str, tuple[int, int]]
    """Process → its id and its resident bytes."""
    files: Mapping[str, int]
    """Name → bytes."""


class Level(msgspec.Struct, frozen=True):
    """How one figure went over the end of a run."""

    name: str
    first: int
    last: int
    """Bytes at both ends of the time looked at."""
    most: int
    minutes: float
    """Looked at: less than the half where the process is younger."""
    per_minute: float
    per_thousand_items: float
    """Bytes; the slope of the line of least squares."""

    def __str__(self) -> str:
        return (
            f"{self.name:14} {self.first / MIB:8.1f} → {self.last / MIB:8.1f} MiB, at most "
            f"{self.most / MIB:8.1f}, in {self.minutes:4.1f} min: "
            f"{self.per_minute / 1024:+9.1f} KiB a minute, "
            f"{self.per_thousand_items / 1024:+9.1f} KiB per 1,000 items"
        )


def levels(samples: Sequence[Sample]) -> list[Level]:
    """Of every process and file that the last sample has; processes first."""
    late = [one for one in samples if one.seconds >= samples[-1].seconds * PROPORTION]
    found = []
    for name, (pid, _) in sorted(samples[-1].memory.items()):
        life = [one for one in late if one.memory.get(name, (0, 0))[0] == pid]
        found.append(_level(name, life, [one.memory[name][1] for one in life]))
    for name in sorted(samples[-1].files):
        found.append(_level(name, late, [one.files.get(name, 0) for one in late]))
    return found


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the line of least squares; 0 where `x` does not vary."""
    middle = mean(x)
    spread = sum((one - middle) ** 2 for one in x)
    if not spread:
        return 0.0
    level = mean(y)
    return sum((a - middle) * (b - level) for a, b in zip(x, y, strict=True)) / spread


def resident_bytes(pid: int | None) -> int:
    """What a process has in memory, 0 where there is none at the moment."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def size(folder: Path) -> int:
    """Bytes of all files under a folder; one that vanishes meanwhile counts for nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _level(name: str, samples: Sequence[Sample], values: Sequence[int]) -> Level:
    minutes = [one.seconds / 60 for one in samples]
    thousands = [one.items / 1_000 for one in samples]
    return Level(
        name,
        values[0],
        values[-1],
        max(values),
        minutes[-1] - minutes[0],
        slope(minutes, values),
        slope(thousands, values),
    )
