"""Any process dies at any time under load, the server too: what was acknowledged is held once, in
order and settled, and nothing else is."""

import os
import random
from pathlib import Path

import pytest

from tests.crash.killing import kill_under_load


def seed() -> int:
    """A new one each time; `WEFT_SEED` repeats a run's choices."""
    return int(os.environ.get("WEFT_SEED") or random.SystemRandom().randrange(1_000_000))


async def test_random_kills_under_load_lose_double_and_invent_nothing(tmp_path: Path, tell):
    report = await kill_under_load(tmp_path, seed(), sessions=12, items=125, kills=10, pause=0.7)
    tell(str(report))
    assert report.faults == []
    assert len(report.attempts) == 1_500


@pytest.mark.slow
@pytest.mark.parametrize("round", range(5))
async def test_minutes_of_random_kills(tmp_path: Path, tell, round: int):
    report = await kill_under_load(
        tmp_path, seed() + round, sessions=24, items=500, kills=40, pause=1.5
    )
    tell(str(report))
    assert report.faults == []
