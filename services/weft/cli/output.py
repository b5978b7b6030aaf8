"""What commands print: JSON for programs, tables for people. Progress and hints go to stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from weft.adapters.media import count_in_words

_UNFOLDED = 10_000
"""In characters: wider than any row."""
_ERROR_CHARACTERS = 80
"""Of an error in a table; --json has all of it."""


def print_json(value: Any) -> None:
    """One document, indented, keys in the order of the Struct."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_json_line(value: Any) -> None:
    """One document on one line."""
    click.echo(msgspec.json.encode(value))


def hint(text: str) -> None:
    """A line for the person at the terminal, apart from the output that is piped on."""
    click.echo(text, err=True)


def lost_note(before: int) -> str:
    """Explains an accepted loss to a person."""
    return (
        f"what the sessions had before event {before:,} is in no snapshot and no replica; it is "
        "lost, and nobody knows which sessions had anything there"
    )


_NAMED = 10
"""Skipped events that are told one by one."""


def left_out_in_words(media: Mapping[str, int]) -> str:
    """`2 images and 1 file are left out; placeholders name them`."""
    one = sum(media.values()) == 1
    outcome = (
        "is left out; a placeholder names it" if one else "are left out; placeholders name them"
    )
    return f"{count_in_words(media)} {outcome}"


def skipped_notes(skipped: Sequence[tuple[int, str, tuple[int, ...]]]) -> None:
    """Hints about events that were left out, each with its sequence, the reason, and the sequences
    of events about it, which were left out with it."""
    for sequence, why, about in skipped[:_NAMED]:
        events = "events" if len(about) > 1 else "event"
        also = f", with {events} {', '.join(map(str, about))} about it" if about else ""
        hint(f"note: event {sequence} was skipped{also}: {why}")
    if len(skipped) > _NAMED:
        hint(f"note: {len(skipped) - _NAMED:,} more events were skipped; --json names them all")


def shortened(error: str) -> str:
    """An error as a cell of a table, which one that is long would make too wide for a terminal."""
    return error if len(error) <= _ERROR_CHARACTERS else error[:_ERROR_CHARACTERS] + "…"


def table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """A table on stdout, with numbers aligned to the right. It is folded only to a terminal's
    width; what is piped on has no blanks at the ends of lines."""
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        made.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escaped_cell(cell) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNFOLDED
    if title:
        console.print(title, style="bold", markup=False)
    if console.is_terminal:
        console.print(made)
        return
    with console.capture() as printed:
        console.print(made)
    click.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


def escaped_cell(cell: Any) -> str:
    """A cell as text that neither rich reads as markup nor a terminal as control codes."""
    from rich.markup import escape

    text = f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
    return escape(printable(text))


def printable(text: str) -> str:
    """A line without control codes, which a terminal would heed."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in text)
