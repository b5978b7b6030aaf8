"""A password's hash is masked in the notation of whatever made it; a word for the notation, or a
digest of a file, stays."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, HEX, UPPER, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

CRYPT, B64 = ALNUM + "./", ALNUM + "+/"
UPPER_HEX = "0123456789ABCDEF"
NOTATIONS = {
    "passlib pbkdf2": ("$pbkdf2$131000${salt}$", CRYPT, 27),
    "passlib pbkdf2-sha256": ("$pbkdf2-sha256$29000${salt}$", CRYPT, 43),
    "passlib pbkdf2-sha512": ("ada:$pbkdf2-sha512$25000${salt}$", CRYPT, 86),
    "passlib scrypt": ("$scrypt$ln=16,r=8,p=1${salt}$", CRYPT, 43),
    "passlib bcrypt-sha256": ("$bcrypt-sha256$v=2,t=2b,r=12${salt}$", CRYPT, 31),
    "passlib sha1-crypt": ("$sha1$480000${salt}$", CRYPT, 28),
    "sun md5": ("$md5,rounds=904${salt}$$", CRYPT, 22),
    "dlitz pbkdf2": ("$p5k2$2710${salt}$", CRYPT, 32),
    "scrypt of crypt": ("$7$CU..../....{salt}$", CRYPT, 43),
    "gost yescrypt": ("$gy$j9T${salt}$", CRYPT, 43),
    "django pbkdf2": ("pbkdf2_sha256$870000${salt}$", B64, 43),
    "django scrypt": ("scrypt$16384${salt}$8$1$", B64, 86),
    "django bcrypt": ("bcrypt_sha256$$2b$12$", CRYPT, 53),
    "django argon2": ("argon2$argon2id$v=19$m=102400,t=2,p=8${salt}$", B64, 43),
    "django md5": ("md5${salt}$", HEX, 32),
    "django unsalted": ("sha1$$", HEX, 40),
    "django sha1": ("sha1${salt}$", HEX, 40),
    "werkzeug pbkdf2": ("pbkdf2:sha256:600000${salt}$", HEX, 64),
    "asp.net core": ("AQAAAAIAAYagAAAAE", B64, 67),
    "asp.net core 2": ("AQAAAAEAACcQAAAAE", B64, 67),
    "wordpress": ("$P$B", CRYPT, 30),
    "phpbb": ("$H$9", CRYPT, 30),
    "drupal": ("$S$D", CRYPT, 51),
    "postgres": ("SCRAM-SHA-256$4096:{salt}==$", B64, 43),
    "mysql": ("*", UPPER_HEX, 40),
    "grub": ("grub.pbkdf2.sha512.10000.", UPPER_HEX, 128),
    "ldap pbkdf2": ("{{PBKDF2-SHA256}}10000${salt}$", CRYPT, 43),
    "ldap ssha256": ("{{SSHA256}}", B64, 52),
}


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


@pytest.mark.parametrize("name", NOTATIONS)
def test_a_hash_is_masked_wherever_it_stands(name: str) -> None:
    rng = random.Random(name)
    head, alphabet, length = NOTATIONS[name]
    for _ in range(20):
        value = body(rng, alphabet, length)
        made = head.format(salt=body(rng, ALNUM, 22)) + value
        row = json.dumps({"rows": [["ada", made, 7]]})
        for text in (made, f"ada | {made} | 7\n", f"ada:{made}:7", row):
            assert value not in seen(text), text
        assert json.loads(seen(row))["rows"][0][2] == 7


def test_the_hashes_of_windows_and_oracle_are_masked() -> None:
    rng = random.Random(7)
    value = body(rng, HEX, 32)
    assert value not in seen(f"Administrator:500:{body(rng, HEX, 32)}:{value}:::\n")
    verifier = body(rng, UPPER, 60)
    assert verifier not in seen(f"ALTER USER ada IDENTIFIED BY VALUES 'S:{verifier}'")


@pytest.mark.parametrize(
    "text",
    [
        "pbkdf2-sha256 with 29000 rounds, then $pbkdf2-digest$rounds$salt$checksum",
        "PASSWORD_HASHERS = ['django.contrib.auth.hashers.PBKDF2PasswordHasher']",
        "password_encryption = scram-sha-256",
        "echo $md5$sha1$version; PS1='$1$2a'; cost $5 or $6$ each",
        "3f786850e387550fdab836ed7e6dc881de23001b *release.tar.gz",
        "MD5 (a.iso) = 9e107d9d372bb6826bd81d3542a419d6",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    ],
)
def test_a_notations_name_and_a_files_digest_stay(text: str) -> None:
    assert seen(text) == text
