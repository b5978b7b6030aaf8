"""The indexer's fold alone: items per second, megabytes per second of large bodies, file size
against text, and search as sessions grow.

`python -m tests.bench.indexer [items]`. The text is drawn from a vocabulary with the frequencies of
natural language (Zipf) and holds identifiers that never repeat, as tool-agent items do.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from tests.bench.compilable import result
from tests.bench.table import show
from weft import tokens
from weft.firewall.derive import envelope_for
from weft.log.following import BATCH
from weft.log.record import LogRecord
from weft.passages.literals import decoded
from weft.passages.splitting import outline_of
from weft.readmodel.derived_fold import divided
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer
from weft.terms import analyse
from weft_schemas.events import EnvelopeEvent, Event, Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy

BODY_KB, BODIES, TURNS = 200, 20, 5
PLAIN = {
    "written": "CREATE TABLE bodies (text TEXT)",
    "FTS5": "CREATE VIRTUAL TABLE bodies USING fts5(text)",
    "FTS5, stemmed": "CREATE VIRTUAL TABLE bodies USING fts5(text, tokenize = 'porter unicode61')",
}
"""What SQLite does with the same texts: it writes them, or it writes and indexes them, each as one
document."""
_KINDS = (ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.TOOL_CALL, ItemKind.DOC_SNIPPET)


class Words:
    """Text of a wanted size, the same for the same seed."""

    def __init__(self, seed: int, vocabulary: int = 30_000) -> None:
        self.random = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgk"
        self.words = [
            "".join(self.random.choices(letters, k=self.random.randint(2, 9)))
            for _ in range(vocabulary)
        ]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(vocabulary)))

    def text(self, size: int) -> str:
        words = self.random.choices(self.words, cum_weights=self.weights, k=max(1, size // 7))
        words.insert(0, f"ORD-{self.random.getrandbits(40):x}")
        return " ".join(words)[:size]

    def rare(self) -> str:
        """A query of three middling words and one common one."""
        middling = self.random.sample(self.words[200:5_000], 3)
        return " ".join([*middling, self.words[self.random.randrange(20)]])


def items(words: Words, count: int, size: int) -> Iterator[ContextItem]:
    for number in range(count):
        yield ContextItem(f"i{number}", _KINDS[number % 4], words.text(size))


def records(count: int, size: int, sessions: int = 1, seed: int = 7) -> list[LogRecord]:
    """`count` items over `sessions`, in turn, as the log would give them."""
    made: list[LogRecord] = []
    for number, item in enumerate(items(Words(seed), count, size)):
        made += records_of([item], "t", f"s{number % sessions}", number + 1, number)
    return made


def fold(path: Path, log: list[LogRecord], batch: int = BATCH) -> tuple[float, float]:
    """Seconds, of the clock and of the processor, to fold a log into a file. No text of an earlier
    fold is remembered."""
    for remembering in (outline_of, decoded, divided):
        remembering.cache_clear()
    db = open_writer(path)
    target = Fold(db)
    start, worked = time.perf_counter(), time.process_time()
    for at in range(0, len(log), batch):
        target.apply(log[at : at + batch])
        target.seal()
    taken = time.perf_counter() - start, time.process_time() - worked
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return taken


def bodies(form: str, count: int) -> list[str]:
    """Texts of some 200 KB: JSON records with ids that never come again, or words."""
    if form == "records":
        return [result(number, BODY_KB)[1].text for number in range(count)]
    words = Words(11)
    return [words.text(BODY_KB * 1_000) for _ in range(count)]


def results(texts: Sequence[str]) -> list[LogRecord]:
    """Each text as a tool's result, with its envelope, as the log holds them."""
    events: list[Event] = []
    for number, text in enumerate(texts):
        item = ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text)
        origin = Origin(len(events) + 1, item.id, "firewall")
        events += [item, _envelope(item, origin)]
    return records_of(events, "t", "s")


def _envelope(item: ContextItem, origin: Origin) -> EnvelopeEvent:
    return envelope_for(
        item,
        item.text,
        origin=origin,
        rules=ContextPolicy().firewall,
        fingerprint_key=b"bench",
        encoding=tokens.DEFAULT_ENCODING,
        tenant="t",
        session="s",
    )


def written(path: Path, texts: Sequence[str], table: str) -> float:
    """Seconds of the processor to insert texts into a table of SQLite, one a transaction."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("PRAGMA synchronous = normal")
    db.execute(table)
    worked = time.process_time()
    for text in texts:
        db.execute("INSERT INTO bodies VALUES (?)", (text,))
    taken = time.process_time() - worked
    db.close()
    return taken


def of_bodies(folder: Path, form: str, count: int) -> tuple[object, ...]:
    """One row of the table of large bodies: medians of turns, in megabytes per second of a
    processor."""
    texts = bodies(form, count)
    log, size = results(texts), sum(map(len, texts)) / 1e6
    speeds = defaultdict[str, list[float]](list)
    for turn in range(TURNS):
        for way, batch in (("alone", 2), ("together", 2 * count)):
            path = folder / f"{form}-{turn}-{way}.sqlite"
            speeds[way].append(size / fold(path, log, batch)[1])
        for way, table in PLAIN.items():
            path = folder / f"{form}-{turn}-{way}.sqlite"
            speeds[way].append(size / written(path, texts, table))
    share = (folder / f"{form}-0-alone.sqlite").stat().st_size / 1e6 / size
    return form, count, *(statistics.median(found) for found in speeds.values()), share


def search_p50(path: Path, session: str, count: int = 200) -> float:
    """Milliseconds of a search with a new query each time."""
    model, words = ReadModel.open(path), Words(7)
    times = []
    for _ in range(count):
        query = list(analyse(words.rare()))
        view = model.view("t", session)
        start = time.perf_counter()
        view.search(query, 200)
        times.append(time.perf_counter() - start)
    model.close()
    return statistics.median(times) * 1_000


def main() -> None:
    """Print the tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    tokens.count("ready")
    with tempfile.TemporaryDirectory() as folder:
        shapes = ((180, 1), (500, 1), (500, 500), (940, 1))
        rows = [folding(Path(folder), count, size, sessions) for size, sessions in shapes]
        columns = ("bytes", "sessions", "items", "items/s", "items/CPU s", "file/text")
        show("Folding, one process", columns, rows)
        rows = [of_bodies(Path(folder), form, BODIES) for form in ("records", "words")]
        title = f"Large bodies of {BODY_KB} KB, MB per second of a processor, one process"
        show(title, ("text", "bodies", "folded alone", "together", *PLAIN, "file/text"), rows)
        lengths = []
        for length in (1_000, 10_000, 100_000):
            path = Path(folder) / f"length-{length}.sqlite"
            fold(path, records(length, 200))
            lengths.append((length, search_p50(path, "s0"), 200))
        show("Search, a new query each time", ("items", "p50 ms", "n"), lengths)


def folding(folder: Path, count: int, size: int, sessions: int) -> tuple[object, ...]:
    """One row of the first table."""
    log = records(count, size, sessions)
    path = folder / f"{size}-{sessions}.sqlite"
    seconds, cpu = fold(path, log)
    text = count * size
    return size, sessions, count, count / seconds, count / cpu, path.stat().st_size / text


if __name__ == "__main__":
    main()
