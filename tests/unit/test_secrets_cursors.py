"""A cursor is needed for the next call and opens nothing: it stays, whether its name is one word or
several, or the object around it says it. A credential's name never makes a cursor."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

CURSORS = """
next_token page_token continuation_token nextPageToken sync_token token_count max_tokens token_type
nextSyncToken NextContinuationToken pagination_token resume_token startPageToken after_token
before_token since_token load_more_token results_token iterator_token position_token sequence_token
resumptionToken partition_token concurrency_token
"""
CREDENTIALS = """
access_token refresh_token id_token session_token csrf_token auth_token bot_token accessToken
refreshToken sessionToken api_token user_token page_access_token sync_access_token next_auth_token
bearer_token personal_access_token webhook_token back_end_token before_login_token
results_db_token sequence_api_token feed_token read_token stream_token
"""


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


FORMS = (
    '{{"items": [1], "{name}": "{v}"}}',
    '{{"name": "{name}", "value": "{v}"}}',
    "{name}: {v}",
    "{name}={v}",
    "call list with {name}='{v}'",
    "https://api.example.com/items?limit=50&{name}={v}",
    "| {name} | rows |\n|---|---|\n| {v} | 7 |",
    "--{name} {v}",
)


@pytest.mark.parametrize("name", CURSORS.split())
def test_a_cursor_stays(name: str) -> None:
    rng = random.Random(name)
    for form in FORMS:
        text = form.format(name=name, v=body(rng, ALNUM, 44))
        assert seen(text) == text


@pytest.mark.parametrize("name", CREDENTIALS.split())
def test_a_credential_is_masked(name: str) -> None:
    rng = random.Random(name)
    for form in FORMS[:6]:
        value = body(rng, ALNUM, 44)
        assert value not in seen(form.format(name=name, v=value)), form


@pytest.mark.parametrize("word", ["Page", "Next page", "Continuation", "sync", "next", "cursor"])
def test_a_cursor_that_is_named_in_words_stays(word: str) -> None:
    value = body(random.Random(word), ALNUM, 44)
    for form in ("{w} token: {v}", "({w} token = {v})", "Pass the {w} token: '{v}'"):
        text = form.format(w=word, v=value)
        assert seen(text) == text


def test_a_token_in_the_object_of_a_listing_stays_and_no_other() -> None:
    value = body(random.Random(5), ALNUM, 44)
    for opened in ({"pagination": {"token": value}}, {"paging": {"next": {"token": value}}}):
        assert seen(json.dumps(opened)) == json.dumps(opened)
    for name in ("session", "user", "sync", "auth", "page"):
        assert value not in seen(json.dumps({name: {"token": value}}))
    for word in ("Access", "Session", "Bot", "Refresh"):
        assert value not in seen(f"{word} token: {value}")


def test_an_address_in_a_ledger_is_no_key_of_it() -> None:
    rng = random.Random(9)
    address, key = f"0x{rng.getrandbits(160):040x}", f"0x{rng.getrandbits(256):064x}"
    assert address in seen(f"token {address} was sold")
    assert key not in seen(f"PRIVATE_KEY={key}")
