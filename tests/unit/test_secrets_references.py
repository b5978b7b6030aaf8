"""A token that names a thing or a step of the work with a tool stays while it reads like the number
of an order; one that lets somebody in is masked, however it reads."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

STEPS = """
confirmation_token confirm_token approval_token approve_token undo_token job_token poll_token
polling_token operation_token transaction_token order_token ticket_token receipt_token
checkout_token confirmationToken ConfirmationToken transfer_confirmation_token undo-token
payment_confirmation_token
"""
LETS_IN = """
access_token auth_token session_token otp_token verification_token device_token invite_token
invitation_token sas_token share_token download_token payment_token reset_token challenge_token
override_token refresh_token login_confirmation_token user_approval_token otp_confirmation_token
email_verification_order_token device_confirmation_token invite_confirmation_token
password_reset_confirmation_token CONFIRMATION_TOKEN ORDER_TOKEN token secret_token order_api_token
"""
REFERENCES = """
CNF-88121-QX ORD-2024-000123 op_88121_mvx TXN-20240115-8831 PO-88121/17 R88121.4-ab job-20240115-7
"""
LONG_REFERENCE = "CNF-88121-QX-88121-QX-88121-QX-88121"
FORMS = (
    '{{"status": "needs_confirmation", "{name}":"{v}"}}',
    '{{"name": "{name}", "value": "{v}"}}',
    "{name}: {v}",
    "{name}={v}",
    "call confirm with {name}='{v}'",
    "https://api.example.com/items?limit=50&{name}={v}",
    "<a><{name}>{v}</{name}></a>",
    "| {name} | rows |\n|---|---|\n| {v} | 7 |",
)


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


@pytest.mark.parametrize("name", STEPS.split())
def test_a_reference_of_a_step_stays(name: str) -> None:
    for form in FORMS:
        for value in REFERENCES.split():
            text = form.format(name=name, v=value)
            assert seen(text) == text


@pytest.mark.parametrize("name", STEPS.split())
def test_what_is_long_or_random_is_masked_of_a_step_too(name: str) -> None:
    rng = random.Random(name)
    values = [body(rng, ALNUM, n) for n in (20, 24, 44)] + [f"{rng.getrandbits(128):032x}"]
    values += ["3f2a9c41-8b7d-4e06-9a55-0c1d2e3f4a5b", LONG_REFERENCE, "aK7f-Xq29-bT4z"]
    for value in values:
        for form in FORMS[:1] + FORMS[2:5]:
            assert value not in seen(form.format(name=name, v=value)), (form, value)


@pytest.mark.parametrize("name", LETS_IN.split())
def test_what_lets_somebody_in_is_masked_however_it_reads(name: str) -> None:
    for form in FORMS[:1] + FORMS[2:5]:
        for value in REFERENCES.split()[:2]:
            assert value not in seen(form.format(name=name, v=value)), form


def test_a_published_format_is_masked_whatever_the_name() -> None:
    token = "ghp_" + body(random.Random(1), ALNUM, 36)
    assert token not in seen(f'{{"confirmation_token": "{token}"}}')


@pytest.mark.parametrize("word", ["Confirmation", "Approval", "undo", "Your order", "job"])
def test_a_step_that_is_named_in_words_or_by_its_object_counts(word: str) -> None:
    told = json.dumps({word.split()[-1].lower(): {"state": "open", "token": "CNF-88121-QX"}})
    for text in (f"{word} token: CNF-88121-QX", f"({word} token = CNF-88121-QX)", told):
        assert seen(text) == text


@pytest.mark.parametrize("word", ["Access", "Login", "Payment", "Verification"])
def test_other_words_before_a_token_do_not(word: str) -> None:
    told = json.dumps({word.lower(): {"state": "open", "token": "CNF-88121-QX"}})
    for text in (f"{word} token: CNF-88121-QX", told):
        assert "CNF-88121-QX" not in seen(text)
    assert "R8812kq7w2" not in seen("Confirmation token: R8812kq7w2hs9")
