"""What a deployment says itself: patterns of its own, and values that are known by their hash."""

import json
import random
import string

import msgspec
import pytest
from tests.firewall_made import KEY
from tests.growing import LONG, slow

from weft.firewall.guards import scan
from weft.firewall.views.drill import drill
from weft.secrets.deployment_rules import deployment_rules, faults_of
from weft.secrets.known_values import known_of, known_secrets
from weft.secrets.scanning import as_shown
from weft.testing import in_memory
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.compile import DrilldownRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import ContextPolicy, FirewallRules, KnownSecrets, SecretPattern

SALT = bytes(range(16))
BADGE = SecretPattern("badge", r"\bBDG-([0-9]{6})\b")
PATTERNS = FirewallRules(secret_patterns=(BADGE,))


def knowing(*values: str) -> FirewallRules:
    return FirewallRules(known_secrets=known_secrets(SALT, list(values)))


def seen(text: str, rules: FirewallRules) -> list[str]:
    """What the firewall shows, a drill-down, and a trusted item."""
    asked = DrilldownRequest("art:x", "head", {}, 1_000)
    given = {"content_type": "text/plain", "fingerprint_key": KEY, "encoding": DEFAULT_ENCODING}
    return [
        scan(text, rules, KEY, 1_000).text,
        drill(text, asked, rules=rules, **given).text,  # type: ignore[arg-type]
        as_shown(text, deployment_rules(rules)),
    ]


def test_a_pattern_of_ones_own_is_masked_everywhere_and_nothing_else_is() -> None:
    for shown in seen("badge BDG-123456 of Ada, BDG-12 and BDG-1234567", PATTERNS):
        assert "123456 " not in shown
        assert "badge BDG-[secret:badge" in shown
        assert shown.endswith("] of Ada, BDG-12 and BDG-1234567")


def test_a_pattern_reads_text_and_not_its_escapes() -> None:
    for shown in seen(r'{"id": "\u0042DG-123456"}', PATTERNS):
        assert "123456" not in shown


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "a{1001}{1001}"])
def test_what_re2_cannot_run_is_told_and_hides_nothing_else(pattern: str) -> None:
    rules = FirewallRules(
        secret_patterns=(SecretPattern("odd", pattern), *PATTERNS.secret_patterns)
    )  # type: ignore[misc]
    assert ["'odd' cannot be run" in fault for fault in faults_of(rules)] == [True]
    assert as_shown("BDG-123456", deployment_rules(rules)) == "BDG-[secret:badge]"


def test_a_service_says_that_a_pattern_masks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    deployment_rules(FirewallRules(secret_patterns=(SecretPattern("logged", "(?!c)d"),)))  # type: ignore[misc]
    assert "'logged' of a policy masks nothing" in caplog.text


async def test_a_policy_with_a_pattern_that_cannot_be_run_is_not_published() -> None:
    rules = FirewallRules(secret_patterns=(SecretPattern("odd", "(?=a)b"),))  # type: ignore[misc]
    async with in_memory() as client:
        with pytest.raises(InvalidInput, match=r"policy 'default': the secret pattern 'odd'"):
            await client.publish_policy(ContextPolicy(firewall=rules))


@pytest.mark.parametrize(("name", "pattern"), [("a b", "x"), ("", "x"), ("a", "x*"), ("a", "")])
def test_a_pattern_that_is_none_is_refused_where_it_is_read(name: str, pattern: str) -> None:
    with pytest.raises((InvalidInput, msgspec.ValidationError)):
        SecretPattern(name, pattern)


PASSWORD = "Kx9-river/candle+77"
PLACES = {
    "alone": "{p}",
    "in a sentence": "it was {p}, they said",
    "in a URL": "https://h/?q={p}&x=1",
    "behind a sign": "value={p};",
    "in JSON": '{{"note": "{p}"}}',
    "escaped": '"{{\\"note\\": \\"{p}\\"}}"',
    "in XML": "<v>{p}</v>",
}
SPLIT = {
    "JSON fields": '{{"first": "{a}", "second": "{b}"}}',
    "JSON array": '["{a}", "{b}"]',
    "three fields": '{{"x": "{c}", "y": "{d}", "z": "{b}"}}',
    "lines of YAML": "one: {a}\ntwo: {b}",
    "columns": "name,{a},{b},end",
    "words": "first {a} then".replace("then", "{b}"),
    "elements": "<a>{a}</a><b>{b}</b>",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_known_value_is_masked_wherever_it_stands(place: str) -> None:
    for shown in seen(PLACES[place].format(p=PASSWORD), knowing(PASSWORD, "another-one")):
        assert PASSWORD not in shown
        assert "[secret:known" in shown


@pytest.mark.parametrize("place", SPLIT)
@pytest.mark.parametrize("cut", range(1, 19, 3))
def test_a_known_value_is_masked_split_across_fields(place: str, cut: int) -> None:
    value = "Kx9q4riverCandle77z"
    a, b = value[:cut], value[cut:]
    text = SPLIT[place].format(a=a, b=b, c=a[: cut // 2 + 1], d=a[cut // 2 + 1 :] or "0")
    if place == "three fields" and cut < 2:
        return
    for shown in seen(text, knowing(value)):
        assert "[secret:known" in shown, shown
        assert b not in shown


def test_what_is_not_known_stays_and_its_parts_do() -> None:
    text = "Kx9-river, candle+77 and Kx9-river/candle+78 are others"
    assert all(shown == text for shown in seen(text, knowing(PASSWORD)))


def test_random_texts_without_the_value_stay() -> None:
    rng = random.Random(7)
    own = deployment_rules(
        knowing(*("".join(rng.choices(string.ascii_letters, k=8)) for _ in range(500)))
    )
    for _ in range(50):
        text = json.dumps(["".join(rng.choices(string.ascii_letters + " -:", k=40)) for _ in "abc"])
        assert as_shown(text, own) == as_shown(text)


def test_a_list_tells_nothing_of_its_values_and_another_key_other_hashes() -> None:
    one, other = known_secrets(SALT, [PASSWORD]), known_secrets(SALT[::-1], [PASSWORD])
    assert PASSWORD not in repr(one)
    assert one.hashes != other.hashes


@pytest.mark.parametrize(
    ("key", "hashes"),
    [
        ("ab", ()),
        ("0" * 32, ("3:0000:" + "0" * 32,)),
        ("0" * 32, ("8:0000:xyz",)),
        ("0" * 32, ("0" * 32,)),
        ("0" * 32, tuple(f"{length}:0000:{'0' * 32}" for length in range(4, 21))),
    ],
)
def test_a_list_that_is_none_is_refused(key: str, hashes: tuple[str, ...]) -> None:
    with pytest.raises((InvalidInput, msgspec.ValidationError)):
        KnownSecrets(key, hashes)


def test_looking_for_known_values_is_linear() -> None:
    known = known_of(known_secrets(SALT, ["x" * length for length in (8, 12, 20)]))
    pieces = [" ", "a", " a", "a,", "a!", '"a":', "<a>", "a=", "\n a"]
    assert slow(lambda text: known.find(text.encode()), pieces, LONG) is None
