"""What a terminal shows cannot be steered by what the log holds."""

from weft.cli.output import plain


def test_cells_are_neither_markup_nor_control_codes() -> None:
    assert plain("[red]x[/red]") == "\\[red]x\\[/red]"
    assert plain("a\x1b[2Jb") == "a\ufffd[2Jb"
    assert plain(1234567) == "1,234,567"
