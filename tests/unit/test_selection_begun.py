"""The room that is left at the end takes the beginning of what does not fit."""

import pytest
from tests.choosing import choice_of

from weft.compiler.renditions.rendition import is_stub
from weft.compiler.selection.begun import with_beginning
from weft.compiler.selection.choice import Choice
from weft_schemas.items import ContextItem, ItemKind

LETTER = "Dear Ms Zanetti, we come on Wednesday at 11:30 with " + ", ".join(
    f"guest {n} from Room{n:02d}" for n in range(24)
)


def choice(budget: int) -> Choice:
    """A user's words, and a call with a result that is as long as a budget."""
    call = ContextItem(
        "c1", ItemKind.TOOL_CALL, metadata={"tool_name": "read", "arguments": {"id": "m-8"}}
    )
    return choice_of(
        [
            ContextItem("u0", ItemKind.USER_TURN, "When do they come?"),
            call,
            ContextItem("r1", ItemKind.TOOL_RESULT, LETTER, "c1"),
        ],
        budget,
    )


@pytest.mark.parametrize("budget", [120, 160, 200])
def test_a_beginning_fills_the_room_and_is_marked(budget: int) -> None:
    ready = choice(budget)
    before = {at: ready.shapes[at].choose(()) for at in ready.shapes}
    shown = with_beginning(ready, before)
    result = next(at for at, shape in ready.shapes.items() if shape.row.id == "r1")
    assert is_stub(before[result])
    assert not is_stub(shown[result])
    assert shown[result].text.startswith("Dear Ms Zanetti, we come on Wednesday at 11:30")
    assert shown[result].text.endswith(" characters …")
    assert before.keys() == shown.keys()
    assert 0.9 * budget < ready.cost.exact(shown) <= budget


def test_what_leaves_no_room_to_speak_of_stays_as_it_is() -> None:
    ready = choice(120)
    before = {at: ready.shapes[at].choose(()) for at in ready.shapes}
    tight = choice(ready.cost.exact(before) + 8)
    held = {at: tight.shapes[at].choose(()) for at in tight.shapes}
    assert with_beginning(tight, held) == held


def test_a_call_is_not_begun_since_each_tells_all_of_its_arguments() -> None:
    arguments = {f"field{n}": f"value {n} of the order" for n in range(30)}
    call = ContextItem(
        "c1", ItemKind.TOOL_CALL, metadata={"tool_name": "order", "arguments": arguments}
    )
    items = [
        ContextItem("u0", ItemKind.USER_TURN, "Order it."),
        call,
        ContextItem("r1", ItemKind.TOOL_RESULT, "ordered", "c1"),
    ]
    ready = choice_of(items, 120)
    first = min(ready.shapes)
    before = {first: ready.shapes[first].whole()}
    assert with_beginning(ready, before) == before
