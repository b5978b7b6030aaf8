"""The deployment that the processes of all tests belong to, and what tests tell beside passing."""

import gc
import os
from collections.abc import Callable, Generator

import pytest
from hypothesis import settings

from tests.audited import KEY

os.environ.setdefault("WEFT_FINGERPRINT_KEY", KEY.decode())
settings.register_profile("weft", deadline=None)  # the first example may load an encoding
# The same examples every time: `make fuzz` and a run without this profile draw others.
settings.register_profile("ci", settings.get_profile("ci"), max_examples=30)
settings.load_profile("weft")

REPORTED = "reported"
COLLECTED = (20_000, 10, 10)
"""Python's thresholds of looking for garbage, with 20,000 new objects for 700: what tests make is
short-lived, and looking at it took a tenth of their processor time."""


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Has a line printed at the end of the run, from whichever process: a seed, what was counted
    or measured."""
    return lambda line: record_property(REPORTED, line)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imported modules and collected tests stay to the end: looking for garbage among them would
    take a third of the time of collecting, in each process. Afterwards it is looked for less often
    than Python does by itself; pytest looks for all of it at the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*COLLECTED)
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    calls = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
    ]
    lines = [value for call in calls for name, value in call.user_properties if name == REPORTED]
    if lines:
        terminalreporter.section("reported")
        for line in lines:
            terminalreporter.write_line(str(line))
