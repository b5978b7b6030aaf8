"""A generated password may contain any sign; what only refers to a secret, or is named like one,
stays."""

import json
import random
import string

import pytest
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


WITH_SIGNS = """
[aB3x!kQ9zLm2 (7hG$kqPz3xw4R {x8Kq!mZ2vT5wQ <p4Rt!Zk8wQx2 +9fGhJk3LmNp :4kQzXwPl8Rt R7zh(SFaf4kQ
aB3::xkQ9zLm /aB3xk/Q9zLm2vT5wQrTyU8iOpAsDfGhJ1kLzXc= vT5[wQrT]yU8i k9#mPz[x2Lw k)9mPzx2Lw]q
"""


@pytest.mark.parametrize("value", WITH_SIGNS.split())
def test_a_password_in_quotes_may_contain_any_sign(value: str) -> None:
    for text in (json.dumps({"password": value, "n": 1}), f"db_password: '{value}'\n"):
        assert value not in seen(text)


def test_few_generated_passwords_stay() -> None:
    rng = random.Random(5)
    signs = string.ascii_letters + string.digits + string.punctuation
    stay = 0
    for _ in range(1_000):
        value = "".join(rng.choices(signs, k=16))
        shown = seen(json.dumps({"username": "u", "password": value, "port": 1}))
        assert json.loads(shown)["port"] == 1
        stay += "[secret:" not in shown or value[8:] in shown or value[:8] in shown
    assert stay <= 65


@pytest.mark.parametrize(
    "text", ['{{"password":"{v}"}}', 'password: "{v}"\n', '["a",{{"pwd": "{v}"}}]']
)
def test_a_quote_within_a_password_does_not_end_it(text: str) -> None:
    for value in ('R7zhSFaf\\"QL4uyztW', 'R7zhSFaf"QL4uyztW', 'R7zh\\"hSFaf\\"QL4uyztW'):
        shown = seen(text.format(v=value))
        assert "QL4uyztW" not in shown
        assert "R7" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD={v}\n",
        "export DB_PASSWORD={v} # of the database\n",
        "db:\n  password: {v}\n  port: 1\n",
        "- password: {v}\n",
    ],
)
@pytest.mark.parametrize(
    "value", ["a8Kq,mZ2;vT5w", 'a8Kq"mZ2<vT5w', "a8Kq}mZ2)vT5w", "a8Kq'mZ2>vT5w"]
)
def test_the_password_of_a_line_goes_to_its_end(text: str, value: str) -> None:
    shown = seen(text.format(v=value))
    assert "vT5w" not in shown
    assert shown.endswith(text.rpartition("{v}")[2])


def test_a_line_in_a_string_of_json_ends_with_it() -> None:
    for line in ("DB_PASSWORD=a8KqmZ2vT5w", "  password: a8Kq,mZ2vT5w"):
        for text in (json.dumps({"out": f"x\n{line}"}), json.dumps({"a": {"out": f"x\n{line}\n"}})):
            assert "mZ2vT5w" not in seen(text)
            assert json.loads(seen(text))


REFERS = (
    '{"arn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbC12d"}',
    "existingSecret: redis-auth-2024\nimagePullSecret: regcred-2024-prod",
    "passwordSecret: my-app-db-secret-2f8",
    'password: "op://vault/item42/password"',
    "password: ref+vault://secret/db2#/password",
    "db_password: vault:secret/data/db2#password",
    "Password: !Ref DbPassword2\n  Token: !GetAtt Auth2.Token9x\npassword: !secret wifi_pw2",
    'ClientSecret="@Microsoft.KeyVault(SecretUri=https://kv1.vault.azure.net/secrets/db2)"',
    "DB_PASSWORD=ssm:/prod/db2/password",
    "password: {{resolve:secretsmanager:prod/db2:SecretString:password}}",
    '{"token": "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D", "tokenAddress": '
    '"0x7a250d5630b4cf539739df2c5dacb4c659f2488d"}',
    "PASS: test-foo1.sh\nPASS: tests/t1001-read.sh\nPASS: fork_1_test\npass: 120/120",
    "--- PASS: TestFoo2 (0.00s)",
    "/etc/passwd:root:x:0:0:root:/root:/bin/bash\nlib/token:44:abc123def456ghi",
    "Set-Cookie: session=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly",
    '{"errors":{"password":"too_short8"}}',
    "data:image/x-icon;base64,AAABAAEAEBAAAAEAIABoBAAAFgAAACgAAAAQ/EAAAAACAAAAABACAAAAAAAABAAASC9",
)


@pytest.mark.parametrize("text", REFERS)
def test_what_refers_to_a_secret_or_is_named_like_one_stays(text: str) -> None:
    assert seen(text) == text
    assert seen(f"first\n{text}\nlast") == f"first\n{text}\nlast"


@pytest.mark.parametrize(
    "text", ["PASS: hunter2x9", "existingSecret: x8Kq1mZ2vT5wR7zh", "password: op3r4tor"]
)
def test_a_secret_beside_such_a_name_is_masked(text: str) -> None:
    assert "[secret:" in seen(f"{text}\n")


LETTERS, HEX = "aB3xK9zLm2vT5wQ" * 6, "0a1b2c3d4e5f6789" * 6
PREFIXED = (
    f"https://api.telegram.org/bot1234567890:AA{LETTERS[:33]}/getMe",
    f"re_{LETTERS[:8]}_{LETTERS[:24]}",
    f"ATTA{HEX[:64]}",
    f"ory_pat_{LETTERS[:32]}",
    f"ory_at_{LETTERS[:43]}.{LETTERS[:43]}",
    f"shptka_{HEX[:32]}",
    f"figo_{LETTERS[:40]}",
    f"Authorization: ApiKey {LETTERS[:40]}",
    f'"authorization": "GenieKey {LETTERS[:36]}"',
    f"pbkdf2_sha256$600000$saltsalt$k{LETTERS[:42]}=",
    f"scrypt:32768:8:1$saltsalt${HEX}",
    f"pbkdf2:sha256:260000$saltsalt${HEX[:64]}",
    f"EAA{LETTERS}",
)


@pytest.mark.parametrize("text", PREFIXED)
def test_a_key_is_known_by_its_prefix_or_its_scheme(text: str) -> None:
    assert "[secret:" in seen(f"see {text} here")
    assert LETTERS[:30] not in seen(f"see {text} here")
    assert HEX[:30] not in seen(f"see {text} here")
