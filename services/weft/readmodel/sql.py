"""SQL lives in .sql files beside the code that runs it; here they become named statements."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(file: str) -> SimpleNamespace:
    """The statements of `<file>.sql`, one attribute for each `-- name:` line in it."""
    parts = _NAME.split(text(file))[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return SimpleNamespace(**{name: sql.strip() for name, sql in named})


def text(file: str) -> str:
    """The whole of `<file>.sql`."""
    return (_FOLDER / f"{file}.sql").read_text(encoding="utf-8")
