"""`weft eval`: what compiles keep of what the next step needs, measured through the services."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import print_json, table
from weft.runtime.settings import Settings
from weft_eval.cli.offline import envelope, files_argument, hydration, routing
from weft_eval.cli.reading import reading
from weft_schemas.errors import InvalidInput

BUDGETS = (500, 1_000, 2_000, 4_000)
"""In tokens; those of the published measures."""
MEASURED = ("values", "turns", "documents", "compiles")
"""Names of counts; every measure has at least one of them."""


@click.group()
def evaluate() -> None:
    """Measure on recorded sessions, through running services (`weft up`) or with --offline.

    Through services, they are published to the tenant's log, as sessions `eval-…`, where they stay:
    use a data folder or a tenant of their own.

    \b
    Examples:
      weft eval grounding runs.json --budget 1000 --tenant eval
      weft eval evidence conversations.json --offline --json
    """


budget_option = click.option(
    "--budget", "-b", "budgets", multiple=True, type=int, help="Tokens; may be repeated."
)
baselines_option = click.option(
    "--baselines/--alone", default=True, help="Plain ways to fill the same budget beside it."
)


def offline_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command work without services: then its `settings` are None."""

    @functools.wraps(command)
    def chosen(offline: bool, settings: Settings, **values: Any) -> Any:
        return command(settings=None if offline else settings, **values)

    text = "Compile here, without services: no memory, no summarizer."
    return click.option("--offline", is_flag=True, help=text)(chosen)


contextweaver_option = click.option(
    "--contextweaver", is_flag=True, help="Also contextweaver: minutes for a long session."
)


@evaluate.command(short_help="What calls take from the past, in their context.")
@files_argument
@budget_option
@baselines_option
@contextweaver_option
@json_option
@connected
@offline_option
def grounding(
    files: Sequence[Path],
    budgets: Sequence[int],
    baselines: bool,
    contextweaver: bool,
    as_json: bool,
    settings: Settings | None,
) -> None:
    """Measure how many argument values of the next call, if they appeared before, are in the
    context.

    FILES hold chats with tool calls; a context is compiled for phase `call` before each. Of the
    `values`, `found` stand beside their field or in their sentence and make the `share`,
    `in_source` anywhere in the item that stated them; `frame` are the tokens of no item. `openai`
    and `anthropic` are the shares in the messages for them, `oracle` is the share that a compile
    could reach if it knew the call.

    \b
    Example:
      weft eval grounding runs.json --budget 1000
    """
    from weft_eval.grounding import measure_grounding

    others = _others(baselines, contextweaver)
    transcripts = _read(files)
    _report(_measured(measure_grounding, transcripts, budgets, others, settings), as_json)


@evaluate.command(short_help="What answers rest on, in their context.")
@files_argument
@budget_option
@baselines_option
@contextweaver_option
@json_option
@connected
@offline_option
def evidence(
    files: Sequence[Path],
    budgets: Sequence[int],
    baselines: bool,
    contextweaver: bool,
    as_json: bool,
    settings: Settings | None,
) -> None:
    """Measure how many of the turns with an answer's evidence are whole in the context.

    FILES hold conversations with questions; a context is compiled for phase `answer` with each.
    `found` of the `turns` make the `share`; turns of a few words are counted apart. `openai` and
    `anthropic` are the shares in the messages for them, `oracle` is the share that a compile could
    reach if it knew the answer.

    \b
    Example:
      weft eval evidence conversations.json --json
    """
    from weft_eval.evidence import measure_evidence

    others = _others(baselines, contextweaver)
    transcripts = _read(files)
    _report(_measured(measure_evidence, transcripts, budgets, others, settings), as_json)


@evaluate.command(short_help="What stable prompts repeat, and what that costs.")
@files_argument
@budget_option
@json_option
@connected
@offline_option
def stability(
    files: Sequence[Path], budgets: Sequence[int], as_json: bool, settings: Settings | None
) -> None:
    """Measure how much of the previous prompt is repeated by a prompt compiled on it
    (`stable_from`).

    FILES hold chats with tool calls. Before each call a context is compiled twice for phase `call`:
    on that of the previous call, and afresh. If the session exceeds the budget, `share` is the mean
    share of tokens of the provider's messages that repeat the beginning of those before;
    `grounding` is to be compared with `afresh`, and `token_ratio` says how many more tokens are
    sent.

    \b
    Example:
      weft eval stability runs.json --budget 1000
    """
    from weft_eval.stability import measure_stability

    rows = _measured(measure_stability, _read(files), budgets or (1_000, 2_000), {}, settings)
    _report(rows, as_json)


@evaluate.command(short_help="What tasks need of a library, in their context.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@budget_option
@baselines_option
@json_option
@connected
@offline_option
def documents(
    folder: Path, budgets: Sequence[int], baselines: bool, as_json: bool, settings: Settings | None
) -> None:
    """Measure how many of the documents that tasks require are in the context.

    FOLDER holds `documents/*.json` (id, title, content), published as doc_snippet items, and
    `tasks.json`, each task the query of a compile for phase `answer`. A document counts as `found`
    if at least half of its words are shown.

    \b
    Example:
      weft eval documents tau2_banking --budget 2000
    """
    from weft_eval.documents import measure_documents, read_library

    library = [read_library(folder)]
    others = _others(baselines, False)
    chosen = budgets or (2_000, 4_000)
    _report(_measured(measure_documents, library, chosen, others, settings), as_json)


def _read(files: Sequence[Path]) -> list[Any]:
    from weft_eval.transcripts import read_labelled

    transcripts = [one for file in files for one in read_labelled(file)]
    if not any(one.steps or one.questions for one in transcripts):
        raise InvalidInput(
            f"{', '.join(map(str, files))}: holds nothing to measure on; see what FILES are to "
            "hold in `weft eval COMMAND --help`"
        )
    return transcripts


def _others(baselines: bool, contextweaver: bool) -> dict[str, Any]:
    """The baselines by name."""
    from weft_eval import baselines as held

    others: dict[str, Any] = {}
    if baselines:
        others |= {
            "newest until full": held.newest,
            "old results cleared": held.cleared,
            "BM25": held.bm25,
            "BM25 over passages": held.bm25_passages,
        }
    if contextweaver:
        others["contextweaver"] = held.contextweaver
    return others


def _measured(
    measure: Any,
    transcripts: Sequence[Any],
    budgets: Sequence[int],
    others: dict[str, Any],
    settings: Settings | None,
) -> list[dict[str, Any]]:
    rows = running(_measure_all(measure, transcripts, budgets or BUDGETS, others, settings))
    if not any(any(row.get(name) for name in MEASURED) for row in rows):
        raise InvalidInput(
            f"{transcripts[0].name} and what else was given hold nothing to measure on; see what "
            "FILES are to hold in `weft eval COMMAND --help`"
        )
    return rows


async def _measure_all(
    measure: Any,
    transcripts: Sequence[Any],
    budgets: Sequence[int],
    others: dict[str, Any],
    settings: Settings | None,
) -> list[dict[str, Any]]:
    rows = []
    async with _compiling(settings) as compiles:
        for budget in budgets:
            ways = {"weft": compiles(), **others}
            for name, compile_at in ways.items():
                total = await asyncio.to_thread(measure, transcripts, compile_at, budget)
                rows.append(_row(name, budget, total))
    return rows


@asynccontextmanager
async def _compiling(settings: Settings | None) -> AsyncIterator[Callable[[], Any]]:
    """Yields the function that compiles: by the services, or in this process if there are no
    settings."""
    if settings is None:
        from weft_eval.in_process import InProcess

        yield InProcess
        return
    from weft_eval.cli.live import LiveCompiles

    async with client(settings) as log:
        loop = asyncio.get_running_loop()
        yield lambda: LiveCompiles(log, loop)


def _row(name: str, budget: int, total: Any) -> dict[str, Any]:
    """The counts of a measure with their shares; single misses are too many for a table."""
    row = {"compiler": name, "budget": budget, "share": round(total.share, 4)}
    row |= {name: round(share, 4) for name, share in getattr(total, "shares", {}).items()}
    counts = {
        name: getattr(total, name)
        for name in total.__struct_fields__
        if isinstance(getattr(total, name), int | float) and name not in row
    }
    if counts.get("tokens"):
        row["frame_share"] = round(counts["frame"] / counts["tokens"], 4)
    return {**row, **counts}


def _report(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        table("", list(rows[0]), [list(row.values()) for row in rows])


for command in (envelope, routing, hydration, reading):
    evaluate.add_command(command)
