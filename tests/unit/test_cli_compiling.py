"""What `weft compile` says beside the prompt."""

import msgspec
import pytest
from tests.audited import log_of, recorded

from weft.cli.compiling import _how_to_wait, _named, _summarise
from weft.client.pack import Pack
from weft_schemas.compile import PendingItem


@pytest.mark.parametrize(("after", "said"), [(0, "--after 3 waits"), (2, "--after 3 waits")])
def test_a_pending_item_that_was_not_waited_for_says_how_to(after: int, said: str) -> None:
    assert said in _how_to_wait(PendingItem("m2", 3), after)


@pytest.mark.parametrize("after", [3, 4])
def test_one_that_was_waited_for_says_how_to_wait_longer(after: int) -> None:
    said = _how_to_wait(PendingItem("m2", 3), after)
    assert "--after" not in said
    assert "a longer --timeout waits for it, and `weft status` tells why" in said


@pytest.mark.parametrize(
    ("is_past", "how"), [(False, "--after 3 waits for it"), (True, "a later --as-of may show it")]
)
def test_what_was_pending_in_the_past_is_not_waited_for(
    is_past: bool, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pack, _ = recorded(log_of(), 3)
    _summarise(Pack(**msgspec.structs.asdict(pack)), 0, is_past)
    [line] = [one for one in capsys.readouterr().err.splitlines() if one.startswith("pending")]
    assert line == f"pending: r1 (no envelope yet); {how}"


def test_an_argument_of_a_view_stays_as_it_is_written() -> None:
    given = ("start=100", "share=0.5", "all=true", "pattern=007", "rate=1.50", "path=[1:2]", "x=")
    assert _named((*given, "none=null")) == {
        "start": 100,
        "share": 0.5,
        "all": True,
        "pattern": "007",
        "rate": "1.50",
        "path": "[1:2]",
        "x": "",
        "none": "null",
    }
