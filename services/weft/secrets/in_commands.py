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
        ["http -a", "https -a", "http --auth", "https --auth"],
        r"\bhttps?[ \t](?:[^\n|;]{0,200}?[ \t])?(?:-a|--auth)[ =][\"']?[^\s:'\"]{1,100}:"
        r"([^\s'\"]{1,200})",
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
        "-pass -pw -token -api -secret _token _password -bearer tlspass -storepass -keypass",
        r"(?i)(?:^|[\s\"'(])--?(?:[a-z][\w-]{0,30}[_-]|tls|store|key)?(?:pass(?:word|wd|phrase)?|pwd?"
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
        "sudo --password-stdin --with-token",
        r"\becho[ \t]+(?:-\w+[ \t]+)?[\"']?([^\s\"'|]{3,300})[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+"
        r"(?:-\w+[ \t]+)*-S\b|[^\n|;]{1,200}?[ \t]--(?:password-stdin|with-token)\b)",
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
        "rabbitmqctl",
        r"\brabbitmqctl\b[^\n|;]{0,100}?[ \t](?:add_user|change_password|authenticate_user)[ \t]+"
        r"(?:--[ \t]+)?[\"']?[^\s'\"-]\S{0,60}[ \t]+[\"']?([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "command_password",
        ["vault login"],
        r"\bvault[ \t]+login[ \t]+(?:-\S{1,80}[ \t]+){0,8}([A-Za-z0-9][\w.-]{15,200})",
        1,
        doubtful=True,
    ),
    rule(
        "command_password",
        ["zip -", "7z ", "7za ", "rar a ", "rar e ", "rar x "],
        r"\b(?:(?:un)?zip\b[^\n|;]{0,200}?[ \t]-P[ \t]{0,2}"
        r"|(?:7z[ar]?|rar|unrar)[ \t]+[a-z]{1,2}[ \t](?:[^\n|;]{0,200}?[ \t])?-h?p)"
        r"[\"']?([^\s'\"$-][^\s'\"]{2,100})",
        1,
        check="shown",
    ),
    rule(
        "cloudflare_token",
        "cloudflared",
        r"\bcloudflared\b[^\n]{0,200}?[ \t=](eyJ[A-Za-z0-9+/_-]{80,1000}={0,2})",
        1,
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
        ["openssl enc"],
        r"\bopenssl[ \t]+enc\b[^\n|;]{0,200}?[ \t]-k[ \t]+[\"']?([^\s'\"$-][^\s'\"]{2,100})",
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
        "device_password",
        "snmp-server radius-server tacacs-server",
        r"(?i)\b(?:snmp-server[ \t]+community|(?:radius|tacacs)-server\b[^\n]{0,120}?[ \t]key)"
        r"[ \t]+(?:[0-9][ \t]+)?[\"']?([^\s\"']{4,100})",
        1,
        check="password",
    ),
    rule(
        "configured_password",
        ["requirepass", "masterauth", "stats auth"],
        r"(?im)(?:^|\")[ \t]*(?:requirepass|masterauth|stats[ \t]+auth[ \t]+[^\s:]{1,60}:)"
        r"[ \t]*[\"']?([^\s\"']{3,200})",
        1,
        check="word",
    ),
    rule(
        "basic_auth",
        ["auth plain"],
        r"\bAUTH PLAIN ([A-Za-z0-9+/]{12,400}={0,2})",
        1,
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
        ":5432: :5433: :5439: :6432: :25060: :25061: :26257: :*:",
        r"(?m)(?:^|\")[\w.*-]{1,100}:(?:[0-9]{4,5}|\*):[\w*-]{1,60}:[\w.@-]{1,60}:([^\s:\"']{3,100})"
        r"(?:[ \t\r]*$|\")",
        1,
        check="shown",
    ),
)
