"""The protocol's models without secrets, whichever field one stands in."""

import mcp_types as types
from tests.gateway_server import BYTES, KEY

from weft.gateway.masking import Masking, safe_block, safe_model, safe_models
from weft_schemas.policy import FirewallRules

MASKING = Masking(FirewallRules(), b"k" * 16, "t", "o200k_base")


def image(**more: object) -> types.ImageContent:
    return types.ImageContent.model_validate(
        {"type": "image", "data": BYTES * 50_000, "mimeType": "image/png", **more}
    )


def test_a_model_without_secrets_is_the_same_object() -> None:
    plain = image(_meta={"of": "a cat"})
    assert safe_model(plain, MASKING) is plain


def test_a_file_is_kept_and_what_stands_beside_it_masked() -> None:
    shown = safe_model(image(_meta={"of": KEY}), MASKING)
    assert shown is not None
    assert shown.data == BYTES * 50_000
    assert "AKIA" not in shown.model_dump_json(by_alias=True)


def test_what_only_looks_like_a_file_is_looked_into() -> None:
    shown = safe_model(image(_meta={"data": KEY, "mimeType": "image/png", "blob": KEY}), MASKING)
    assert shown is not None
    assert "AKIA" not in shown.model_dump_json(by_alias=True)


def test_a_block_that_is_none_any_more_without_its_secret_becomes_a_text() -> None:
    link = types.ResourceLink(uri="a://b", name="n", _meta={KEY: "a key of a key"})
    shown = safe_block(link, MASKING)
    assert isinstance(shown, types.TextContent)
    assert "a key of a key" in shown.text
    assert "AKIA" not in shown.text


def test_a_list_keeps_what_can_be_told() -> None:
    entries = [
        types.Prompt(name="plain"),
        types.Prompt(name="told", description=KEY),
        types.Prompt(name="not", _meta={KEY: 1}),
    ]
    shown = safe_models(entries, MASKING)
    assert [prompt.name for prompt in shown] == ["plain", "told"]
    assert "AKIA" not in (shown[1].description or "")
    assert safe_models(entries[:1], MASKING)[0] is entries[0]
