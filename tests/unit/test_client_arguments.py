"""Arguments that Python would take for something else are refused before anything is asked."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import weft
from weft import testing
from weft_schemas.errors import InvalidInput

Call = Callable[[weft.Client, Any], Coroutine[Any, Any, Any]]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pin", lambda client, text: client.compile("s1", "answer", pin=text)),
        ("pin", lambda client, text: client.session("s1").compile(pin=text)),
        ("pin", lambda client, text: client.session("s1").request("openai", pin=text)),
        ("scopes", lambda client, text: client.compile("s1", "answer", scopes=text)),
        ("tools", lambda client, text: client.compile("s1", "answer", tools=text)),
        ("ids", lambda client, text: client.status("s1", ids=text)),
        ("published", lambda client, text: client.confirm("s1", text)),
        *(
            (name, lambda client, text, name=name: client.route("q", "tools", **{name: text}))
            for name in ("namespaces", "tags", "exclude", "failed", "used")
        ),
    ],
)
async def test_a_text_is_no_list_of_its_letters(name: str, call: Call) -> None:
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput) as raised:
            await call(client, "zz")
        assert str(raised.value) == f"{name}='zz' is one text; give a list, such as ['zz']"
        with pytest.raises(InvalidInput, match=f"^{name}=5 is no list; give a list"):
            await call(client, 5)


async def test_an_unknown_choice_is_refused_with_those_that_there_are() -> None:
    wrong: Any = "spol"
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput, match=r"^on_unavailable='spol' .* raise, wait, spool$"):
            client.session("s1", on_unavailable=wrong)
        chat = [{"role": "user", "content": "hello"}]
        with pytest.raises(InvalidInput, match=r"^on_edit='spol' is unknown; use one of report, "):
            await client.publish_messages("s1", chat, on_edit=wrong)
        with pytest.raises(InvalidInput, match=r"^on_edit='spol' is unknown; use one of report, "):
            await client.session("s1").publish(chat, on_edit=wrong)
