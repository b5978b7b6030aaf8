"""The files of one reading: every case once for each reader, in another form for each, so that with
as many readers as forms each case is read once in each form."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from weft_eval.reading.brief import OF_FILE, tools_text
from weft_eval.reading.cases import ReadingCase
from weft_schemas.errors import InvalidInput

T = TypeVar("T")

GOLD, TOOLS, BRIEF = "gold.json", "tools.json", "brief.txt"

Tools = dict[str, dict[str, list[str]]]
"""For each kind its tools, with the names of their arguments."""
BlindingKey = dict[str, str]
"""Which form a reader gets of each case."""
Answers = dict[str, Any]
"""By case, whatever the reader wrote."""


def write(
    folder: Path, cases: Sequence[ReadingCase], tools: Tools, readers: int, seed: int
) -> None:
    """Write the brief, the cases and keys of every reader, and the gold. Raises `InvalidInput` if
    the folder contains a reading already."""
    if (folder / GOLD).exists():
        raise InvalidInput(f"{folder}: holds a reading; name another folder, or remove this one")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / BRIEF).write_text(OF_FILE, encoding="utf-8")
    (folder / TOOLS).write_bytes(msgspec.json.encode(tools))
    for reader in range(readers):
        key = key_of(cases, reader, seed)
        (folder / f"cases_{reader}.md").write_text(_cases(cases, tools, key), encoding="utf-8")
        (folder / f"key_{reader}.json").write_bytes(msgspec.json.encode(key))
    (folder / GOLD).write_bytes(msgspec.json.encode(cases))  # last: it says that all is there


def key_of(cases: Sequence[ReadingCase], reader: int, seed: int) -> BlindingKey:
    """A reader's forms, in the order in which it reads the cases."""
    forms = [list(case.prompts) for case in cases]
    key = [
        (case.id, held[(number + reader) % len(held)])
        for number, (case, held) in enumerate(zip(cases, forms, strict=True))
    ]
    random.Random(f"{seed}/{reader}").shuffle(key)
    return dict(key)


def _cases(cases: Sequence[ReadingCase], tools: Tools, key: BlindingKey) -> str:
    by_id = {case.id: case for case in cases}
    parts = [*_policies(cases), "# Tools"]
    parts += [f"## of {kind} cases\n\n{tools_text(held)}" for kind, held in tools.items()]
    for id, form in key.items():
        case = by_id[id]
        heading = f"{'=' * 20} CASE {id} (kind {case.kind}) {'=' * 20}"
        parts.append(f"{heading}\n{case.prompts[form]}")
    return "\n\n".join(parts) + "\n"


def _policies(cases: Sequence[ReadingCase]) -> Iterator[str]:
    """Each policy once; it names its cases if its kind has several."""
    held: dict[str, dict[str, list[str]]] = {}
    for case in cases:
        held.setdefault(case.kind, {}).setdefault(case.policy, []).append(case.id)
    for kind, policies in held.items():
        for policy, ids in policies.items():
            which = f": {', '.join(sorted(ids))}" if len(policies) > 1 else ""
            if policy:
                yield f"# Policy of the {kind} cases{which}\n\n{policy}"


def read_gold(folder: Path) -> dict[str, ReadingCase]:
    """The cases by id. Raises `InvalidInput` if the folder contains none."""
    return {case.id: case for case in _read(folder / GOLD, list[ReadingCase])}


def read_tools(folder: Path) -> Tools:
    return _read(folder / TOOLS, Tools)


def read_keys(folder: Path) -> dict[int, BlindingKey]:
    """By reader."""
    return {_number(path): _read(path, BlindingKey) for path in sorted(folder.glob("key_*.json"))}


def read_answers(folder: Path, reader: int) -> Answers | None:
    """A reader's answers, null for cases without one."""
    path = folder / f"answers_{reader}.json"
    return _read(path, Answers) if path.exists() else None


def write_answers(folder: Path, reader: int, answers: Mapping[str, Any]) -> None:
    """In one step: a file that exists is complete, whatever happens."""
    written = folder / f"answers_{reader}.json.part"
    written.write_bytes(msgspec.json.format(msgspec.json.encode(answers), indent=1))
    written.replace(folder / f"answers_{reader}.json")


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InvalidInput(
            f"{path}: {error.strerror}; `weft eval reading cases` makes a folder with it"
        ) from None
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path}: {error}") from None


def _number(path: Path) -> int:
    number = path.stem.removeprefix("key_")
    if not number.isdecimal():
        raise InvalidInput(f"{path}: no key of a reader; they are named key_0.json, key_1.json, …")
    return int(number)
