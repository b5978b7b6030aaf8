"""Progress of long work: the work calls a function of this type as it goes on."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[int, int], None]
"""Called with what is done and with the total: two counts, or two sequences of the log."""

OnStepProgress = Callable[[str, int, int], None]
"""The same for work of several steps: called with the name of the step first."""
