"""Variables in a configuration file, as the hosts that share it write them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from weft.gateway.configuration.config import ClientCredentials, SignInClient

Credentials = TypeVar("Credentials", ClientCredentials, SignInClient)
_VARIABLE = re.compile(r"\$\{(?P<name>[^}]+)\}")


class Variables:
    """`${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${workspaceFolder}`, `${input:id}`."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self._environ = environ
        self._folder = folder

    def filled(self, text: str) -> str:
        """Raises `ValueError` for a variable without a value."""
        return _VARIABLE.sub(lambda match: self._value(match["name"]), text)

    def filled_in(self, given: Credentials) -> Credentials:
        """The server with the variables in all its fields replaced."""
        fields = msgspec.structs.asdict(given)
        known = {key: self.filled(v) if isinstance(v, str) else v for key, v in fields.items()}
        return msgspec.convert(known, type(given))

    def _value(self, name: str) -> str:
        if name in ("workspaceFolder", "workspaceRoot"):
            return str(self._folder)
        if name in ("userHome", "HOME"):
            return self._environ.get("HOME", str(Path.home()))
        if name == "pathSeparator":
            return os.sep
        wanted, marked, default = name.removeprefix("env:").partition(":-")
        if wanted.startswith("input:"):
            wanted = re.sub(r"\W", "_", wanted.removeprefix("input:")).upper()
        value = self._environ.get(wanted)
        if value is None and not marked:
            raise ValueError(f"${{{name}}} has no value; set the environment variable {wanted}")
        return default if value is None else value
