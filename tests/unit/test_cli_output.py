"""What a terminal shows cannot be steered by what the log holds."""

import pytest

from weft.cli.output import escaped_cell, table


def test_cells_are_neither_markup_nor_control_codes() -> None:
    assert escaped_cell("[red]x[/red]") == "\\[red]x\\[/red]"
    assert escaped_cell("a\x1b[2Jb") == "a\ufffd[2Jb"
    assert escaped_cell(1234567) == "1,234,567"


def test_a_table_that_is_piped_on_has_a_line_for_each_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table("", ["name", "count"], [["x" * 200, 1], ["y" * 20, 2]])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "count"],
        ["x" * 200, "1"],
        ["y" * 20, "2"],
    ]
