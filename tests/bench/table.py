"""Plain tables, and medians with their spread, for the measurements."""

from collections.abc import Iterable, Sequence
from statistics import median


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of `values` lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios round by round, so that drift of the machine cancels out."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table in Markdown, columns aligned."""
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    print(f"\n{title}\n")
    for number, line in enumerate(cells):
        print(
            "| "
            + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
            + " |"
        )
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(flush=True)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
