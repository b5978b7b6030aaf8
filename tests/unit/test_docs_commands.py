"""Every command that a document shows exists, with its options; docs/cli.md is what the commands
say of themselves."""

import re
import shlex

import click
import pytest
from tests.data import ROOT

from weft.cli.main import cli
from weft.cli.reference import reference

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], key=str)
SHOWN = sorted(
    {
        (path.name, line.strip())
        for path in DOCUMENTS
        for line in (
            *re.findall(r"^(?:[A-Z_]+=\S+ )*weft [a-z].*$", path.read_text(), re.M),
            *re.findall(r"`(weft [a-z][^`\n]*)`", path.read_text()),
        )
    }
)


def test_the_command_reference_is_up_to_date():
    assert (ROOT / "docs" / "cli.md").read_text() == reference(), (
        "docs/cli.md is out of date; run `python -m weft.cli.reference > docs/cli.md`"
    )


@pytest.mark.parametrize(("document", "line"), SHOWN)
def test_a_shown_command_exists_with_its_options(document, line):
    words = shlex.split(line, comments=True)
    command: click.Command = cli
    context = click.Context(cli, info_name="weft")
    for word in words[words.index("weft") + 1 :]:
        if word in ("|", ">", "&&"):
            break
        if word.startswith("-"):
            if isinstance(command, click.Group):  # `weft gateway --config` serves
                command = command.commands.get("serve", command)
            known = {flag for parameter in command.params for flag in parameter.opts}
            assert word.partition("=")[0] in {*known, "-"}, f"{command.name} has no {word}"
        elif isinstance(command, click.Group):
            found = command.get_command(context, word)
            assert found is not None, f"{command.name} has no command {word}"
            command = found
