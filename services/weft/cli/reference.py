"""Generates docs/cli.md from the commands' own help, so that both say the same.

`python -m weft.cli.reference > docs/cli.md` writes it; a test fails if it differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from weft.cli.main import cli

TITLE = """# Command line

Made from the commands' own help by `python -m weft.cli.reference`. Every command takes the
connection options; they are listed once, at the end.
"""


def reference() -> str:
    """The whole document."""
    context = click.Context(cli, info_name="weft")
    parts = [TITLE, _prose(cli)]
    for path, command in _walk(cli, context, "weft"):
        parts.append(f"## {path}\n\n{_prose(command)}")
        parts += _options(command)
    parts.append("## Connection options\n")
    parts.append(_table(option for option in _connection(cli, context)))
    return "\n".join(parts)


def _walk(
    group: click.Group, context: click.Context, path: str
) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _walk(command, context, f"{path} {name}")
        elif command is not None:
            arguments = [p for p in command.params if isinstance(p, click.Argument)]
            shown = " ".join(argument.make_metavar(context) for argument in arguments)
            yield f"{path} {name} {shown}".strip(), command


def _prose(command: click.Command) -> str:
    """Its help: paragraphs as text, examples as a block."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    shown = [_block(part) if part.startswith("\b") else part for part in paragraphs]
    return "\n\n".join(shown) + "\n"


def _block(part: str) -> str:
    lines = part.removeprefix("\b").strip("\n").split("\n")
    return "\n".join([lines[0], "", "```", *(line.removeprefix("  ") for line in lines[1:]), "```"])


def _options(command: click.Command) -> list[str]:
    own = [
        option
        for option in command.params
        if isinstance(option, click.Option) and not _is_connection(option)
    ]
    return [_table(own)] if own else []


def _table(options: Iterator[click.Option] | list[click.Option]) -> str:
    rows = ["| option | |", "|---|---|"]
    for option in options:
        names = [*sorted(option.opts, key=len, reverse=True), *option.secondary_opts]
        flag = ", ".join(f"`{name}`" for name in names)
        value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
        cells = [cell.replace("|", "\\|") for cell in (flag + value, _about(option))]
        rows.append(f"| {cells[0]} | {cells[1]} |")
    return "\n".join(rows) + "\n"


def _about(option: click.Option) -> str:
    text = (option.help or "").strip()
    if option.required:
        text += " Required."
    elif option.show_default and option.default is not None:
        text += f" Default {option.default}."
    if isinstance(option.type, click.Choice) and len(option.type.choices) > 1:
        text += f" One of {', '.join(str(choice) for choice in option.type.choices)}."
    return text.strip()


def _is_connection(option: click.Option) -> bool:
    from weft.cli.connecting import _OPTIONS

    return option.name in {name for _, name, _, _ in _OPTIONS}


def _connection(group: click.Group, context: click.Context) -> list[click.Option]:
    command = group.get_command(context, "publish")
    assert command is not None
    return [p for p in command.params if isinstance(p, click.Option) and _is_connection(p)]


if __name__ == "__main__":
    click.echo(reference(), nl=False)
