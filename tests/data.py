"""Where the real sessions for measuring lie, if they are here at all."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("WEFT_DATA", ROOT.parent / "shared" / "data"))

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no sessions to measure on here")
