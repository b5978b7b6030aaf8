"""The private parts of a deployment: its secret, and a data folder with restricted access."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from weft.durable_files import write_durably
from weft_schemas.errors import ConfigurationError

SECRET_FILE = "secret"
"""In the data folder. Anyone who reads it can predict fingerprints, fences and message ids."""
_OWN = frozenset({SECRET_FILE, "nats", "cluster", "replica", "weft.log"})
"""The files and folders that `weft up` makes in a data folder."""


def known_secret(data_dir: Path) -> str:
    """The secret that `weft up` made in this folder; empty if there is none that can be read."""
    try:
        return (data_dir / SECRET_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def kept_secret(data_dir: Path) -> str:
    """As `known_secret`, but raises `ConfigurationError` for a file that is there and gives none:
    it is not to be taken for one that is missing."""
    path = data_dir / SECRET_FILE
    known = known_secret(data_dir)
    if known or not os.path.lexists(path):
        return known
    raise ConfigurationError(
        f"{path} is there and cannot be read, or is no secret: let its owner read it (chmod 600), "
        "put it back from a backup, or set WEFT_FINGERPRINT_KEY"
    )


def made_secret(data_dir: Path) -> str:
    """As `kept_secret`, but creates one, with mode 600, if there is none."""
    folder = private(data_dir)
    if known := kept_secret(folder):
        return known
    path, draft = folder / SECRET_FILE, folder / f"{SECRET_FILE}.{os.getpid()}.new"
    write_durably(draft, f"{secrets.token_hex(32)}\n".encode(), os.O_EXCL)
    try:
        os.link(draft, path)  # of two at once the first counts
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return known_secret(folder)


def private(folder: Path) -> Path:
    """Create the folder if it is missing, accessible to its owner only. A folder with other files
    keeps its mode; weft's own folders in it are private. Raises `ConfigurationError`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077 and {path.name for path in folder.iterdir()} <= _OWN:
            folder.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(
            f"{folder}: {error.strerror}; choose a data folder of your own with --data"
        ) from None
    return folder


def required_secret(secret: str, data_dir: Path) -> str:
    """The secret of the settings, which is that of the data folder if none is set. Raises
    `ConfigurationError` if there is none."""
    if secret:
        return secret
    kept_secret(data_dir)  # says more of one that cannot be read
    raise ConfigurationError(
        "no secret of the deployment is here, the same for all its processes: beside `weft up` "
        "start this in the folder where that was started, or with WEFT_DATA_DIR on its data; "
        "elsewhere set WEFT_FINGERPRINT_KEY, which deploy/make-env.sh makes"
    )
