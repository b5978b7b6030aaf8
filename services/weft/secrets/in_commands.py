"""Credentials that are typed at a shell or written in a device's configuration: the flag of a
command, a clause of a command language, a line of a password file. Every pattern is for RE2."""

from __future__ import annotations

from weft.secrets.rule import SecretRule, rule

IN_COMMANDS: tuple[SecretRule, ...] = (
    rule(
        "command_password",
        "curl wget",
        r"\b(?:curl|wget)\b(?:[^\n|;]|\\\n){0,400}?\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?"
        r"[\"']?[^\s:'\"]{1,100}:([^\s'\"]{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "mysql mariadb",
        r"\b(?:mysql\w{0,12}|mariadb[\w-]{0,12})\b[^\n|;]{0,200}?\s-p[\"']?([^\s'\"-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password", "sshpass", r"\bsshpass\s+-p\s*[\"']?([^\s'\"]{1,200})", 1, check="shown"
    ),
    rule(
        "command_password",
        "psexec paexec winexe",
        r"(?i)\b(?:psexec|paexec|winexe)\b[^\n]{0,200}?\s-u\s{0,2}\S{1,100}\s+-p\s{0,2}[\"']?([^\s'\"%$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "redis-cli",
        r"\bredis-cli\b[^\n|;]{0,200}?\s-a\s+[\"']?([^\s'\"]{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "-pass -pw -token -api -secret _token _password -bearer tlspass",
        r"(?i)(?:^|[\s\"'(])--?(?:[a-z][\w-]{0,30}[_-]|tls)?(?:pass(?:word|wd|phrase)?|pwd?|token|bearer"
        r"|api-?key|secret(?:[_-]?(?:key|token))?)[ =][\"']?([^\s'\"-][^\s'\"]{3,300})",
        1,
        check="password",
        named=True,
    ),
    rule(
        "command_password",
        "docker podman helm",
        r"\b(?:docker|podman|helm)\b[^\n|;]{0,40}\blogin\b[^\n|;]{0,200}?\s-p[ =]?[\"']?"
        r"([^\s'\"$-][^\s'\"]{2,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "secret password token passwd",
        r"(?i)(?:^|\n)[ \t]*(?:env|arg|setx?|[a-z]+ configure set) +[\w.-]{0,60}"
        r"(?:password|passwd|secret\w{0,20}|token|api_key|_key|_pass)[ =]+"
        r"[\"']?([^\s'\"$-][^\s'\"]{3,300})",
        1,
        check="word",
        named=True,
    ),
    rule(
        "password_hash",
        "$apr1$ $1$ $2a$ $2b$ $2y$ $5$ $6$ $8$ $y$ $argon2",
        r"\$(?:apr1|1|2[abxy]|5|6|8|y|argon2(?:id?|d))\$[./A-Za-z0-9$=,+]{16,200}",
    ),
    rule(
        "netrc_password",
        "machine",
        r"\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(\S{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "chpasswd",
        r"\becho\s+(?:-\w+\s+)?[\"']?[\w.-]{1,60}:([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "sudo",
        r"\becho\s+(?:-\w+\s+)?[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-S\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "htpasswd smbclient ldapsearch ldapadd ldapmodify lftp",
        r"\b(?:htpasswd\s+-\w*b\w*\s+\S{1,200}\s+\S{1,60}\s+|smbclient\b[^\n|;]{0,200}?\s-U\s{0,2}[\"']?[^\s%]{1,60}%"
        r"|ldap(?:search|add|modify)\b[^\n|;]{0,200}?\s-w\s{0,2}|lftp\b[^\n|;]{0,200}?\s-u\s{0,2}[^\s,]{1,60},)"
        r"[\"']?([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "mongo mongodump mongosh docker az plink",
        r"\b(?:mongo\w{0,8}|az\s+login|plink|pscp)\b[^\n|;]{0,200}?\s-(?:p|pw)[ =][\"']?"
        r"([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="mixed",
    ),
    rule(
        "command_password",
        "passin passout -pass",
        r"\s-pass(?:in|out)?\s+pass:[\"']?([^\s'\"$][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "xfreerdp cmdkey mstsc runas",
        r"(?i)\b(?:xfreerdp|cmdkey|mstsc)\b[^\n|;]{0,200}?\s/p(?:ass)?:[\"']?([^\s'\"%$][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "net",
        r"(?i)\bnet\s+user\s+[\w.-]{1,60}\s+([^\s/*]{3,100})\s+/add\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "convertto-securestring",
        r"(?i)\bconvertto-securestring\s+(?:-string\s+)?[\"']([^\"'\n$]{3,200})[\"']",
        1,
        check="shown",
    ),
    rule(
        "device_password",
        "secret password",
        r"(?i)\b(?:secret|password)\s+[05789]\s+([^\s\"']{6,100})",
        1,
        check="password",
    ),
    rule(
        "wireless_password",
        "psk wpa",
        r"(?i)\b(?:psk|wpa_passphrase|wpa-psk|pre-?shared-?key)(?:\s*[=:]\s*|\s+)(?:(?:ascii-text|local|remote)\s+)?"
        r"[\"']([^\"'\n]{8,63})[\"']",
        1,
        check="word",
    ),
    rule("wireless_password", "psk", r"\bpsk\s*=\s*([0-9a-f]{64})\b", 1),
    rule(
        "pgpass_password",
        ":5432: :5433: :5439: :6432: :*:",
        r"(?m)^[\w.*-]{1,100}:(?:[0-9]{4}|\*):[\w*-]{1,60}:[\w.@-]{1,60}:([^\s:]{3,100})[ \t\r]*$",
        1,
        check="shown",
    ),
    rule(
        "password_hash",
        "{sha} {ssha} {ssha512} {crypt} {md5} {smd5}",
        r"(?i)\{(?:S?SHA(?:256|512)?|S?MD5)\}[A-Za-z0-9+/]{20,120}={0,2}",
    ),
)
