"""How work that takes long tells how far it has come: it calls a function that it is given."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[int, int], None]
"""Called with what is done and what there is: two counts, or two sequences of the log."""

OnStepProgress = Callable[[str, int, int], None]
"""The same for work of several steps: called with the name of the step first."""
