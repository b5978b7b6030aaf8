import pytest

import jsonschema
from weft.client.drilldown import TOOL_NAME, asked_slice, drilldown_tool, slice_item
from weft.firewall.slice_hmac import proved_level, slice_hmac
from weft.firewall.views import registry
from weft_schemas.compile import DrilldownReply
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import artifact_handle
from weft_schemas.items import ContextItem, ItemKind, Sensitivity

HANDLE = artifact_handle("acme", "s1", "source")
KEY = b"of this deployment"


def reply(text: str, level: Sensitivity = Sensitivity.PUBLIC) -> DrilldownReply:
    seal = slice_hmac(KEY, "acme", HANDLE, level, text)
    return DrilldownReply(
        HANDLE, "head", text, 3, False, "source", "s1", level, "text/plain", seal=seal
    )


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_tool_takes_a_handle_a_view_and_its_arguments(provider: str) -> None:
    tool = drilldown_tool(provider)  # type: ignore[arg-type]
    schema = tool["function"]["parameters"] if provider == "openai" else tool["input_schema"]
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    check.validate({"handle": HANDLE, "view": "lines", "args": {"start": 3}, "max_tokens": 200})
    assert not check.is_valid({"view": "lines"})
    assert not check.is_valid({"handle": "somebody else's"})


def test_the_tool_names_every_built_in_view() -> None:
    description = drilldown_tool("anthropic")["description"]
    for kind in ("application/json", "text/csv", "text/x-log"):
        assert [name for name in registry().of(kind) if f"'{name}'" not in description] == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"handle": "l4y2h6b7na"}, "'l4y2h6b7na' is no handle; give one .* such as art:"),
        ({"handle": "art:l4y2h6b7na\n"}, "is no handle"),
        ({"handle": 7}, "7 is no handle"),
        ({}, "there is no handle; give one"),
        ({"handle": None}, "there is no handle"),
    ],
)
def test_what_is_no_handle_is_told_as_none(given: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        asked_slice(given)
    assert asked_slice({"handle": HANDLE}).handle == HANDLE


def test_another_provider_has_no_tool() -> None:
    with pytest.raises(InvalidInput, match="use openai, openai-responses, anthropic, gemini"):
        drilldown_tool("nobody")  # type: ignore[arg-type]


def test_a_slice_becomes_a_result_of_the_call_that_asked_for_it() -> None:
    item = slice_item(reply("lines", Sensitivity.INTERNAL), "slice", "call")
    assert (item.kind, item.parent_id) == (ItemKind.TOOL_RESULT, "call")
    assert item.sensitivity is Sensitivity.INTERNAL
    assert item.reserved.tool_name == TOOL_NAME
    assert proved_level(KEY, "acme", item) is Sensitivity.INTERNAL


def test_a_seal_proves_text_handle_level_and_tenant() -> None:
    item = slice_item(reply("lines", Sensitivity.INTERNAL), "slice", "call")
    forged = {**item.metadata, "slice_of": artifact_handle("acme", "s1", "other")}
    assert proved_level(KEY, "globex", item) is None
    assert proved_level(b"another key", "acme", item) is None
    for changed in (
        ContextItem("slice", item.kind, "other lines", "call", metadata=item.metadata),
        ContextItem("slice", item.kind, item.text, "call", metadata=forged),
        ContextItem("slice", item.kind, item.text, "call", metadata={"slice_of": HANDLE}),
    ):
        assert proved_level(KEY, "acme", changed) is None


def test_a_lowered_level_is_raised_again() -> None:
    item = slice_item(reply("lines", Sensitivity.RESTRICTED), "slice", "call")
    lowered = ContextItem("slice", item.kind, item.text, "call", metadata=item.metadata)
    assert proved_level(KEY, "acme", lowered) is Sensitivity.RESTRICTED
