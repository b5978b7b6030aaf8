"""The command `weft`. The base install contains only the client: if the packages for the command
line are missing, it says in one line what to install."""

from __future__ import annotations

import sys

NEEDED = frozenset({"click", "rich"})
"""Packages that every command needs; a command that needs more is always part of a full install."""


def main() -> None:
    """Run the command line and exit with its code; with 2 if this is the base install."""
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
            "in weft's checkout: pip install '.[workers]'",
            file=sys.stderr,
        )
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
