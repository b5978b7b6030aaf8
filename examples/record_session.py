"""Makes the demo's recorded session: a coding agent mends the sample project in `tally/`. What user
and agent say is scripted here; whatever a tool returned comes from really running it.

    python examples/record_session.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recorder import Recorder

from weft.cli.demo_session import SESSION_FILE, demo_key
from weft_schemas.items import ItemKind, Sensitivity

SAMPLE = Path(__file__).parent / "tally"
SCOPE = "user:maya"
DAY = "2026-11-14"

POLICY = """You are the coding agent of the tally project. Work in small steps, run the tests before
and after a change, and never show a credential. Money is exact: no floating point."""

MENDED_AMOUNT = '''def parse_amount(text: str) -> Decimal:
    """The API's display format: a comma between thousands."""
    return Decimal(text.replace(",", ""))
'''


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "tally"
        shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "data"))
        key = demo_key()
        (folder / ".env").write_text(f"ORDERS_URL=http://orders.example:8080\nACCESS_KEY={key}\n")
        recorder = Recorder(folder, SCOPE, key)
        _history(folder)
        with _orders_api(folder) as api:
            _look(recorder)
            _compare_with_api(recorder, api)
            _mend(recorder, folder)
            _release(recorder, api)
        recorder.save(SESSION_FILE)
    print(f"{len(recorder.items)} items, {SESSION_FILE.stat().st_size:,} bytes in {SESSION_FILE}")


def _look(agent: Recorder) -> None:
    agent.say(ItemKind.POLICY, POLICY)
    agent.say(ItemKind.MEMORY_FACT, "user_timezone=UTC", author="maya")
    agent.say(
        ItemKind.USER_TURN,
        f"The revenue report for {DAY} has not come since last night's export. Find out why, mend "
        "it, and tell me the day's revenue. My days are in my own time zone, as always.",
        author="maya",
    )
    agent.say(
        ItemKind.PLAN_STATE,
        "1. [now] see what the project is and what changed\n2. [todo] run the tests and the "
        "report\n3. [todo] find the cause\n4. [todo] mend, test, commit",
    )
    agent.parallel(
        ("run", {"command": "git log --stat -n 5"}),
        ("run", {"command": "find . -name '*.py' -o -name '*.md' -o -name '*.csv' | sort"}),
    )
    agent.say(ItemKind.AGENT_MSG, "A small project. I run its tests and the report as they stand.")
    agent.call("run", command="python -m pytest")
    agent.call("run", command=f"python -m tally.report data/orders.csv --day {DAY}")
    agent.say(
        ItemKind.AGENT_MSG,
        "The report dies on an amount with a comma. I read the parser, and look for every place "
        "that converts amounts.",
    )
    agent.parallel(
        ("read_file", {"path": "tally/orders.py"}),
        ("run", {"command": "grep -rn 'float(\\|Decimal(' --include=*.py ."}),
    )
    agent.call("read_file", path="data/orders.csv")


def _compare_with_api(agent: Recorder, api: str) -> None:
    agent.say(
        ItemKind.PLAN_STATE,
        "1. [done] see what the project is\n2. [done] tests fail, report dies in parse_amount\n"
        "3. [now] is the comma the API's, or our export's?\n4. [todo] mend, test, commit",
    )
    guide = (SAMPLE / "docs" / "orders-api.md").read_text()
    for title in ("Amounts", "Times"):
        snippet = re.search(rf"## {title}\n.*?(?=\n## |\Z)", guide, re.S)
        assert snippet, f"docs/orders-api.md has no section {title}"
        agent.say(ItemKind.DOC_SNIPPET, snippet[0].strip(), source="docs/orders-api.md")
    agent.call("http_get", url=f"{api}/orders")
    largest = agent.call(
        "run", command="grep -n '\"' data/orders.csv | sort -t'\"' -k2 | tail -n 5"
    )
    order = re.findall(r"O-\d+", largest)[-1]
    agent.say(ItemKind.AGENT_MSG, f"I check {order} at the API, and how it answers a wrong id.")
    agent.parallel(
        ("http_get", {"url": f"{api}/orders/{order}"}),
        ("http_get", {"url": f"{api}/orders/{order}-X"}),
    )
    agent.say(
        ItemKind.AGENT_MSG,
        "The API sends the comma on purpose. I look at the settings before I change the parser.",
    )
    agent.call("run", command="cat .env pyproject.toml")
    agent.call("http_get", url=f"{api}/data/")
    agent.say(
        ItemKind.USER_TURN,
        "Fine. Do not touch the API, mend our side only. Finance wants the figure per currency.",
        author="maya",
    )
    agent.say(
        ItemKind.USER_TURN,
        "And for you alone: the auditors come on 20 November, so no second attempt.",
        Sensitivity.CONFIDENTIAL,
        author="maya",
    )


def _mend(agent: Recorder, folder: Path) -> None:
    agent.say(
        ItemKind.AGENT_MSG, "Two mends: the comma in parse_amount, and the day counted in UTC."
    )
    source = (folder / "tally" / "orders.py").read_text()
    head = source[: source.index("def parse_amount")]
    agent.call("write_file", path="tally/orders.py", text=head + MENDED_AMOUNT)
    agent.call("run", command="python -m pytest -q --tb=short")
    agent.say(ItemKind.AGENT_MSG, "The amounts are right now; the day is still the customer's own.")
    mended = (folder / "tally" / "orders.py").read_text()
    mended = mended.replace("import date, datetime", "import UTC, date, datetime")
    mended = mended.replace("self.placed_at.date()", "self.placed_at.astimezone(UTC).date()")
    agent.call("write_file", path="tally/orders.py", text=mended)
    agent.call("run", command="python -m pytest -vv")
    agent.parallel(
        ("run", {"command": "git diff"}),
        ("run", {"command": f"python -m tally.report data/orders.csv --day {DAY}"}),
    )
    agent.call(
        "run", command="git commit -qam 'Read display amounts, count days in UTC' && git log"
    )


def _release(agent: Recorder, api: str) -> None:
    agent.say(
        ItemKind.PLAN_STATE,
        "1. [done] cause: display amounts with commas, days in local time\n2. [done] mended, "
        "tested, committed\n3. [now] build the package\n4. [todo] report the figures",
    )
    agent.parallel(
        ("run", {"command": "pip list --format json --exclude-editable"}),
        ("run", {"command": "pip wheel --verbose --no-index --no-deps --no-build-isolation ."}),
    )
    agent.call("run", command="unzip -l tally-1.4.0-py3-none-any.whl")
    agent.call("run", command='python -c "import tally.rapport"')
    agent.call("http_get", url=f"{api}/orders/O-21999")
    agent.say(ItemKind.MEMORY_FACT, "revenue_report_format=one line per currency", author="maya")
    figures = agent.call("run", command=f"python -m tally.report data/orders.csv --day {DAY}")
    agent.say(
        ItemKind.AGENT_MSG,
        "The export has had amounts in display format since last night (a comma from 1,000 on), "
        f"and days were counted in the customers' time. Both are mended and tested. {DAY}, in "
        f"UTC:\n{figures}",
    )
    agent.say(
        ItemKind.USER_TURN,
        "Which order is the largest of them, and in which country was it placed?",
        author="maya",
    )
    agent.call(
        "run",
        command=f"grep {DAY}T data/orders.csv | grep ',paid' | grep '\"' | sort -t'\"' -k2 -r",
    )


def _history(folder: Path) -> None:
    """Three commits of a past, so that `git log` has something true to say."""
    identity = "export GIT_AUTHOR_NAME=Maya GIT_AUTHOR_EMAIL=maya@tally.example "
    identity += "GIT_COMMITTER_NAME=Maya GIT_COMMITTER_EMAIL=maya@tally.example; "
    ignored = "'.env\\ndata/\\nbuild/\\n*.whl\\n__pycache__/\\n.pytest_cache/\\n'"
    for command in (
        "git init -q -b main .",
        f"printf {ignored} > .gitignore",
        "git add README.md docs .gitignore pyproject.toml && git commit -qm 'Describe the export'",
        "git add tally && git commit -qm 'Add up paid orders per day'",
        "git add . && git commit -qm 'Test amounts and days'",
        f"{sys.executable} scripts/make_orders.py",
    ):
        subprocess.run(identity + command, shell=True, cwd=folder, check=True)


@contextmanager
def _orders_api(folder: Path) -> Iterator[str]:
    command = [sys.executable, "scripts/serve_orders.py"]
    with subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
