"""`weft eval reading`: what a model does with a prompt, measured on a user's own sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings, read_settings
from weft_schemas.errors import ConfigurationError, InvalidInput

if TYPE_CHECKING:
    from weft_eval.grounding import Compile
    from weft_eval.reading.cases import CaseChoice, ReadingCase
    from weft_eval.reading.files import Tools
    from weft_eval.transcripts import LabelledTranscript

BUDGETS = (2_000,)
FORMS = ("weft", "mask", "tail", "full", "openai")
"""All of `weft_eval.reading.forms`, repeated here so that --help does not import it."""
DEFAULT_FORMS = FORMS[:4]
IN_LOG = "log"
"""Kind of the cases from sessions that are in the log already."""
PATIENCE = 120.0
"""Seconds that an answer may take: a model may think for long."""

folder_argument = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))


@click.group(short_help="What a model does with a prompt, on your sessions.")
def reading() -> None:
    """What a model does with a prompt: the next call that it makes, beside the one really made.

    `cases` takes moments of your sessions, each as weft's prompt, with old results cleared, newest
    until full, and whole; `ask` puts them to a model, or any reader answers the files; `score`
    compares the forms.

    \b
    Example:
      weft eval reading cases out runs.json --budget 2000
    """


@reading.command("cases", short_help="Make the cases of a reading.")
@folder_argument
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--session", "-s", "sessions", multiple=True, metavar="ID",
    help="One in the log, as it stands there; may be repeated.",
)  # fmt: skip
@click.option("--budget", "-b", "budgets", multiple=True, type=click.IntRange(1),
              help="Tokens of the shortened forms; may be repeated.  [default: 2000]")  # fmt: skip
@click.option("--form", "forms", multiple=True, type=click.Choice(FORMS),
              help="May be repeated.  [default: weft, mask, tail, full]")  # fmt: skip
@click.option("--count", default=24, show_default=True, type=click.IntRange(1),
              help="Cases of a kind and budget, at most.")  # fmt: skip
@click.option("--per-session", default=2, show_default=True, type=click.IntRange(1),
              help="Cases of one session, at most.")  # fmt: skip
@click.option("--shortest", default=0, type=click.IntRange(0), metavar="TOKENS",
              help="Of a history; it exceeds the budget in any case.")  # fmt: skip
@click.option("--longest", default=16_000, show_default=True, type=click.IntRange(1),
              metavar="TOKENS", help="Of a history.")  # fmt: skip
@click.option("--without", multiple=True, metavar="TOOL",
              help="Make no case of its calls, such as `think`; may be repeated.")  # fmt: skip
@click.option("--readers", type=click.IntRange(1),
              help="Each reads every case once, in another form.  [default: one a form]"
              )  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Another draws other cases.")
@click.option("--offline", is_flag=True,
              help="Compile FILES here, without services: no memory, no summarizer.")  # fmt: skip
@json_option
@connected
def make(
    folder: Path,
    files: Sequence[Path],
    sessions: Sequence[str],
    budgets: Sequence[int],
    forms: Sequence[str],
    count: int,
    per_session: int,
    shortest: int,
    longest: int,
    without: Sequence[str],
    readers: int | None,
    seed: int,
    offline: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Write cases into FOLDER: of FILES as `weft publish` reads them, of sessions in the log.

    A case is the moment before a tool call with a value that the session had stated. The sessions
    of FILES are published as `eval-…` and stay in the log, so give them a tenant of their own. A
    file of many sessions is one kind of cases; files of one each are the kind of their folder.
    FOLDER gets `brief.txt`, and for each reader `cases_R.md` (to be read) and `key_R.json` (not to
    be seen); `gold.json` holds the calls that were really made.

    \b
    Examples:
      weft eval reading cases out runs.json --budget 2000 --budget 8000 --tenant eval
      weft eval reading cases out --session s1 --session s2 --count 50 --per-session 10
    """
    from weft_eval.in_process import InProcess
    from weft_eval.reading import files as stored
    from weft_eval.reading.cases import CaseChoice

    if not files and not sessions:
        raise InvalidInput("there is nothing to make cases of; give FILES or --session")
    if offline and sessions:
        raise InvalidInput("--session reads the log, which --offline does without; drop one")
    choice = CaseChoice(count, per_session, shortest, longest, seed, frozenset(without))
    asked = _CaseOptions(
        tuple(budgets or BUDGETS), choice, tuple(dict.fromkeys(forms or DEFAULT_FORMS))
    )
    kinds = _kinds(files)
    if offline:
        made, tools = _made(asked, kinds, InProcess)
    else:
        made, tools = running(_make(settings, kinds, sessions, asked))
    if not made:
        raise InvalidInput(
            "no moment fits: a case needs a call with a value that was stated before, after a "
            f"history of more tokens than the budget and at most {longest:,}; see --help"
        )
    stored.write(folder, made, tools, readers or len(asked.forms), seed)
    _tell(folder, made, as_json)


def _tell(folder: Path, made: Sequence[ReadingCase], as_json: bool) -> None:
    """Say how many cases of each kind and budget were written."""
    counts = {
        f"{kind} {budget}": sum(case.kind == kind and case.budget == budget for case in made)
        for kind, budget in dict.fromkeys((case.kind, case.budget) for case in made)
    }
    if as_json:
        print_json({"folder": str(folder), "cases": counts})
    else:
        counted = ", ".join(f"{number} of {name} tokens" for name, number in counts.items())
        click.echo(f"{folder}: {len(made)} cases: {counted}")
        hint(f"now `weft eval reading ask {folder}`, or have {folder}/brief.txt followed")


@reading.command(short_help="Put the cases to a model.")
@folder_argument
@click.option("--url", metavar="URL",
              help="OpenAI-compatible, such as http://host/v1.  [WEFT_READING_URL]")  # fmt: skip
@click.option("--model", metavar="NAME", help="[WEFT_READING_MODEL]")
@click.option("--parallel", default=4, show_default=True, type=click.IntRange(1, 64),
              help="Cases asked at once.")  # fmt: skip
def ask(folder: Path, url: str | None, model: str | None, parallel: int) -> None:
    """Put every case of FOLDER to a model, in each reader's form, and write `answers_R.json`.

    The endpoint's key comes from WEFT_READING_API_KEY. Cases that are answered are not asked again,
    so an interrupted command continues where it stopped. Cases whose reply names no call are asked
    again.

    \b
    Example:
      weft eval reading ask out --url http://localhost:8000/v1 --model my-model
    """
    from weft.language_model import ChatEndpoint

    settings = read_settings(reading_url=url, reading_model=model)
    if settings.reading_url is None or settings.reading_model is None:
        raise ConfigurationError(
            "no model is configured; give --url and --model, or set WEFT_READING_URL and "
            f"WEFT_READING_MODEL; else have any reader follow {folder}/brief.txt"
        )
    endpoint = ChatEndpoint(
        settings.reading_url, settings.reading_model, settings.reading_api_key or "", PATIENCE
    )
    from weft_eval.cli.reading_answers import ask_all

    asked, unreadable = ask_all(folder, endpoint, parallel)
    click.echo(f"{folder}: {asked - unreadable} cases answered by {endpoint.model}")
    if unreadable:
        hint(f"{unreadable} more replies name no call; the same command asks for them again")
    hint(f"now `weft eval reading score {folder}`")


@reading.command(short_help="Compare the forms by the answers.")
@folder_argument
@json_option
def score(folder: Path, as_json: bool) -> None:
    """Compare the answers in FOLDER with the calls that were really made, by form.

    `values` is the share of the real call's earlier-stated values that the answer gives, `tool` the
    share of answers with the right tool, `exact` of those that also have exactly the same values;
    `unknown` counts answers that had to leave a value open, `misled` those whose reader says that
    something could mislead. The whole history (`full`) is the ceiling. Differences under .08 at 28
    cases are noise.

    \b
    Example:
      weft eval reading score out --json
    """
    from weft_eval.reading import files, scoring

    gold, keys = files.read_gold(folder), files.read_keys(folder)
    held = {reader: files.read_answers(folder, reader) for reader in keys}
    answers = {reader: found for reader, found in held.items() if found is not None}
    if not answers:
        raise InvalidInput(f"{folder}: holds no answers_R.json yet; see {folder}/brief.txt")
    found = scoring.reading(gold, keys, answers)
    if as_json:
        print_json(found)
        return
    names = list(scoring.ScoreRow.__struct_fields__)
    table("", names, [[getattr(row, name) for name in names] for row in found.rows])
    if found.lost:
        hint(f"weft's prompt loses values of the whole history in: {', '.join(found.lost)}")


class _CaseOptions(msgspec.Struct, frozen=True):
    budgets: tuple[int, ...]
    choice: CaseChoice
    forms: tuple[str, ...]


async def _make(
    settings: Settings,
    kinds: Mapping[str, Sequence[LabelledTranscript]],
    sessions: Sequence[str],
    asked: _CaseOptions,
) -> tuple[list[ReadingCase], Tools]:
    """First the cases from files, whose sessions are published, then those from sessions in the
    log."""
    from weft_eval.cli.live import LiveCompiles, LoggedCompiles, logged_sessions

    async with client(settings) as log:
        loop = asyncio.get_running_loop()
        made, tools = await asyncio.to_thread(_made, asked, kinds, lambda: LiveCompiles(log, loop))
        if sessions:
            found = await logged_sessions(log, sessions)
            logged = {IN_LOG: [transcript for transcript, _ in found]}
            more, of_log = await asyncio.to_thread(
                _made, asked, logged, lambda: LoggedCompiles(log, loop, found)
            )
            made, tools = [*made, *more], {**tools, **of_log}
    return made, tools


def _made(
    asked: _CaseOptions,
    kinds: Mapping[str, Sequence[LabelledTranscript]],
    compiles: Callable[[], Compile],
) -> tuple[list[ReadingCase], Tools]:
    """Anew for each budget: whatever is published to a session stays there."""
    from weft_eval.reading.cases import make_cases, tools_of

    made = [
        case
        for kind, transcripts in kinds.items()
        for budget in asked.budgets
        for case in make_cases(kind, transcripts, compiles(), budget, asked.choice, asked.forms)
    ]
    return made, {kind: tools_of(transcripts) for kind, transcripts in kinds.items()}


def _kinds(files: Sequence[Path]) -> dict[str, list[LabelledTranscript]]:
    """Sessions by kind: those of a file with many, and those of a folder's files with one each."""
    from weft_eval.transcripts import read_labelled

    kinds: dict[str, list[LabelledTranscript]] = {}
    for file in files:
        transcripts = read_labelled(file)
        name = file.stem if len(transcripts) > 1 else file.resolve().parent.name
        kinds.setdefault(name, []).extend(transcripts)
    for name, transcripts in kinds.items():
        names = {one.name for one in transcripts}
        if name == IN_LOG or len(names) < len(transcripts):
            raise InvalidInput(
                f"two kinds of sessions are named {name!r}; rename one of their files or folders"
            )
    return kinds
