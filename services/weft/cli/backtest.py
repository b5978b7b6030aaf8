"""`weft backtest`: recorded compiles under another policy."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from weft.audit.backtest import SessionResult
    from weft.audit.backtest_from_log import Backtest

SHOWN = 20
"""How many sessions the table lists, those with the most altered prompts; the JSON has all."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@click.command()
@click.option("--policy", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="JSON or YAML, as for `weft policy publish`.")  # fmt: skip
@click.option("--since", default="", metavar="TIME",
              help="`36h`, `7d` or `2026-01-31T08:00:00Z`; else all.")  # fmt: skip
@click.option("--processes", type=click.IntRange(1, 64), default=os.cpu_count() or 1,
              show_default="all cores")  # fmt: skip
@json_option
@connected
def backtest(policy: Path, since: str, processes: int, as_json: bool, settings: Settings) -> None:
    """Repeat every recorded compile, as it was and under the policy in FILE.

    Compares tokens, drops by reason, grounding (of the argument values of the call that came next,
    the share in the context; phase `call`), how much of each prompt the next one begins with, and
    which items each prompt gains and loses. Nothing is published. Needs a credential that may read
    the log, and the WEFT_FINGERPRINT_KEY of the compiler.

    \b
    Examples:
      weft backtest --policy smaller.yaml
      weft backtest --policy smaller.yaml --since 24h --json | jq .proposed
    """
    found = running(_backtested(settings, policy, since_ns(since), processes, as_json))
    summary = found.summary()
    if as_json:
        print_json(summary)
        return
    rows = [[name, *(_cell(summary[side], name) for side in ("recorded", "proposed"))]
            for name in _measures(summary)]  # fmt: skip
    table("", ["", "as recorded", found.policy or "proposed"], rows)
    sessions = sorted(found.sessions, key=lambda one: -len(one.altered))
    if any(one.altered for one in sessions):
        shown = [_session_row(one) for one in sessions[:SHOWN] if one.altered]
        columns = ["session", "compiles", "altered", "tokens before", "tokens after"]
        table("\nmost altered sessions", columns, shown)
    _tell(summary)
    if found.gone.begins:
        hint(f"{found.gone.cut}: what sessions had before is in neither column")


def since_ns(text: str) -> int:
    """A time, or a duration before now, in nanoseconds since 1970 UTC. Raises `InvalidInput`."""
    from weft.audit.time_to_sequence import parse_time

    if not text:
        return 0
    ago = re.fullmatch(r"(\d+)([smhd])", text)
    if ago:
        return time.time_ns() - int(ago[1]) * _UNITS[ago[2]] * 1_000_000_000
    try:
        return parse_time(text)
    except InvalidInput:
        raise InvalidInput(f"--since {text}: give 36h, 7d or 2026-01-31T08:00:00Z") from None


async def _backtested(
    settings: Settings, file: Path, since: int, processes: int, quiet: bool
) -> Backtest:
    from weft.audit.backtest_from_log import backtest_policy
    from weft.cli.policy import read_policy
    from weft.cli.progress import progress

    policy = read_policy(file)
    key = settings.fingerprint_key.encode()
    async with client(settings) as log:
        with progress("compiles", quiet) as on_progress:
            return await backtest_policy(
                log.connection, settings.tenant, policy, key, processes, since, on_progress
            )


def _measures(summary: dict[str, Any]) -> list[str]:
    reasons = sorted({*summary["recorded"]["dropped"], *summary["proposed"]["dropped"]})
    dropped = [f"dropped: {reason}" for reason in reasons]
    return ["compiles", "tokens", "tokens_mean", "included", *dropped, "grounding", "values",
            "prefix_stability"]  # fmt: skip


def _cell(side: dict[str, Any], name: str) -> Any:
    label, _, reason = name.partition(": ")
    value = side[label].get(reason, 0) if reason else side[name]
    return "-" if value is None else value


def _session_row(one: SessionResult) -> list[Any]:
    counts = [one.recorded.compiles, len(one.altered)]
    return [one.session, *counts, one.recorded.tokens, one.proposed.tokens]


def _tell(summary: dict[str, Any]) -> None:
    hint(
        f"\n{summary['altered']} of {summary['compiles']} prompts of {summary['sessions']} "
        f"sessions are altered; {summary['compiles_per_second']} compiles a second, each made "
        f"twice, in {summary['processes']} processes"
    )
    if by_key := summary["recorded_under_another_key"]:
        hint(
            f"of {by_key} only fenced blocks or handles differ from the record: "
            "WEFT_FINGERPRINT_KEY is not the one of those compiles"
        )
    if otherwise := summary["selected_otherwise_now"]:
        also = "; some perhaps for the key, too" if by_key else ""
        hint(f"{otherwise} were recorded with another selection than now{also}")
    for reason, count in summary["skipped"].items():
        hint(f"skipped: {count} ({reason})")
