"""Made-up credentials and persons' data in the published formats, made anew in every run: nothing
in the repository looks like a live credential, since prefixes and bodies meet only here."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

from tests.guard_quality import PersonalSpan

LETTERS = string.ascii_letters
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"


def body(rng: random.Random, alphabet: str, length: int) -> str:
    """`length` random characters, a digit among them."""
    drawn = [rng.choice(alphabet) for _ in range(length)]
    if "0" in alphabet:
        drawn[rng.randrange(2, length - 1)] = rng.choice(string.digits)
    return "".join(drawn)


def secret(rng: random.Random, kind: str) -> str:
    """One credential of a kind that `SECRETS` names."""
    return _MAKERS[kind](rng)


def _jwt(rng: random.Random) -> str:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    header = part('{"alg":"HS256","typ":"JWT"}')
    claims = part(f'{{"sub":"{rng.randrange(10**9)}","iat":{rng.randrange(10**9)}}}')
    return f"{header}.{claims}.{body(rng, URLSAFE, 43)}"


def _pem(rng: random.Random) -> str:
    word = rng.choice(("RSA ", "EC ", "OPENSSH ", ""))
    edge = "-" * 5
    lines = "\n".join(body(rng, ALNUM + "+/", 64) for _ in range(rng.randint(3, 20)))
    return f"{edge}BEGIN {word}PRIVATE KEY{edge}\n{lines}\n{edge}END {word}PRIVATE KEY{edge}"


def _url(rng: random.Random) -> str:
    scheme = rng.choice(
        ("postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https")
    )
    return f"{scheme}://{body(rng, LETTERS, 6)}:{body(rng, ALNUM, 14)}@db.internal:5432/app"


def _of_vendor(prefix: str, alphabet: str, length: int, end: str = "") -> Callable[..., str]:
    """A key of one service; its prefix is written here in two pieces."""
    return lambda r: prefix.replace(" ", "") + body(r, alphabet, length) + end


def _uuid(rng: random.Random) -> str:
    return "-".join(body(rng, HEX, length) for length in (8, 4, 4, 4, 12))


LOWER = string.ascii_lowercase + string.digits
_VENDORS = {
    "adafruit_key": _of_vendor("ai o_", ALNUM, 28),
    "artifactory_key": _of_vendor("AK Cp", ALNUM, 69),
    "atlassian_token": _of_vendor("ATA TT3xFf", URLSAFE, 180),
    "aws_appsync_key": _of_vendor("da 2-", LOWER, 26),
    "aws_mws_token": lambda r: "amzn" + ".mws." + _uuid(r),
    "azure_devops_token": lambda r: body(r, ALNUM, 76) + "AZ" + "DO" + body(r, ALNUM, 4),
    "braintree_token": lambda r: (
        "access_token" + "$production$" + body(r, LOWER, 16) + "$" + body(r, HEX, 32)
    ),
    "circleci_token": lambda r: "CCI" + "PAT_" + body(r, ALNUM, 22) + "_" + body(r, HEX, 40),
    "contentful_token": _of_vendor("CF PAT-", URLSAFE, 43),
    "defined_key": lambda r: "dn" + "key-" + body(r, LOWER, 26) + "-" + body(r, LOWER, 52),
    "duffel_token": _of_vendor("duffel_ live_", URLSAFE, 43),
    "dynatrace_token": lambda r: "dt0" + "c01." + body(r, UPPER, 24) + "." + body(r, UPPER, 64),
    "easypost_key": _of_vendor("EZ AK", ALNUM, 54),
    "firecrawl_key": _of_vendor("f c-", HEX, 32),
    "flutterwave_key": _of_vendor("FLW SECK-", ALNUM, 32, "-X"),
    "google_refresh_token": _of_vendor("1/ /0", URLSAFE, 60),
    "grafana_key": _of_vendor("eyJ rIjoi", ALNUM, 80),
    "hubspot_token": lambda r: "pat" + "-na1-" + _uuid(r),
    "langsmith_key": lambda r: "lsv2" + "_pt_" + body(r, HEX, 32) + "_" + body(r, HEX, 10),
    "launchdarkly_key": lambda r: "sd" + "k-" + _uuid(r),
    "mailgun_key": _of_vendor("ke y-", HEX, 32),
    "mapbox_token": lambda r: "sk" + ".eyJ" + body(r, ALNUM, 80) + "." + body(r, ALNUM, 22),
    "maxmind_key": lambda r: body(r, ALNUM, 6) + "_" + body(r, ALNUM, 29) + "_m" + "mk",
    "netlify_token": _of_vendor("nf p_", ALNUM, 36),
    "newrelic_key": _of_vendor("NR AK-", UPPER, 27),
    "newrelic_licence": _of_vendor("", HEX, 36, "NR" + "AL"),
    "nuget_key": _of_vendor("oy 2", LOWER, 43),
    "nvidia_key": _of_vendor("nv api-", URLSAFE, 64),
    "openshift_token": _of_vendor("sha 256~", URLSAFE, 43),
    "pinecone_key": _of_vendor("pc sk_", ALNUM, 64),
    "pixie_key": lambda r: "px" + "-api-" + _uuid(r),
    "plaid_token": lambda r: "access" + "-production-" + _uuid(r),
    "prefect_key": _of_vendor("pn u_", ALNUM, 36),
    "pulumi_token": _of_vendor("pu l-", HEX, 40),
    "readme_key": _of_vendor("rd me_", LOWER, 70),
    "brevo_key": lambda r: "xkey" + "sib-" + body(r, HEX, 64) + "-" + body(r, ALNUM, 16),
    "salesforce_token": lambda r: "00" + "D" + body(r, ALNUM, 12) + "!" + body(r, ALNUM + "._", 96),
    "sonar_token": _of_vendor("sq u_", HEX, 40),
    "sourcegraph_token": _of_vendor("sg p_", HEX, 40),
    "tailscale_key": _of_vendor("ts key-auth-", ALNUM, 40),
    "typeform_token": _of_vendor("tf p_", ALNUM, 59),
    "yandex_token": _of_vendor("AQ VN", URLSAFE, 36),
    "astra_token": _of_vendor("Astra CS:", ALNUM, 60),
    "cloudflare_token": _of_vendor("cf ut_", ALNUM, 48),
    "docker_join_token": lambda r: "SWM" + "TKN-1-" + body(r, LOWER, 50) + "-" + body(r, LOWER, 25),
    "elastic_key": _of_vendor("es su_", URLSAFE, 90),
    "fly_token": lambda r: "Fly" + "V1 fm2_" + body(r, ALNUM, 160),
    "llamaindex_key": _of_vendor("ll x-", ALNUM, 48),
    "mongodb_secret": _of_vendor("mdb_ sa_sk_", URLSAFE, 40),
    "packagist_token": _of_vendor("packagist_ ort_", HEX, 68),
    "polar_token": _of_vendor("polar_ oat_", URLSAFE, 40),
    "together_key": _of_vendor("tgp_ v1_", URLSAFE, 43),
    "vercel_token": _of_vendor("vc p_", URLSAFE, 56),
    "wandb_key": _of_vendor("wandb_ v1_", ALNUM, 77),
    "zoho_token": lambda r: "10" + "00." + body(r, HEX, 32) + "." + body(r, HEX, 32),
}
_MAKERS = {
    "aws_access_key": lambda r: r.choice(("AK", "AS")) + "IA" + body(r, UPPER, 16),
    "aws_secret_key": lambda r: "aws_secret_access_key = " + body(r, ALNUM + "+/", 39) + "a",
    "github_token": lambda r: "gh" + r.choice("pousr") + "_" + body(r, ALNUM, 36),
    "github_pat": lambda r: "github" + "_pat_" + body(r, ALNUM, 22) + "_" + body(r, ALNUM, 59),
    "gitlab_token": lambda r: "gl" + "pat-" + body(r, URLSAFE, 20),
    "slack_token": lambda r: "xox" + "b-" + body(r, string.digits, 12) + "-" + body(r, ALNUM, 24),
    "slack_webhook": lambda r: (
        "https://hooks.slack" + ".com/services/T" + body(r, UPPER, 8) + "/B" + body(r, UPPER, 8)
        + "/" + body(r, ALNUM, 24)
    ),
    "stripe_key": lambda r: (
        r.choice("sr") + "k_" + r.choice(("live", "test")) + "_" + body(r, ALNUM, 24)
    ),
    "google_api_key": lambda r: "AI" + "za" + body(r, URLSAFE, 35),
    "google_client_secret": lambda r: "GOC" + "SPX-" + body(r, URLSAFE, 28),
    "openai_key": lambda r: "sk-" + r.choice(("proj-" + body(r, URLSAFE, 60), body(r, ALNUM, 48))),
    "anthropic_key": lambda r: "sk-" + "ant-api03-" + body(r, URLSAFE, 90),
    "jwt": _jwt,
    "private_key": _pem,
    "url_password": _url,
    "npm_token": lambda r: "npm" + "_" + body(r, ALNUM, 36),
    "pypi_token": lambda r: "pypi" + "-AgEIcHlwaS5vcmc" + body(r, URLSAFE, 120),
    "sendgrid_key": lambda r: "SG" + "." + body(r, URLSAFE, 22) + "." + body(r, URLSAFE, 43),
    "twilio_key": lambda r: "S" + "K" + body(r, HEX, 32),
    "digitalocean_token": lambda r: "dop" + "_v1_" + body(r, HEX, 64),
    "telegram_token": lambda r: "7" + body(r, string.digits, 9) + ":A" + "A" + body(r, URLSAFE, 33),
    "huggingface_token": lambda r: "h" + "f_" + body(r, LETTERS, 34),
    "databricks_token": lambda r: "da" + "pi" + body(r, HEX, 32),
    "shopify_token": lambda r: "shp" + "at_" + body(r, HEX, 32),
    "vault_token": lambda r: "hv" + "s." + body(r, URLSAFE, 40),
    "azure_key": lambda r: "AccountKey" + "=" + body(r, ALNUM + "+/", 86) + "==",
    "basic_auth": lambda r: (
        "Authorization: Basic " + base64.b64encode(body(r, ALNUM, 21).encode()).decode()
    ),
    "bearer_token": lambda r: "Authorization: Bearer " + body(r, ALNUM, 40),
    "password_setting": lambda r: (
        r.choice(("password", "DB_PASSWORD", "smtp_passwd", "admin_pwd"))
        + r.choice((": ", "=", " = "))
        + body(r, ALNUM + "!#%", 14)
    ),
    "password_json": lambda r: '"password": "' + body(r, ALNUM + "!#%", 12) + '"',
    "key_setting": lambda r: (
        r.choice(("api_key", "API-KEY", "client_secret", "auth_token", "SECRET_KEY"))
        + r.choice((": ", "=", " = "))
        + body(r, ALNUM, 32)
    ),
    **_VENDORS,
}  # fmt: skip
SECRETS = tuple(_MAKERS)


def secret_value(kind: str, made: str) -> str:
    """The part of a made secret that must not be seen."""
    if kind in ("aws_secret_key", "basic_auth", "bearer_token"):
        return made.rsplit(" ", 1)[-1]
    if kind in ("password_setting", "key_setting"):
        return made.replace(": ", "=").replace(" = ", "=").split("=", 1)[1]
    if kind == "password_json":
        return made.split('"')[3]
    if kind == "url_password":
        return made.split("@")[0].rsplit(":", 1)[1]
    if kind == "slack_webhook":
        return made.rsplit("/", 1)[1]
    if kind == "azure_key":
        return made.split("=", 1)[1].rstrip("=")
    if kind == "private_key":
        return made.split("\n")[1]
    return made


_FIRST = ("Ana", "Ben", "Chloe", "Dmitri", "Emeka", "Fatima", "Goran", "Hana", "Ivo", "Jana", "Li")
_LAST = ("Novak", "Okafor", "Smith", "Garcia", "Ito", "Haddad", "Larsen", "Silva", "Kaya", "Weber")
_DOMAINS = ("example.com", "mail.example.org", "uni-koeln.de", "corp.co.uk", "example.io")


def person(rng: random.Random, name: str) -> str:
    """One made datum of a type: email, card, iban, ssn, phone, ip_address."""
    return _PERSONAL[name](rng)


def _email(rng: random.Random) -> str:
    first, last = rng.choice(_FIRST).lower(), rng.choice(_LAST).lower()
    local = rng.choice(
        (f"{first}.{last}", f"{first}{rng.randrange(999)}", f"{first[0]}{last}", f"{first}+{last}")
    )
    return f"{local}@{rng.choice(_DOMAINS)}"


def _luhn(digits: list[int]) -> int:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = digit * (2 - index % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return -total % 10


def _card(rng: random.Random) -> str:
    prefix, length = rng.choice(
        (("4", 16), ("51", 16), ("55", 16), ("34", 15), ("37", 15), ("6011", 16))
    )
    digits = [int(c) for c in prefix]
    digits += [rng.randrange(10) for _ in range(length - len(digits) - 1)]
    number = "".join(map(str, [*digits, _luhn(digits)]))
    form = rng.randrange(3)
    if form == 0 or length == 15:
        return number
    return (" " if form == 1 else "-").join(number[i : i + 4] for i in range(0, 16, 4))


def _iban(rng: random.Random) -> str:
    code, length, letters = rng.choice(
        (
            ("DE", 22, 0),
            ("FR", 27, 0),
            ("GB", 22, 4),
            ("NL", 18, 4),
            ("ES", 24, 0),
            ("NO", 15, 0),
            ("PL", 28, 0),
        )
    )
    account = body(rng, string.ascii_uppercase, letters) if letters else ""
    account += "".join(rng.choice(string.digits) for _ in range(length - 4 - letters))
    number = int("".join(str(int(c, 36)) for c in f"{account}{code}00"))
    plain = f"{code}{98 - number % 97:02d}{account}"
    if rng.random() < 0.5:
        return plain
    return " ".join(plain[i : i + 4] for i in range(0, len(plain), 4))


def _ssn(rng: random.Random) -> str:
    area = rng.choice([n for n in range(1, 900) if n != 666])
    gap = rng.choice("-- ")
    return f"{area:03d}{gap}{rng.randint(1, 99):02d}{gap}{rng.randint(1, 9999):04d}"


def _phone(rng: random.Random) -> str:
    def digits(count: int) -> str:
        return str(rng.randint(2, 9)) + "".join(rng.choice(string.digits) for _ in range(count - 1))

    return rng.choice(
        (
            lambda: f"({digits(3)}) {digits(3)}-{digits(4)}",
            lambda: f"{digits(3)}-{digits(3)}-{digits(4)}",
            lambda: f"{digits(3)}.{digits(3)}.{digits(4)}",
            lambda: f"+1 {digits(3)} {digits(3)} {digits(4)}",
            lambda: f"+1-{digits(3)}-{digits(3)}-{digits(4)}x{digits(3)}",
            lambda: f"+44 20 {digits(4)} {digits(4)}",
            lambda: f"+49 {digits(3)} {digits(7)}",
            lambda: f"+33 {rng.randint(1, 9)} {digits(2)} {digits(2)} {digits(2)} {digits(2)}",
            lambda: f"0{digits(2)} {digits(3)} {digits(2)} {digits(2)}",
            lambda: f"+{rng.randint(30, 98)}{digits(9)}",
        )
    )()


def _ip(rng: random.Random) -> str:
    if rng.random() < 0.7:
        return ".".join(str(rng.randint(1, 126)) for _ in range(4))
    return ":".join(f"{rng.randint(1, 0xFFFF):x}" for _ in range(8))


_PERSONAL = {
    "email": _email,
    "card": _card,
    "iban": _iban,
    "ssn": _ssn,
    "phone": _phone,
    "ip_address": _ip,
}
PERSONAL = tuple(_PERSONAL)

_SENTENCES = {
    "email": ("Write to {} about it.", '{{"contact": "{}"}}', "email={};", "From: {}", "<{}>"),
    "card": (
        "The card {} was declined.",
        '{{"card_number": "{}"}}',
        "paid with {}",
        "Card no. {}.",
    ),
    "iban": ("Transfer it to {} today.", '{{"iban": "{}"}}', "IBAN: {}", "account {},"),
    "ssn": ("His social security number is {}.", '{{"ssn": "{}"}}', "SSN {}", "ID {} on file"),
    "phone": ("Call me at {} tomorrow.", '{{"phone": "{}"}}', "Tel: {}", "Mobile {}", "fax: {};"),
    "ip_address": ("Login from {} failed.", '{{"ip": "{}"}}', "client {} connected", "host={}"),
}
_PLAIN = (
    "Order {a}-{b} was shipped on 2024-05-{d:02d} at 10:{d:02d}:41.",
    "Version 3.{d}.{b} fixes issue #{a}; 12,{b} downloads, 4.{d} MB.",
    "The matrix has {a} rows, {b} columns and {d}.{a} % zeros.",
    "commit {h} touched {d} files on line {b}:{d}.",
    "timestamp 17{a}{b}, build {d}.{d}.{b}, session id {h}",
    "price: {d}.99 USD, SKU {b}-{d}-{d}, lat 48.{a}, lon 11.{b}",
)


def personal_cases(name: str, count: int, seed: int) -> list[tuple[str, list[PersonalSpan]]]:
    """`count` texts that hold one datum of the type each among numbers that are none, and half as
    many that hold only such numbers."""
    rng = random.Random(f"{name}-{seed}")
    cases: list[tuple[str, list[PersonalSpan]]] = []
    for number in range(count + count // 2):
        before, after = plain_sentence(rng), plain_sentence(rng)
        if number >= count:
            cases.append((f"{before} {after}", []))
            continue
        value = person(rng, name)
        sentence = rng.choice(_SENTENCES[name])
        start = len(before) + 1 + len(sentence.split("{}")[0].replace("{{", "{"))
        text = f"{before} {sentence.format(value)} {after}"
        cases.append((text, [PersonalSpan(start, start + len(value), name)]))
    return cases


def plain_sentence(rng: random.Random) -> str:
    """A sentence with numbers that are nobody's data."""
    return rng.choice(_PLAIN).format(
        a=rng.randint(1000, 9999),
        b=rng.randint(100, 999),
        d=rng.randint(1, 28),
        h=body(rng, HEX, 12),
    )


_CARRIERS = (
    "the setting is {} as far as I know",
    "{}",
    'export VALUE="{}"\nnext line',
    "- step 4: {} (rotated last year)",
    "2024-05-01 10:00:00 INFO start {} done",
)


def secret_case(rng: random.Random, kind: str) -> tuple[str, str]:
    """A text that holds a made secret, and the part of it that must not be seen."""
    made = secret(rng, kind)
    carrier = (
        "{}"
        if kind in ("password_json", "password_setting", "key_setting")
        else rng.choice(_CARRIERS)
    )
    return f"{plain_sentence(rng)}\n{carrier.format(made)}\n{plain_sentence(rng)}", secret_value(
        kind, made
    )
