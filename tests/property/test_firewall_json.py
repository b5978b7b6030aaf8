"""JSON with any sample of a credential in it stays JSON once it is masked, however deep the sample
is quoted."""

import json
import random

import pytest
from tests.firewall_cases import SECRETS, secret
from tests.firewall_made import KEY
from tests.unit.test_firewall_context import FORMS, made

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules, PiiAction

SAMPLES = {
    "in quotes": 'psk="willowgranite"\n',
    "in quotes with a blank": 'psk="sunny days" ',
    "in quotes, sql": 'set password "8hMLsMK65RWt3"\n',
    "in quotes, a call": 'ConvertTo-SecureString -String "8hMLsMK65RWt3" -AsPlainText',
    "the last word": "htpasswd -nbB bob 8hMLsMK65RWt3\n",
    "the last of a line": "machine h.x login u password 8hMLsMK65RWt3\n",
    "a password file": "db.x:5432:app:app:8hMLsMK65RWt3",
    "a flag in quotes": './tool --secret "2sNbQLF8K3ljfmULKu38F0D3"\n',
    "a setting in quotes": '[client]\nuser=root\npassword = "8X-W#UJYgTDqa"\n',
    "a device": "enable secret 5 $1$8UyC$x1fBb9QHUsXidEVQcEMQOL\n",
    "codes": "backup codes: ab12c-de34f gh56i-jk78l",
    "a flag": "sqlcmd -pwd 8hMLsMK65RWt3\n",
}
VALUES = {
    "codes": {"backup_codes": ["ab12c-de34f", "gh56i-jk78l"], "x": 1},
    "words": {"mnemonic": ["river", "candle", "orbit", "maple"] * 3},
    "numbers": {"password": -73194862, "passwords": [12345678, 87654321]},
    "cards": [4111111111111111, -4111111111111111, 5555555555554444],
    "cards among others": {"t": ["x", 5555555555554444, -4111111111111111], "n": [1.5]},
    "words before a member": {
        "seed": "river candle orbit maple " * 2 + "hammer sunset engine oak",
        "otp": 1,
    },
    "numbers in lists of lists": {"passwords": [[12345678, "x"], [[87654321]]], "b": [[1]]},
    "a card behind a backslash": ["a\\", 5555555555554444],
    "a card in a text": {"t": "see [5555555555554444] for it"},
}


def quoted(value: object) -> list[str]:
    """A value as JSON, and in strings of JSON, as programs write them."""
    found, rng = [], random.Random(3)
    for body in (value, {"o": value, "n": 1}, [value, value]):
        for _ in range(3):
            found += [
                json.dumps(body),
                json.dumps(body, indent=2),
                json.dumps(body, ensure_ascii=False),
            ]
            body = {"t": json.dumps(body, indent=rng.choice((None, 1)))}
    return found


def inner(text: str) -> None:
    """Raises `ValueError` unless all that was JSON still is."""
    value = json.loads(text)
    while isinstance(value, dict) and value.keys() == {"t"} and str(value["t"])[:1] in "{[":
        value = json.loads(value["t"])


def check(value: object) -> None:
    for text in quoted(value):
        inner(text)
        for pii in (PiiAction.FLAG, PiiAction.MASK):
            inner(scan(text, FirewallRules(pii=pii), KEY, 10).text)


@pytest.mark.parametrize("name", [*SAMPLES, *VALUES])
def test_these_samples_leave_json_json(name: str) -> None:
    for samples in (SAMPLES, VALUES):
        if name in samples:
            check(samples[name])


@pytest.mark.parametrize("name", FORMS)
def test_a_credential_in_any_form_leaves_json_json(name: str) -> None:
    rng = random.Random(name)
    for _ in range(2):
        sample = FORMS[name].format(**made(rng))
        check(sample)
        check(f"first\n{sample}\nlast")


@pytest.mark.parametrize("kind", SECRETS)
def test_a_credential_in_its_published_format_leaves_json_json(kind: str) -> None:
    check(secret(random.Random(kind), kind))


def test_the_last_word_of_a_command_is_masked_and_no_bracket_behind_it() -> None:
    text = json.dumps({"content": [{"type": "text", "text": SAMPLES["the last word"]}]})
    shown = scan(text, FirewallRules(), KEY, 10).text
    assert "8hMLsMK65RWt3" not in shown
    assert json.loads(shown)["content"][0]["text"].startswith("htpasswd -nbB bob [secret:")
