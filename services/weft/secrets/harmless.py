"""Which values next to a name that tells of a secret are none, and stay: by the name itself, by the
name and the form of the value, or because the policy says so."""

from __future__ import annotations

from fnmatch import fnmatchcase

import msgspec

from weft.secrets.names import is_harmless, names_step
from weft.secrets.values import is_reference


class HarmlessValues(msgspec.Struct, frozen=True):
    names: tuple[str, ...] = ()
    """Globs of `FirewallRules.harmless_names`, for whole names or for what follows their last full
    stop."""

    def has(self, name: bytes, value: bytes) -> bool:
        return is_harmless(name) or is_reference_of_step(name, value) or self._names(name)

    def _names(self, name: bytes) -> bool:
        if not self.names:
            return False
        whole = name.rpartition(b" ")[2].decode("latin-1")
        last = whole.rpartition(".")[2]
        return any(fnmatchcase(one, glob) for one in (whole, last) for glob in self.names)


def is_reference_of_step(name: bytes, value: bytes) -> bool:
    """Whether it names a thing or a step of the work with a tool, as a reference number does."""
    return names_step(name) and is_reference(value)


WEFTS = HarmlessValues()
"""Without those of a policy."""
