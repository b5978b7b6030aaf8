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
        r"\b(?:mysql\w{0,12}|mariadb[\w-]{0,12})\b[^\n|;]{0,200}?[ \t]-p[\"']?"
        r"([^\s'\"-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "sshpass",
        r"\bsshpass[ \t]+-p[ \t]*[\"']?([^\s'\"]{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "psexec paexec winexe",
        r"(?i)\b(?:psexec|paexec|winexe)\b[^\n]{0,200}?[ \t]-u[ \t]{0,2}\S{1,100}[ \t]+-p"
        r"[ \t]{0,2}[\"']?([^\s'\"%$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "redis-cli",
        r"\bredis-cli\b[^\n|;]{0,200}?[ \t]-a[ \t]+[\"']?([^\s'\"]{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "-pass -pw -token -api -secret _token _password -bearer tlspass",
        r"(?i)(?:^|[\s\"'(])--?(?:[a-z][\w-]{0,30}[_-]|tls)?(?:pass(?:word|wd|phrase)?|pwd?"
        r"|token|bearer"
        r"|api-?key|secret(?:[_-]?(?:key|token))?)[ =][\"']?([^\s'\"-][^\s'\"]{3,300})",
        1,
        check="password",
        named=True,
    ),
    rule(
        "command_password",
        "docker podman helm",
        r"\b(?:docker|podman|helm)\b[^\n|;]{0,40}\blogin\b[^\n|;]{0,200}?[ \t]-p[ =]?[\"']?"
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
        "password_hash",
        "pbkdf2 scrypt",
        r"(?i)\b(?:pbkdf2[_:-](?:hmac[_-])?sha(?:1|256|384|512)|scrypt)(?:[$:][0-9]{1,9}){1,3}"
        r"\$[A-Za-z0-9./+=-]{4,100}\$[A-Za-z0-9./+=-]{20,200}",
    ),
    rule(
        "netrc_password",
        "machine",
        r"\bmachine\s+\S{1,200}\s+login\s+[^\s\"']{1,200}\s+password\s+[\"']?([^\s\"']{1,200})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "chpasswd",
        r"\becho[ \t]+(?:-\w+[ \t]+)?[\"']?[\w.-]{1,60}:([^\s\"'|]{3,100})[\"']?[ \t]*\|[ \t]*"
        r"(?:sudo[ \t]+)?chpasswd\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "sudo",
        r"\becho[ \t]+(?:-\w+[ \t]+)?[\"']?([^\s\"'|]{3,100})[\"']?[ \t]*\|[ \t]*sudo[ \t]+"
        r"(?:-\w+[ \t]+)*-S\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "htpasswd smbclient ldapsearch ldapadd ldapmodify lftp",
        r"\b(?:htpasswd[ \t]+-\w*b\w*[ \t]+(?:\S{1,200}[ \t]+)?\S{1,60}[ \t]+|smbclient\b[^\n"
        r"|;]{0,200}?[ \t]-U[ \t]{0,2}[\"']?[^\s%]{1,60}%"
        r"|ldap(?:search|add|modify)\b[^\n|;]{0,200}?[ \t]-w[ \t]{0,2}|lftp\b[^\n|;]{0,200}?"
        r"[ \t]-u[ \t]{0,2}[^\s,]{1,60},)"
        r"[\"']?([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "mongo mongodump mongosh docker az plink",
        r"\b(?:mongo\w{0,8}|az[ \t]+login|plink|pscp)\b[^\n|;]{0,200}?[ \t]-(?:p|pw)[ =][\"']?"
        r"([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="mixed",
    ),
    rule(
        "command_password",
        "passin passout -pass",
        r"[ \t]-pass(?:in|out)?[ \t]+pass:[\"']?([^\s'\"$][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "xfreerdp cmdkey mstsc runas",
        r"(?i)\b(?:xfreerdp|cmdkey|mstsc)\b[^\n|;]{0,200}?[ \t]/p(?:ass)?:[\"']?"
        r"([^\s'\"%$][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "net",
        r"(?i)\bnet[ \t]+user[ \t]+[\w.-]{1,60}[ \t]+([^\s/*\"']{3,100})[ \t]+/add\b",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        "convertto-securestring",
        r"(?i)\bconvertto-securestring[ \t]+(?:-string[ \t]+)?[\"']([^\"'\n$]{3,200})[\"']",
        1,
        check="shown",
    ),
    rule(
        "device_password",
        "secret password",
        r"(?i)\b(?:secret|password)[ \t]+[05789][ \t]+([^\s\"']{6,100})",
        1,
        check="password",
    ),
    rule(
        "wireless_password",
        "psk wpa",
        r"(?i)\b(?:psk|wpa_passphrase|wpa-psk|pre-?shared-?key)(?:[ \t]*[=:][ \t]*|[ \t]+)(?:"
        r"(?:ascii-text|local|remote)[ \t]+)?"
        r"[\"']([^\"'\n]{8,63})[\"']",
        1,
        check="word",
    ),
    rule("wireless_password", "psk", r"\bpsk[ \t]*=[ \t]*([0-9a-f]{64})\b", 1),
    rule(
        "pgpass_password",
        ":5432: :5433: :5439: :6432: :*:",
        r"(?m)^[\w.*-]{1,100}:(?:[0-9]{4}|\*):[\w*-]{1,60}:[\w.@-]{1,60}:([^\s:\"']{3,100})"
        r"(?:[ \t\r]*$|\")",
        1,
        check="shown",
    ),
    rule(
        "password_hash",
        "{sha} {ssha} {ssha512} {crypt} {md5} {smd5}",
        r"(?i)\{(?:S?SHA(?:256|512)?|S?MD5)\}[A-Za-z0-9+/]{20,120}={0,2}",
    ),
)
