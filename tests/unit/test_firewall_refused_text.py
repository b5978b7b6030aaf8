"""Texts that say first that nothing came of a call."""

import pytest

from weft.firewall.result_status import status_of
from weft_schemas.envelope import ResultStatus

REFUSED = (
    "rejected by pre-receive hook:\n  policy/log: no new entry\n  lint: ok\nNothing was pushed.",
    "remote: rejected by the hook: the branch is protected\nTo example.com:a/b.git",
    "denied: requested access to the resource is denied",
    "Declined: the card has expired.",
    "Declined: the card has expired.\nhint: ask for another one",
    "Abgelehnt: Der Betrag \u00fcbersteigt das Limit.",
    "Refus\u00e9 : le compte est bloqu\u00e9.",
    "\u62d2\u7edd\uff1a\u4f59\u989d\u4e0d\u8db3\uff0c\u8bf7\u5148\u5145\u503c\u3002",
)
NOT_DONE = (
    "Your edit has new problems. It was NOT applied.\n- (line 40)\n12: x",
    "Die \u00c4nderung wurde NICHT gespeichert.",
    "\u041e\u043d \u041d\u0415 \u0431\u044b\u043b \u043f\u0440\u0438\u043d\u044f\u0442.",
    "Your edit has introduced new syntax error(s). Try again.\n12: x",
    "[Build ended with 3 error(s)]\nsee the log",
    "0 warning(s), 10 error(s)",
    "Lint of a.py\n\nERRORS:\n- F821 undefined name 'a'\n\n1: a",
)
OTHER = (
    "Rejected: 12\nAccepted: 40",
    "Declined: Ada Byron, Bob Lee",
    "declined: she was away that week\naccepted: 3",
    "denied://a/b is the address of it",
    "Rejected applications, by year and by region",
    "Rejected: the story of a book that nobody wanted to print. " + "It is long. " * 80,
    "This is NOT legal advice.",
    "Do NOT apply it twice.",
    "Build ended with 0 error(s)",
    "There were no error(s).",
    "No syntax error(s) found in a.py",
    "It was built without any new error(s).",
    "It went well.\nThe rest was NOT applied.",
    "ERRORS:\n- none",
)


@pytest.mark.parametrize("text", [*REFUSED, *NOT_DONE])
def test_a_refusal_is_a_failure_whatever_the_word_for_it(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.ERROR


@pytest.mark.parametrize("text", OTHER)
def test_a_list_a_record_or_an_instruction_with_such_words_is_none(text: str) -> None:
    assert status_of(text, None, None) is ResultStatus.SUCCESS
