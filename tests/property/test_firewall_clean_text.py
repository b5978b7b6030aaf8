"""The clean text that everyone folds from a body and its envelope holds no secret, however the
body hid it, and is what an envelope shows that passes the body whole."""

import html
import json
import os
import random

import pytest
from tests.firewall_cases import SECRETS, secret, secret_value
from tests.firewall_made import envelope

from weft.bodies.masking import clean_text
from weft.passages.python_repr import repr_to_json
from weft_schemas.items import Sensitivity
from weft_schemas.policy import FirewallRules, PiiAction

EXAMPLES = int(os.environ.get("WEFT_FUZZ_EXAMPLES", "2"))
SUMMARISED = FirewallRules(threshold=0, show="fit")
WHOLE = FirewallRules(threshold=1_000_000)


def plain(text: str, rng: random.Random) -> str:
    return text


def as_numbers(text: str, rng: random.Random) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def some_as_numbers(text: str, rng: random.Random) -> str:
    return "".join(f"\\u{ord(c):04X}" if rng.random() < 0.3 else c for c in text)


def one_as_number(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return f"{text[:at]}\\u{ord(text[at]):04x}{text[at + 1 :]}"


def slashes(text: str, rng: random.Random) -> str:
    return text.replace("/", "\\/")


def behind_a_letter(text: str, rng: random.Random) -> str:
    return rng.choice(("\\u00e9", "\\u201c", "\\b", "\\f", "\\n", "\\u000a", "\\u0020")) + text


def split_unseen(text: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(text))
    return text[:at] + rng.choice(("\u200b", "\u2060", "\x1b[31m", "\x00")) + text[at:]


def split_by_escapes(text: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(text))
    unseen = ("\\u200b", "\\u2060", "\\u001b[1;31m", "\\u0000", "\\u00ad", "\\ufeff", "\\u202e")
    return text[:at] + rng.choice(unseen) + text[at:]


HIDINGS = (
    plain,
    as_numbers,
    some_as_numbers,
    one_as_number,
    slashes,
    behind_a_letter,
    split_unseen,
    split_by_escapes,
)
ESCAPED = HIDINGS[1:6] + HIDINGS[7:]
"""Ways that stand in a string of JSON only."""


def string(hidden: str) -> str:
    """A literal of JSON with what is hidden in it, escapes kept."""
    kept = hidden.replace("\n", "\\n").replace('"', '\\"').replace("\x1b", "\\u001b")
    return '"' + kept.replace("\x00", "\\u0000") + '"'


def in_object(hidden: str) -> str:
    return '{"id": 7, "note": ' + string(f"see {hidden} here") + ', "last": [1, 2]}'


def in_lines(hidden: str) -> str:
    return "\n".join(f'{{"n": {n}, "text": {string(hidden)}}}' for n in range(4))


def in_container(hidden: str) -> str:
    inner = json.dumps(in_object(hidden))
    return '{"content": [{"type": "text", "text": ' + inner + '}], "isError": false}'


def deep(hidden: str) -> str:
    body = in_object(hidden)
    for _ in range(2):
        body = '{"log": ' + json.dumps(body) + "}"
    return body


def in_log(hidden: str) -> str:
    return "\n".join(f"2024-05-01 10:00:0{n} INFO start {hidden} done" for n in range(6))


def in_table(hidden: str) -> str:
    return "id,note,n\n" + "\n".join(f"{n},{hidden} ,{n}" for n in range(6))


def in_prose(hidden: str) -> str:
    return f"First of all, a sentence. The setting is {hidden} as far as I know.\n\nAnd the end."


def in_code(hidden: str) -> str:
    return f"import os\n\ndef load():\n    # {hidden}\n    return os.environ\n"


IN_JSON = (in_object, in_lines, in_container, deep)
IN_TEXT = (in_log, in_table, in_prose, in_code)


def resolved(text: str) -> list[str]:
    """What any rendition can make of a text: JSON's strings at every depth, and itself."""
    found = [text, html.unescape(text)]
    for line in (text, *text.splitlines()):
        try:
            found += strings(json.loads(line))
        except ValueError:
            continue
    return found


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        inner = resolved(value) if value[:1] in "{[" and value else [value]
        return [value, *inner]
    if isinstance(value, dict):
        return [found for held in value.values() for found in strings(held)]
    return [found for held in value for found in strings(held)] if isinstance(value, list) else []


def unseen_taken_out(text: str) -> str:
    for hidden in (
        "\u200b",
        "\u2060",
        "\x1b[1;31m",
        "\x1b[31m",
        "\x00",
        "\xad",
        "\ufeff",
        "\u202e",
    ):
        text = text.replace(hidden, "")
    return text


def check(body: str, value: str) -> None:
    found = envelope(body, SUMMARISED)
    assert found.clean is not None
    assert not found.complete
    text = clean_text(body, found.clean)
    for shown in resolved(text):
        assert value not in unseen_taken_out(shown), (body, text)
    whole = envelope(body, WHOLE)
    assert (whole.summary, whole.clean, whole.complete) == (text, None, True)
    assert whole.summary_tokens == found.clean.tokens
    assert len(text) == found.clean.characters
    if is_json(body):
        assert is_json(text), (body, text)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


CASES = [
    *((place, hide) for place in IN_JSON for hide in HIDINGS),
    *((place, hide) for place in IN_TEXT for hide in (plain, split_unseen)),
]


@pytest.mark.parametrize(("place", "hide"), CASES, ids=lambda part: part.__name__)
def test_no_planted_secret_is_in_the_clean_text(place, hide) -> None:
    rng = random.Random(f"{place.__name__} {hide.__name__}")
    for kind in SECRETS:
        for _ in range(EXAMPLES):
            made = secret(rng, kind)
            value = secret_value(kind, made)
            if kind == "password_json" and place in IN_TEXT:
                continue
            check(place(hide(made, rng) if hide is not slashes else slashes(made, rng)), value)


@pytest.mark.parametrize("place", IN_JSON, ids=lambda part: part.__name__)
@pytest.mark.parametrize("end", ["", "\\", "\\n", " and more", "(", "\\u0028", "\u00e9", '\\"'])
def test_a_key_that_is_cut_off_leaves_json_json(place, end: str) -> None:
    key = "-" * 5 + "BEGIN RSA PRIVATE KEY" + "-" * 5 + "\\nMIIEow" + "Q3EGRNQW7TYU" * 9
    check(place(key + end.replace("\\", "\\\\") if end == "\\" else key + end), "Q3EGRNQW7TYU")


@pytest.mark.parametrize("place", IN_JSON, ids=lambda part: part.__name__)
def test_a_bare_value_that_begins_with_an_escape_leaves_json_json(place) -> None:
    check(place("password=\\u0041b9!cdef123"), "b9!cdef123")


def test_personal_data_behind_escapes_is_masked_where_the_policy_says_so() -> None:
    body = '{"contact": "ann\\u0040example.com", "other": "ben@example.org"}'
    rules = FirewallRules(threshold=0, show="fit", pii=PiiAction.MASK)
    recorded = envelope(body, rules).clean
    assert recorded is not None
    value = json.loads(clean_text(body, recorded))
    assert value["contact"].startswith("[pii:email:")
    assert value["other"].startswith("[pii:email:")
    raised = envelope('{"contact": "ann\\u0040example.com"}', FirewallRules(pii=PiiAction.RAISE))
    assert raised.sensitivity is Sensitivity.CONFIDENTIAL


def test_a_secret_has_one_fingerprint_with_and_without_escapes() -> None:
    key = "AK" + "IA" + "Q3EGRNQW7TYUIOPA"
    bare, hidden = (
        envelope(f'{{"note": "{text}"}}')
        for text in (key, "".join(f"\\u{ord(letter):04x}" for letter in key))
    )
    assert bare.summary == hidden.summary
    assert bare.signals == hidden.signals


def test_printed_python_does_not_lose_a_backslash_that_escapes_nothing() -> None:
    assert json.loads(repr_to_json("['a\\Ib', 'c\\'d', 'e\\\\f']")) == ["a\\Ib", "c'd", "e\\f"]
