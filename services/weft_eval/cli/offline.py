"""`weft eval envelope`, `routing` and `hydration`: measures that need no server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import json_option
from weft.cli.output import hint, print_json, table
from weft.model_encodings import DEFAULT_ENCODING

if TYPE_CHECKING:
    from weft_eval.routing_sets import RoutingSet

files_argument = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True)
)


@click.command(short_help="What later calls take, in a result's envelope.")
@files_argument
@click.option("--threshold", type=int, default=500, show_default=True, help="Tokens of a result.")
@click.option("--cap", type=int, default=300, show_default=True, help="Tokens of a summary.")
@click.option("--encoding", default=DEFAULT_ENCODING, show_default=True)
@json_option
def envelope(files: Sequence[Path], threshold: int, cap: int, encoding: str, as_json: bool) -> None:
    """Measure how many of the values that later calls take from a large result are in its
    envelope.

    The baseline is head-and-tail truncation to as many tokens. Needs no server: the firewall is
    a pure function.
    """
    from weft.adapters import read_transcripts
    from weft.firewall.derive import envelope_for
    from weft_eval.envelope import evaluate as measure
    from weft_schemas.envelope import ResultEnvelope
    from weft_schemas.events import Origin
    from weft_schemas.items import ContextItem
    from weft_schemas.policy import FirewallRules

    rules = FirewallRules(threshold=threshold, summary_tokens=cap)

    def envelope_of(item: ContextItem) -> ResultEnvelope:
        return envelope_for(
            item, item.text, origin=Origin(1, item.id), rules=rules, fingerprint_key=b"weft",
            encoding=encoding, tenant="eval", session="eval",
        ).envelope  # fmt: skip

    sessions = [
        one.items for file in files for one in read_transcripts(file.read_bytes(), file=str(file))
    ]
    report = measure(sessions, envelope_of, threshold=threshold, cap=cap, encoding=encoding)
    if as_json:
        print_json(report)
    else:
        table("", ["measure", "value"], [[name, value] for name, value in _rounded(report)])


def _rounded(report: Any) -> list[tuple[str, Any]]:
    values = ((name, getattr(report, name)) for name in report.__struct_fields__)
    return [
        (name, round(value, 4) if isinstance(value, float) else value) for name, value in values
    ]


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
    from weft_eval.routing_sets import read_routing_sets

    rows = [row for one in read_routing_sets(files) for row in _recalls(one, baselines)]
    if as_json:
        print_json(rows)
    else:
        table("", list(rows[0]), [list(row.values()) for row in rows])


def _recalls(one: RoutingSet, baselines: bool) -> list[dict[str, Any]]:
    from weft_eval.routing import bm25, contextweaver, recall, routed

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
    """Measure how many arguments that a session contained before are among the first three
    candidates.

    FILES hold chats with tool calls.

    \b
    Example:
      weft eval hydration runs.json
    """
    from weft_eval.hydration import hydration_recall

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
