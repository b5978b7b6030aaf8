"""Routed tools as each provider defines them, and a model's selection of them."""

from typing import Any

import msgspec
import pytest

import jsonschema
from weft import testing
from weft.messages import PROVIDERS, OfferedTools
from weft.messages.argument_validation import faults
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.routing import Catalog, RouteReply, SelectableItem

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order": {"type": "string", "minLength": 2},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "state": {"enum": ["open", "paid"]},
        "lines": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/line"}},
        "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["order"],
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {}}}},
}
TOOLS = (
    SelectableItem("shop.find", "find", "Find an order", args_schema=SCHEMA),
    SelectableItem("mail.find", "find", "Find a mail"),
    SelectableItem("mail.send", "2 send.now", "Send a mail"),
)
OFFERED = OfferedTools(RouteReply((), "all", 1, "q"), TOOLS)

CALLS = {
    "openai": lambda name, given: {
        "id": "1", "type": "function", "function": {"name": name, "arguments": given}
    },
    "openai-responses": lambda name, given: {
        "type": "function_call", "call_id": "1", "name": name, "arguments": given
    },
    "anthropic": lambda name, given: {"type": "tool_use", "id": "1", "name": name, "input": given},
    "gemini": lambda name, given: {"name": name, "args": given},
}  # fmt: skip


def names(provider: Any) -> list[str]:
    made = OFFERED.definitions(provider)
    if provider == "gemini":
        (one,) = made
        made = one["function_declarations"]
    return [(tool.get("function") or tool)["name"] for tool in made]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_offered_can_be_called_back(provider: Any) -> None:
    for name, tool in zip(names(provider), TOOLS, strict=True):
        given = {"order": "O-1"} if tool.args_schema else {}
        selection = OFFERED.selected(CALLS[provider](name, given))
        assert (selection.tool, selection.arguments) == (tool, given)
    assert len(set(names(provider))) == 3


def test_definitions_are_in_the_form_of_each_provider() -> None:
    (openai, _, _), (responses, *_), (anthropic, *_), (gemini,) = map(
        OFFERED.definitions, PROVIDERS
    )
    assert openai["function"]["parameters"] == SCHEMA
    assert (responses["type"], responses["name"]) == ("function", "shop_find")
    assert anthropic["input_schema"] == SCHEMA
    last = gemini["function_declarations"][2]
    assert (last["name"], last["description"]) == ("_2_send_now", "Send a mail")
    assert names("anthropic") == ["shop_find", "mail_find", "2_send_now"]


def test_a_wrong_selection_is_told_so_that_a_model_can_mend_it() -> None:
    with pytest.raises(
        InvalidInput, match=r"no tool 'fnd' here; call one of these: shop_find, mai"
    ):
        OFFERED.selected({"name": "fnd", "args": {}})
    with pytest.raises(InvalidInput, match=r"shop_find are no JSON object; call again"):
        OFFERED.selected(CALLS["openai"]("shop_find", "{broken"))
    with pytest.raises(
        InvalidInput, match=r"`order`: is required and missing; .*`state`: expected"
    ):
        OFFERED.selected(CALLS["openai"]("shop_find", '{"state": "lost"}'))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"order": 7}, "argument `order`: expected string, got 7"),
        ({"order": "x"}, "argument `order`: expected 2 characters or more, got 1"),
        ({"order": "xx", "count": True}, "argument `count`: expected integer, got true"),
        ({"order": "xx", "count": 10}, "argument `count`: expected 9 or less, got 10"),
        ({"order": "xx", "other": 1}, "argument `other`: there is no such argument"),
        ({"order": "xx", "lines": [{}]}, "argument `lines[0].sku`: is required and missing"),
        ({"order": "xx", "lines": [{"sku": 1}] * 3}, "`lines`: expected 2 elements or less, got 3"),
        ({"order": "xx", "when": 5}, "argument `when`: expected string, got 5"),
        ([], "the arguments: expected object, got []"),
    ],
)
def test_a_fault_names_its_place(arguments: Any, fault: str) -> None:
    assert fault in faults(arguments, SCHEMA)[0]
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"order": "xx"},
        {"order": "xx", "count": 3.0, "state": "paid", "lines": [{"sku": None}], "when": None},
    ],
)
def test_what_fits_has_no_fault(arguments: Any) -> None:
    assert faults(arguments, SCHEMA) == []
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(arguments)


def offered(*tools: SelectableItem) -> OfferedTools:
    return OfferedTools(RouteReply((), "all", 1, "q"), tools)


def test_a_name_that_is_another_tools_id_is_no_label() -> None:
    alike = offered(
        SelectableItem("gh", "create"), SelectableItem("jira", "create"), SelectableItem("z", "gh")
    )
    names = [tool["name"] for tool in alike.definitions("anthropic")]
    assert names == ["gh", "jira", "z"]
    assert alike.selected({"name": "gh", "args": {}}).tool.id == "gh"
    with pytest.raises(InvalidInput, match="no tool 'create' here; call one of these: gh, jira"):
        alike.selected({"name": "create", "args": {}})


def test_tools_that_no_name_tells_apart_are_refused() -> None:
    alike = offered(SelectableItem("a.b", "x y"), SelectableItem("a_b", "x_y"))
    with pytest.raises(InvalidInput, match=r"2 tools have the name 'a.b': 'a.b', 'a_b'; give the"):
        alike.definitions("openai")
    assert alike.selected({"name": "a_b", "args": {}}).tool.id == "a_b"
    alike = offered(SelectableItem("a.b", "x y"), SelectableItem("a/b", "x_y"))
    with pytest.raises(InvalidInput, match=r"2 tools have the name 'a_b': 'a.b', 'a/b'"):
        alike.selected({"name": "a_b", "args": {}})


def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = {"$ref": "#", "allOf": [{"$ref": "#"}], "items": {"$ref": "#"}}
    assert faults([[[]]], loop) == []
    assert faults([1], {"items": {"$ref": "#/allOf/0"}, "allOf": [{"$ref": "#"}]}) == []


async def test_the_tools_of_a_decision_come_whole() -> None:
    async with testing.in_memory() as client:
        await client.publish_catalog(Catalog("all", TOOLS[:1]))
        decision = await client.route("find an order", "all")
        offered = await client.tools(decision)
        assert offered.tools == TOOLS[:1]
        selection = offered.selected({"name": "find", "args": {"order": "O-1"}})
        await client.choose(decision, selection.tool.id)


async def test_the_tools_of_a_decision_are_those_that_were_shown() -> None:
    newer = SelectableItem("shop.find", "find", "Find and delete an order")
    async with testing.in_memory() as client:
        await client.publish_catalog(Catalog("all", TOOLS[:1]))
        decision = await client.route("find an order", "all")
        for items in ((newer,), ()):
            await client.publish_catalog(Catalog("all", items))
            assert (await client.tools(decision)).tools == TOOLS[:1]
        gone = msgspec.structs.replace(decision, catalog_version=99)
        with pytest.raises(NotFound, match="version 99 of catalogue 'all' is not in the log any"):
            await client.tools(gone)


async def test_a_name_that_several_tools_have_is_refused() -> None:
    async with testing.in_memory() as client:
        await client.publish("s1", [ContextItem("u", ItemKind.USER_TURN, "Find it.")])
        ack = await client.publish_catalog(Catalog("all", TOOLS))
        told = "2 tools have the name 'find': 'mail.find', 'shop.find'; give the id of one"
        with pytest.raises(InvalidInput, match=told):
            await client.hydrate("find", "s1", catalog="all")
        for past in (None, ack.sequence):
            with pytest.raises(InvalidInput, match=told):
                await client.compile("s1", "call", tool="find", catalog="all", as_of=past)
            pack = await client.compile("s1", "call", tool="mail.find", catalog="all", as_of=past)
            assert "Find a mail" in pack.prompt
