"""Servers of the npm registry, installed once into a cache folder, in the versions that the tests
were written against."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSIONS = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
INSPECTOR = {"@modelcontextprotocol/inspector": "2.12.0"}
SECONDS = 120


def installed(versions: dict[str, str] = VERSIONS, name: str = "servers") -> Path:
    """The folder of their commands; the test is skipped where they cannot be had."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here, and these servers come from its registry")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "weft-tests" / name
    wanted = [f"{package}@{version}" for package, version in versions.items()]
    stamp = folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two installations at once take each other's apart
        if not stamp.exists() or stamp.read_text() != " ".join(wanted):
            _install(folder, wanted)
            stamp.write_text(" ".join(wanted))
    return folder / "node_modules" / ".bin"


def _install(folder: Path, wanted: list[str]) -> None:
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    try:
        done = subprocess.run([*command, *wanted], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {', '.join(wanted)} in {SECONDS} s")
    if done.returncode != 0:
        pytest.skip(f"npm could not install {', '.join(wanted)}: is there no network?")
