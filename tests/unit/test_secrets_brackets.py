"""A key in brackets is a key; other words in brackets stand for one."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


@pytest.mark.parametrize("brackets", ["[]", "<>", "{}", "()", '""', "''"])
@pytest.mark.parametrize(
    "setting", ["SECRET_KEY={v}\n", "export API_TOKEN={v}\n", "api_key: {v}\n", "DB_PASSWORD={v}"]
)
def test_a_key_in_brackets_or_quotes_is_masked_inside_them(brackets: str, setting: str) -> None:
    rng = random.Random(setting)
    for _ in range(20):
        value = body(rng, ALNUM, 40)
        text = f"DEBUG=1\n{setting.format(v=brackets[0] + value + brackets[1])}"
        shown = seen(text)
        assert value not in shown
        assert brackets[0] + "[secret:" in shown
        assert shown.rstrip().endswith("]" + brackets[1])
        assert value not in seen(json.dumps({"out": text}))


def test_laravels_key_is_masked_with_its_encoding() -> None:
    value = body(random.Random(3), ALNUM, 43)
    assert value not in seen(f"APP_KEY=base64:{value}=")


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=[YOUR_API_KEY]\nSECRET_KEY=<insert-secret-key-here>\nSECRET=(see 1Password)",
        "TOKEN=<token from step 2>\nTOKEN=[token-from-step-2-of-3]",
        "secrets: [db-password, api-token-v2]\ntoken: [read, write]",
        "token=[A-Za-z0-9_-]+\npassword: [^\\s]{8,}",
        "token=<Token id=42 type=NAME>\nauth=<HTTPBasicAuth object at 0x7f88a1b2c3d4>",
        "password: <input1> api_key={api_key_from_vault_1}",
        "token: Optional<String2>",
        "token=(first_token_of_2_lines)",
    ],
)
def test_words_in_brackets_stay(text: str) -> None:
    assert seen(text) == text
