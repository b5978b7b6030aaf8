"""What servers say beside their results: no secret in it, wherever it stands, and nothing long."""

import mcp_types as types
import pytest
from tests.gateway_server import KEY

from weft.gateway.hosts.safe_messages import MAX_PROGRESS, bounded, log_message, question
from weft.gateway.masking import Masking
from weft.gateway.prompts import safe_completion
from weft_schemas.policy import FirewallRules

MASKING = Masking(FirewallRules(), b"k" * 16, "t", "o200k_base")


def test_a_short_text_without_secrets_is_as_it_was() -> None:
    assert bounded("half way", 100, MASKING) == "half way"


@pytest.mark.parametrize("place", [0, 90, 100, 101, 8_180, 8_285, 8_292, 8_300])
def test_no_piece_of_a_secret_is_left_wherever_a_text_is_cut(place: int) -> None:
    text = "a " * 5_000
    shown = bounded(f"{text[:place]} {KEY} {text}", 100, MASKING)
    assert "AKIA" not in shown
    assert len(shown) < 150


def test_a_long_text_of_secrets_alone_is_cut_too() -> None:
    shown = bounded(f"{KEY} " * 10_000, MAX_PROGRESS, MASKING)
    assert "AKIA" not in shown
    assert shown.endswith("more characters …")


def test_a_log_message_keeps_its_structure_where_it_is_short() -> None:
    params = types.LoggingMessageNotificationParams(
        level="info", logger=f"db {KEY}", data={"rows": 3, "note": KEY}
    )
    shown = log_message("shop", params, MASKING)
    assert shown.data["rows"] == 3
    assert "AKIA" not in shown.model_dump_json()
    long = params.model_copy(update={"data": {"rows": ["a row"] * 10_000}})
    assert isinstance(log_message("shop", long, MASKING).data, str)


def test_a_question_keeps_its_images() -> None:
    image = types.ImageContent(data="QUtJQQ==" * 50_000, mime_type="image/png")
    message = types.SamplingMessage(role="user", content=[image, types.TextContent(text=KEY)])
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=10, system_prompt=KEY)
    shown = question(types.CreateMessageRequest(params=params), MASKING)
    assert shown is not None
    assert "AKIA" not in shown.model_dump_json()
    assert shown.params.messages[0].content[0] == image


def test_a_completion_has_no_secrets() -> None:
    found = types.CompleteResult(completion=types.Completion(values=["a", KEY]))
    assert safe_completion(found, MASKING).completion.values[0] == "a"
    assert "AKIA" not in safe_completion(found, MASKING).model_dump_json()
