"""`weft eval routing` and `weft eval hydration`: measures that need no server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import json_option
from weft.cli.output import hint, print_json, table

if TYPE_CHECKING:
    from weft.evaluation.routing_sets import RoutingSet

files_argument = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True)
)


@click.command(short_help="Recall of the router, beside its baselines.")
@files_argument
@click.option("--baselines/--alone", default=True, help="Flat BM25 and contextweaver beside it.")
@json_option
def routing(files: Sequence[Path], baselines: bool, as_json: bool) -> None:
    """Recall at k of the router, with flat BM25 and contextweaver's router in the same run.

    FILES are MetaTool's folder, BFCL's files (pooled into one catalogue), or JSON files of the form
    {"tools": […], "cases": [{"query": "…", "gold": ["id"]}]}.

    \b
    Example:
      weft eval routing metatool/ bfcl/BFCL_v4_simple_python.json
    """
    from weft.evaluation.routing_sets import read_routing_sets

    rows = [row for one in read_routing_sets(files) for row in _recalls(one, baselines)]
    if as_json:
        print_json(rows)
    else:
        table("", list(rows[0]), [list(row.values()) for row in rows])


def _recalls(one: RoutingSet, baselines: bool) -> list[dict[str, Any]]:
    from weft.evaluation.routing import bm25, contextweaver, recall, routed

    ways: dict[str, Callable[[Any], Any]] = {"weft": routed}
    if baselines:
        ways |= {"flat BM25": bm25, "contextweaver": contextweaver}
    rows = []
    for name, way in ways.items():
        try:
            found = recall(name, lambda way=way: way(one.items), one.cases)  # type: ignore[misc]
        except ImportError:
            hint(f"{name} is not installed; left out")
            continue
        rows.append(
            {
                "set": one.name,
                "tools": len(one.items),
                "way": name,
                "queries": found.queries,
                **{f"recall@{k}": round(share, 3) for k, share in found.at.items()},
                "p50 ms": round(found.p50_ms, 2),
                "build s": round(found.build_s, 2),
            }
        )
    return rows


@click.command(short_help="Stated arguments among a tool's candidates.")
@files_argument
@json_option
def hydration(files: Sequence[Path], as_json: bool) -> None:
    """Of the arguments that a session stated before, the share among the first three candidates.

    FILES hold chats with tool calls.

    \b
    Example:
      weft eval hydration runs.json
    """
    from weft.evaluation.hydration import hydration_recall

    rows = [
        {"file": file.name, "values": done.values, "in_three": done.in_three, "first": done.first}
        for file in files
        for done in (hydration_recall(file),)
    ]
    if as_json:
        print_json(rows)
        return
    table("", ["file", "values", "in first three", "first"],
          [[row["file"], row["values"], f"{row['in_three']:.3f}", f"{row['first']:.3f}"]
           for row in rows])  # fmt: skip
