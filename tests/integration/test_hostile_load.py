"""Whatever one tenant asks, another's small compiles take no more than three times as long, and
every service says that it lives. Beside its own heavy compiles, the same holds for its small ones.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.heavy_load import LOADS, Measured, Ready, measured, ready
from tests.integration.preloaded import shared_preloaded

from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, Up, running

pytestmark = pytest.mark.slow  # it holds times against each other, so nothing may run beside it
WINDOWS, TIMES = 3, 120
TRIES = 3
"""Measurements until one holds: what else the machine does can fall on one side alone."""
MOST = 3.0
LIVE_SECONDS = 0.1


class Site(NamedTuple):
    up: Up
    clients: Ready


def held_up(found: Measured) -> dict[str, tuple[float, float]]:
    """What took too long: seconds without the load, and beside it."""
    quiet = found.compile_p99(found.quiet)
    compiles = {"compile": (quiet, found.compile_p99(found.beside))}
    if found.own:
        compiles["own compile"] = (quiet, found.compile_p99(found.own))
    slow = {what: taken for what, taken in compiles.items() if taken[1] > MOST * quiet}
    for service in found.services:
        quiet = found.live_longest(found.quiet, service)
        beside = found.live_longest(found.beside, service)
        if beside > max(LIVE_SECONDS, MOST * quiet):
            slow[service] = (quiet, beside)
    return slow


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """One for all loads: what a load leaves behind is there for the next, and costs it nothing."""
    folder = tmp_path_factory.mktemp("load")
    settings = Settings(data_dir=folder)
    with (folder / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            ready(up.settings) as clients,
        ):
            yield Site(up, clients)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.asyncio(loop_scope="module")
async def test_heavy_work_of_one_tenant_holds_nobody_else_up(load: str, site: Site, tell):
    """Heavy requests; or results of up to 50 MB, and compiles from them; or heavy compiles."""
    for _ in range(TRIES):
        found = await measured(site.clients, site.up.settings, load, WINDOWS, TIMES)
        slow = held_up(found)
        if not slow:
            break
    restarts = {state.name: state.restarts for state in site.up.supervisor.states()}
    quiet, beside = found.compile_p99(found.quiet), found.compile_p99(found.beside)
    longest = max(found.live_longest(found.beside, service) for service in found.services)
    tell(
        f"a small compile beside heavy work ({load}): p99 {beside * 1e3:.0f} ms, quiet "
        f"{quiet * 1e3:.0f} ms; the longest /live {longest * 1e3:.0f} ms"
    )
    assert slow == {}
    assert not any(restarts.values()), restarts
