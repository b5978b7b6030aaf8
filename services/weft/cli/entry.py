"""The command `weft`. The base install holds the client alone: without what the command line needs
it says what to install, in one line."""

from __future__ import annotations

import sys

NEEDED = frozenset({"click", "rich"})
"""Packages that every command needs; a command that needs more is of a full install anyway."""


def main() -> None:
    """Run the command line and exit with its code; with 2 where the install is the base one."""
    try:
        import click
        import rich  # noqa: F401

        from weft.cli.main import main as run

        del click
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        print(
            f"weft: the command line needs {error.name}, which the base install goes without; "
            "install it: pip install 'weft[workers]'",
            file=sys.stderr,
        )
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
