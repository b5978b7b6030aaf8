"""Arguments that Python would take for something else are refused before anything is asked."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import weft
from weft import testing
from weft.runtime.pool import TURN_SECONDS
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.items import ContextItem, ItemKind

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
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


@pytest.mark.parametrize("scope", ["", " "])
async def test_facts_of_no_scope_are_refused(scope: str) -> None:
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput, match="scope is empty; name a user or a project"):
            await client.facts(scope)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda client: client.publish_messages(["s"], []), r"session \['s'\] is of type list"),
        (lambda client: client.tools(None), "decision is of type NoneType; give a RouteReply"),
        (lambda client: client.choose(5, "a"), "decision is of type int; give a RouteReply or str"),
        (lambda client: client.explain("s", "m1", {}), "request is of type dict; give a CompileR"),
        (lambda client: client.publish_grants({}), "grants is of type dict; give a ScopeGrants"),
        (lambda client: anext(client.events("s", first="1")), "first is of type str; give an int"),
        (lambda client: client.session("s").run(CALL, [len]), "functions is of type list; give a"),
        (lambda client: client.session("s").request("openai", tools=5), "tools=5 is no list"),
    ],
)
async def test_what_is_of_another_type_is_refused_with_what_to_give(
    call: Callable[[Any], Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        await call(weft.connect())


async def test_an_unknown_provider_is_refused_before_anything_is_compiled() -> None:
    wrong: Any = "mistral"
    async with testing.in_memory() as client:
        session = client.session("s1")
        session.add({"role": "user", "content": "hello"})
        with pytest.raises(InvalidInput, match=r"^provider='mistral' is unknown; use one of opena"):
            await session.request(wrong)
        assert session.pack is None


async def test_what_is_no_item_is_named_by_its_place() -> None:
    wrong: Any = [ContextItem("u", ItemKind.USER_TURN, "hello"), "hello"]
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput, match=r"^items\[1\]: expected a ContextItem, got str"):
            await client.publish("s1", wrong)


def test_no_tenant_is_not_the_default_one() -> None:
    for connected in (weft.connect, weft.connect_sync):
        with pytest.raises(ConfigurationError, match="WEFT_TENANT='': it is empty; name one"):
            connected(tenant="")


async def test_a_policy_or_a_catalogue_is_no_dict() -> None:
    client: Any = weft.connect()
    with pytest.raises(InvalidInput, match="policy is of type dict; give a ContextPolicy"):
        await client.publish_policy({})
    with pytest.raises(InvalidInput, match="catalog is of type list; give a Catalog"):
        await client.publish_catalog([])


@pytest.mark.parametrize("name", ["", 5, "x" * 300])
async def test_a_session_that_is_no_name_is_not_opened(name: Any) -> None:
    async with testing.in_memory() as client:
        with pytest.raises(InvalidInput, match=r"session .*; give"):
            client.session(name)


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


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf"), "5"])
async def test_a_time_to_wait_for_a_slice_is_a_number_above_nothing(timeout: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^timeout={timeout!r} is no time to wait; give sec"):
        await weft.connect().drilldown("art:k3m7zq2dpa", timeout=timeout)


@pytest.mark.parametrize(("given", "waited"), [({}, 48.0), ({"timeout": 0.5}, 0.5)])
async def test_a_slice_is_waited_for_until_the_service_has_given_up(
    given: dict[str, float], waited: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for its turn, works as long as it may, and then says why it ended."""
    asked: list[float] = []

    async def ask(*arguments: Any) -> None:
        asked.append(arguments[-1])

    monkeypatch.setattr("weft.client.log_client.ask", ask)
    monkeypatch.setenv("WEFT_HEAVY_SECONDS", "42")
    client = weft.connect()
    monkeypatch.setattr(client._link, "opened", lambda: ask(None))
    await client.drilldown("art:k3m7zq2dpa", **given)
    assert asked[-1] == waited
    assert waited < 1 or waited > TURN_SECONDS + 42
