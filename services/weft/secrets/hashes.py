"""Hashes of passwords, each known by the notation of the library or the server that made it: they
are guessed offline, so whoever reads one may soon have the password. Every pattern is for RE2."""

from __future__ import annotations

from weft.secrets.published import NO_BASE64
from weft.secrets.rule import SecretRule, rule

_SIGNS = "[./A-Za-z0-9+=_-]"
_HEX = "[0-9A-Fa-f]"

HASHES: tuple[SecretRule, ...] = (
    rule(
        "password_hash",
        "$apr1$ $1$ $2a$ $2b$ $2y$ $5$ $6$ $7$ $8$ $y$ $gy$ $argon2",
        r"\$(?:apr1|1|2[abxy]|5|6|7|8|y|gy|argon2(?:id?|d))\$[./A-Za-z0-9$=,+]{16,200}",
    ),
    rule(
        "password_hash",
        "$pbkdf2 $p5k2$ $scrypt$ $bcrypt-sha256$ $md5, $md5$ $sha1$",
        # passlib: an identifier, parameters, salt and checksum
        r"\$(?:pbkdf2(?:-sha(?:1|256|384|512))?|p5k2|scrypt|bcrypt-sha256|md5|sha1)(?:[$,][\w=,-]{0,60})"
        rf"{{0,2}}\${_SIGNS}{{4,100}}\$\$?{_SIGNS}{{20,200}}",
    ),
    rule(
        "password_hash",
        "pbkdf2 scrypt",
        # Django and Werkzeug
        r"(?i)\b(?:pbkdf2[_:-](?:hmac[_-])?sha(?:1|256|384|512)|scrypt)(?:[$:][0-9]{1,9}){1,3}"
        r"\$[A-Za-z0-9./+=-]{4,100}\$(?:[0-9]{1,4}\$){0,2}[A-Za-z0-9./+=-]{20,200}",
    ),
    rule(
        "password_hash",
        "md5$ sha1$ sha256$",
        # Django's unsalted and salted digests, and Werkzeug's
        rf"\b(?:md5|sha1|sha256)\$[A-Za-z0-9]{{0,40}}\${_HEX}{{32,64}}\b",
    ),
    rule(
        "password_hash",
        "$p$ $h$ $s$",
        # phpass of WordPress and phpBB; Drupal
        r"\$(?:[PH]\$[./0-9A-Za-z]{31}|S\$[./0-9A-Za-z]{52})",
    ),
    rule(
        "password_hash",
        "aqaaaa",
        # ASP.NET Core Identity: a byte 1, the function's number, iterations, a salt of 16 bytes
        rf"{NO_BASE64}(AQAAAA[AEI]A[A-Za-z0-9+/]{{4}}AAAAE[A-Za-z0-9+/]{{40,120}}={{0,2}})",
        1,
    ),
    rule(
        "password_hash",
        "scram-sha-",
        r"\bSCRAM-SHA-(?:1|256|512)\$[0-9]{3,8}:[A-Za-z0-9+/=]{8,100}\$[A-Za-z0-9+/=]{20,100}"
        r"(?::[A-Za-z0-9+/=]{20,100})?",
    ),
    rule(
        "password_hash",
        "*",
        # MySQL and MariaDB
        r"\*[0-9A-F]{40}\b",
    ),
    rule("password_hash", "grub.pbkdf2.", r"\bgrub\.pbkdf2\.[\w.]{100,600}"),
    rule(
        "password_hash",
        ":::",
        # Windows: a user, its number, two hashes
        r"(?m)^[^\s:]{1,100}:[0-9]{1,10}:[0-9A-Fa-f]{32}:([0-9A-Fa-f]{32}):::",
        1,
    ),
    rule(
        "password_hash",
        "{sha} {ssha} {sha256} {sha512} {ssha256} {ssha512} {md5} {smd5} {pbkdf2 {pkcs5s2}",
        # directories
        r"(?i)\{(?:S?SHA(?:256|512)?|S?MD5|PBKDF2(?:-SHA(?:1|256|512))?|PKCS5S2)\}"
        r"(?:[0-9]{1,8}\$[A-Za-z0-9./+=]{4,60}\$)?[A-Za-z0-9./+]{20,120}={0,2}",
    ),
)
