"""Runs one of the project's workers as a process, for tests: `python -m … firewall`."""

import importlib
import sys

from weft.runtime.application import run
from weft.runtime.settings import read_settings

if __name__ == "__main__":
    name = sys.argv[1]
    module = importlib.import_module(f"weft.{name}.worker")
    sys.exit(run(name, read_settings(), module.service))
