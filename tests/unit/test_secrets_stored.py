"""Credentials where programs store and pass them: files, commands, forms, messages."""

import base64
import json
import random

import pytest
from tests.firewall_cases import ALNUM, HEX, URLSAFE, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

B64 = ALNUM + "+/"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ID = "AK" + "IA" + "Q3" * 8
TEXTS = {
    "aws, a list of keys": (f"name,Access key ID,Secret access key\nada,{ID},{{v}}", B64, 40),
    "aws, a table": ("| SecretAccessKey | {v} |", B64, 40),
    "aws, text": (f"ACCESSKEY\t{ID}\t2026-01-01T00:00:00Z\t{{v}}\tActive\tada", B64, 40),
    "aws, two lines": (f"{ID}\n{{v}}\n", B64, 40),
    "git, a token as user": ("origin\thttps://{v}@github.com/x/y.git (fetch)", ALNUM, 40),
    "git, basic": ("https://{v}:x-oauth-basic@example.com/x/y.git", ALNUM, 40),
    "an @ in a password": ("postgres://svc:p@{v}@db/app", ALNUM, 10),
    "httpie": ("http -a ada:{v} GET https://x.example.com", ALNUM, 12),
    "openssl": ("openssl enc -aes-256-cbc -k {v} -in a -out b", ALNUM, 12),
    "keytool": ("keytool -list -keystore k.jks -storepass {v}", ALNUM, 12),
    "zip": ("zip -P {v} a.zip b", ALNUM, 12),
    "7z": ("7z x a.7z -p{v}", ALNUM, 12),
    "a login by a pipe": ("echo {v} | docker login -u ada --password-stdin", ALNUM, 14),
    "vault": ("vault login s.{v}", ALNUM, 24),
    "cloudflared": ("cloudflared service install eyJhIjoi{v}", ALNUM, 160),
    "bitwarden": ('export BW_SESSION="{v}=="', B64, 86),
    "k3s": ("K10" + "0a" * 32 + "::server:{v}", HEX, 32),
    "pgpass": ("db.internal:25060:app:ada:{v}\n", ALNUM, 12),
    "a jar of cookies": ("example.com\tFALSE\t/\tTRUE\t1999999999\tsid\t{v}\n", ALNUM, 40),
    "a browser's cookie": ('[{{"name": "sid", "value": "{v}", "domain": "x"}}]', ALNUM, 32),
    "redis": ("port 6379\nrequirepass {v}\n", ALNUM, 14),
    "haproxy": ("  stats auth admin:{v}\n", ALNUM, 12),
    "snmp": ("snmp-server community {v} RO", ALNUM, 10),
    "radius": ("radius-server host 10.0.0.1 key {v}", ALNUM, 12),
    "a property list": ("<key>apiToken</key>\n<string>{v}</string>", ALNUM, 36),
    "a form": ("payload=%7B%22password%22%3A%22{v}%22%7D", ALNUM, 12),
    "entities": ("&quot;password&quot;: &quot;{v}&quot;", ALNUM, 12),
    "a page": ('<meta name="csrf-token" content="{v}">', ALNUM, 40),
    "an action's secret": ('{{"name": "DEPLOY_KEY", "value": "{v}"}}', ALNUM, 40),
    "datadog": ("DD-APPLICATION-KEY: {v}", HEX, 40),
    "a wallet": ("xpr" + "v9s21ZrQH143K{v}", BASE58, 95),
    "a wallet's key": ("wif: L{v}", BASE58, 51),
    "a chat": ("the staging pw is {v}! please", ALNUM, 9),
}


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_masked(name: str) -> None:
    rng = random.Random(name)
    form, alphabet, length = TEXTS[name]
    for _ in range(20):
        value = body(rng, alphabet, length)
        text = form.format(v=value)
        assert value not in seen(text), text
        assert value not in seen(json.dumps({"out": text}))


def test_a_key_whose_first_line_is_cut_off_is_masked() -> None:
    rng = random.Random(2)
    lines = [body(rng, B64, 64) for _ in range(9)]
    for head in ("MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC", "b3BlbnNzaC1r" + "ZXktdjE"):
        begun = head + lines[0][len(head) :]
        for text in ("\n".join([begun, *lines[1:]]), "".join([begun, *lines[1:]])):
            for shown in (seen(text), seen(json.dumps({"key": text}))):
                assert not any(line[40:] in shown for line in lines)


def test_an_encrypted_token_is_masked_in_all_its_parts() -> None:
    rng = random.Random(4)
    header = base64.urlsafe_b64encode(b'{"alg":"RSA-OAEP","enc":"A256GCM"}').decode().rstrip("=")
    parts = [body(rng, URLSAFE, size) for size in (342, 16, 60, 22)]
    shown = seen(".".join([header, *parts]))
    assert not any(part in shown for part in parts)


def test_a_generated_password_stands_beside_its_hash() -> None:
    rng = random.Random(6)
    value = body(rng, ALNUM, 14)
    made = {"bcrypt_hash": "$2a$10$" + body(rng, ALNUM, 53), "length": 14, "result": value}
    state = {"type": "random_password", "instances": [{"attributes": made}]}
    assert value not in seen(json.dumps(state, indent=2))


def test_a_numbered_seed_phrase_and_a_code_that_comes_first_are_masked() -> None:
    words = "abandon ability able about above absent absorb abstract absurd abuse access zebra"
    told = " ".join(f"{n}. {word}" for n, word in enumerate(words.split(), 1))
    assert "absorb" not in seen(f"Recovery phrase:\n{told}")
    assert "493817" not in seen("493817 is your Acme verification code")


@pytest.mark.parametrize(
    "text",
    [
        "https://raw.githubusercontent.com/a/b/3f786850e387550fdab836ed7e6dc881de23001b/x",
        "https://registry.example.com@2.0/x, https://a.b.example.com/user@host",
        "zip -r a.zip b -P; 7z x a.7z -p; http -v GET https://x.example.com",
        "snmp-server community public RO",
        'name "DEPLOY_KEY" has value "see the vault"',
        '{"name": "SORT_KEY", "value": "2026-01-05#order"}',
        "493817 is your order number",
        "the pw is required, the pw is wrong",
        '[{"name": "title", "value": "Some words of a title", "domain": "x"}]',
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert seen(text) == text
