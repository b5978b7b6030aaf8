"""Credentials in the output of programs: arguments of calls, pairs of a name and its value,
connection strings, lines under a comment that names a secret. Every pattern is for RE2."""

from __future__ import annotations

from weft.secrets.published import SERVICES
from weft.secrets.rule import SecretRule, rule

_PASSWORD = r"(?:passw(?:or)?d|passwd|pwd|passphrase|credentials?)"
_KEY = (
    r"(?:secret|token|(?:api|access|secret|private|auth|client)[_-]?(?:key|secret|token)"
    rf"|{SERVICES}[._-]?key)"
)
_QUOTED = r"@?[\"']([^\"'\s]{4,300})[\"']"
_ANY = r"[\"'][^\"'\n]{1,120}[\"']"

IN_CODE: tuple[SecretRule, ...] = (
    rule(
        "call_password",
        "password( passwd( pwd( passphrase( credential( credentials( passwordvalue(",
        r"(?i)\b(?:set|with|add|use|change|update|reset|enter|type|fill)[\w.]{0,30}?"
        rf"{_PASSWORD}(?:value)?\(\s*(?:{_ANY}\s*,\s*)?{_QUOTED}\s*\)",
        1,
        check="word",
    ),
    rule(
        "call_secret",
        "secret( token( apikey( api_key( accesskey( access_key( secretkey( secret_key( privatekey("
        " private_key( authkey( auth_key( clientkey( client_key( secretvalue( tokenvalue(",
        rf"(?i)\b(?:set|with|add|use)[\w.]{{0,30}}?{_KEY}(?:value)?\(\s*{_QUOTED}",
        1,
        check="key",
        named=True,
    ),
    rule(
        "call_password",
        "login( log_in( signin( sign_in( authenticate( auth( auth=( credential( credentials("
        " authentication( basicauth( digestauth( authuser(",
        r"(?i)\b(?:[\w.]{0,30}(?:log_?in|sign_?in|authenticate|basic_?auth\w{0,12}|digest_?auth"
        r"|credentials?|passwordauthentication)|auth)\s{0,2}=?\s{0,2}\(\s*"
        rf"{_ANY}\s*,\s*{_QUOTED}\s*[,)]",
        1,
        check="word",
    ),
    rule(
        "call_password",
        "connect( connection( directoryentry( pdo( mysqli( ftp_login( imap_open( ldap_bind(",
        r"(?i)\b(?:\w{0,20}connect(?:ion)?|directoryentry|pdo|mysqli|ftp_login|imap_open|ldap_bind)"
        r"\s{0,2}\(\s*"
        rf"[^,()\n]{{1,160}},\s*{_ANY}\s*,\s*{_QUOTED}\s*[,)]",
        1,
        check="word",
    ),
    rule(
        "paired_password",
        "password passwd pwd passphrase credential",
        rf"(?i)(?:\b(?:put|set|add|setproperty|setenv|header)\(\s*[\w.]{{0,60}}{_PASSWORD}"
        rf"|\(\s*[\"'][\w.-]{{0,40}}{_PASSWORD}=?[\"'])\s*,\s*{_QUOTED}\s*\)",
        1,
        check="word",
    ),
    rule(
        "paired_password",
        "password passwd pwd passphrase",
        rf"(?i)[\"'][\w.-]{{0,40}}{_PASSWORD}[\"']\s{{0,4}},\s{{0,4}}{_QUOTED}",
        1,
        check="mixed",
    ),
    rule(
        "paired_secret",
        [
            f"{word}{end}"
            for word in ("key", "token", "secret")
            for end in ("',", "' ,", '",', '" ,')
        ],
        rf"(?i)[\"'][\w.-]{{0,40}}{_KEY}[\"'] ?,\s{{0,4}}[\"']?{_QUOTED}",
        1,
        check="key",
        named=True,
    ),
    rule(
        "quoted_secret",
        "apikey api_key secret_key private_key access_key auth_token",
        rf"(?i)\b[\w-]{{0,40}}{_KEY}[\w-]{{0,20}}[ \t]{{1,4}}{_QUOTED};",
        1,
        check="key",
        named=True,
    ),
    rule(
        "quoted_password",
        "password passwd pwd passphrase secret private_key",
        r"(?im)^[ \t]*[\w.-]{0,40}(?:password|passwd|pwd|passphrase|secret|private_key)[ \t]{1,8}"
        r"[\"']([^\"'\s]{4,300})[\"'][ \t]*(?:[;#][^\n]{0,100})?$",
        1,
        check="word",
        named=True,
    ),
    rule(
        "connection_password",
        "password pwd",
        r"(?i)\b(?:user(?:[ _]?id|name)?|uid)\s{0,2}=\s{0,2}[^\s;,\"']{1,100}"
        r"(?:;[^\n]{0,60}?|\s{1,4})(?:password|passwd|pwd)\s{0,2}=\s{0,2}[\"']?([^\s;\"',&(){}\[\]]{3,100})",
        1,
        check="word",
    ),
    rule(
        "connection_password",
        "sqlplus jdbc:oracle rman expdp impdp sqlldr",
        r"(?i)\b(?:sqlplus|rman|expdp|impdp|sqlldr|jdbc:oracle:(?:thin|oci):)[^\n/]{0,60}?"
        r"\b[\w$#]{1,30}/([^\s@\"'/]{3,100})@",
        1,
        check="shown",
    ),
    rule(
        "commented_secret",
        [
            f"{word}{end}\n"
            for word in ("token", "secret", "key")
            for end in ("", " ", "\r", ":", ": ")
        ],
        r"(?im)^[ \t]*(?:#|//|--|;|\*|/\*|rem)[^\n]{0,100}"
        rf"\b(?:{_KEY}|(?:api|access|auth|secret|private|license) (?:key|token)):?[ \t]?\r?\n"
        r"[ \t]*[\w.$ \t:-]{1,60}[ \t]*:?=[ \t]*[\"']([^\"'\s]{16,300})[\"']",
        1,
        check="key",
    ),
)
