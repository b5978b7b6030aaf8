"""What was masked once is not masked again: a summary repeats the marks of its source."""

import pytest

from weft.firewall.guards import scan
from weft.secrets.scanning import without_secrets
from weft_schemas.policy import FirewallRules, PiiAction

KEY = b"a key of the tests"
PASSWORD = "hunter2-hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"postgres://admin:{PASSWORD}@db.internal:5432/app",
        f"DB_PASSWORD={PASSWORD}\nretry",
        f'{{"password": "{PASSWORD}", "user": "ada"}}',
        f"curl -u admin:{PASSWORD} https://api.example.net",
    ],
)
def test_a_mark_is_no_secret(text: str) -> None:
    once = without_secrets(text, KEY)
    assert PASSWORD not in once
    assert "[secret:" in once
    assert without_secrets(once, KEY) == once


@pytest.mark.parametrize(
    "text",
    [
        f"password: {PASSWORD}",
        f"mysql -u root -p{PASSWORD}",
        f"https://ada:{PASSWORD}@example.net/x",
        "Authorization: Bearer abcDEF123456789xyzABC",
        "the key is " + "AK" + "IA" + "Q3EGRNQW7TYUIOPA",
        "mail ada@example.org",
    ],
)
def test_a_result_that_repeats_marks_keeps_them(text: str) -> None:
    rules = FirewallRules(pii=PiiAction.MASK)
    once = scan(text, rules, KEY, 1_000)
    assert once.masks
    again = scan(once.text, rules, KEY, 1_000)
    assert again.text == once.text
    assert not again.signals


def test_a_secret_beside_a_mark_is_found() -> None:
    once = without_secrets(f"password: {PASSWORD}", KEY)
    assert PASSWORD not in without_secrets(f"{once} and password: {PASSWORD}", KEY)
