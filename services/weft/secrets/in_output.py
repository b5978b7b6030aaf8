"""Credentials in what programs print and store: the log of an installer, a command's output, a jar
of cookies, a property list. Every pattern is for RE2."""

from __future__ import annotations

from weft.secrets.in_context import KEY
from weft.secrets.rule import SecretRule, rule

IN_OUTPUT: tuple[SecretRule, ...] = (
    rule(
        "xml_secret",
        "</key>",
        rf"(?i)<key>[\w .:-]{{0,60}}{KEY}</key>\s*<string>\s*([^<>\s]{{4,600}})\s*</",
        1,
        check="password",
        named=True,
    ),
    rule(
        "form_secret",
        ["%22%3a", "%22:", "&quot;:", "&quot; :", "&#34;:"],
        rf"(?i)(?:%22|&quot;|&#34;)[\w.-]{{0,40}}{KEY}(?:%22|&quot;|&#34;)\s?(?::|%3a)"
        r"(?:\s|%20|\+)?(?:%22|&quot;|&#34;)([^\s\"'<>&%]{4,600})(?:%22|&)",
        1,
        check="password",
        named=True,
    ),
    rule(
        "told_password",
        [
            f"{word} {end}"
            for word in ("temporary", "generated", "initial", "bootstrap")
            for end in ("password", "root", "admin", "security", "user")
        ],
        # what an installer writes into its log, at the end of a line
        r"(?im)\b(?:temporary|generated|initial|bootstrap)\s(?:\w{1,20}\s){0,2}password\b[^\n:]{0,80}"
        r":[ \t]+[\"'`]?([^\s\"'`]{6,100})(?:[\"'`]|[ \t\r]*$)",
        1,
        check="password",
    ),
    rule(
        "told_password",
        [
            "password changed",
            "password reset",
            "password set",
            "password was",
            "password has been",
            "new value:",
        ],
        r"(?im)\bpassword\b[^\n:]{0,60}\b(?:changed|reset|set)\b[^\n:]{0,40}"
        r"(?::[ \t]+|\n[ \t]*new value:[ \t]*)[\"'`]?([^\s\"'`]{6,100})(?:[\"'`]|[ \t\r]*$)",
        1,
        check="password",
    ),
    rule(
        "told_password",
        [
            "password for the",
            "enrollment token",
            *(
                f"{word}:{end}"
                for word in ("password", "passphrase", "token", "key")
                for end in ("\n", " \n", "\r", " \r")
            ),
        ],
        # alone on the next line
        r"(?im)\b(?:password|passphrase|(?:enrollment|api|access|secret|private|auth|join|license) "
        r"(?:token|key))\b[^\n]{0,120}:[ \t\r]*\n[ \t\r\n]{0,40}([A-Za-z0-9+/=*_~!@#%^&-]{12,400})"
        r"[ \t\r]*(?:$|\")",
        1,
        doubtful=True,
        check="shown",
        named=True,
    ),
    rule(
        "printed_password",
        [
            "initialadminpassword",
            "initial-password",
            "initial-admin-password",
            "admin.password",
            "admin_password",
            "master.key",
            "get secret",
        ],
        # what a command prints that names the secret
        r"(?im)(?:\bcat[ \t][^\n]{0,200}?(?:initial-?admin-?password|admin[._]password|master\.key)"
        r"|[ \t]initial-password\b|\bget[ \t]+secrets?[ \t][^\n]{0,200}?data[\w.\\-]{0,60}"
        r"(?:password|token|secret|key))[^\n]{0,80}\n"
        r"([A-Za-z0-9+/=_!@#%^&*-]{12,300})[ \t\r]*(?:$|\")",
        1,
        doubtful=True,
    ),
    rule(
        "told_secret",
        ["unseal key", "recovery key"],
        r"(?i)\b(?:unseal|recovery) key [0-9]{1,2}:[ \t]*([A-Za-z0-9+/]{40,100}={0,2})",
        1,
    ),
    rule(
        "told_secret",
        ["secretid", "secret id", "secret_id_accessor"],
        # Consul and Nomad; Vault's AppRole
        r"\b(?:Secret ?ID[\"']?[ \t]{0,20}[:=]|secret_id\b)[\s:=\"']{0,20}"
        r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b",
        1,
    ),
    rule(
        "cookie",
        ["\ttrue", "\tfalse"],
        # the file of cookies that curl and wget write
        r"(?m)(?:^|\")[^\s\"]{1,255} ?\t(?:TRUE|FALSE) ?\t\S{1,255} ?\t(?:TRUE|FALSE) ?\t"
        r"[0-9]{1,20} ?\t\S{1,255} ?\t([^\s\"]{16,1000})",
        1,
        doubtful=True,
    ),
    rule(
        "cookie",
        ['"domain"', '"domain "'],
        # what browsers' drivers store
        r"\"name ?\":\s{0,40}\"[^\"\n]{1,255}\",\s{0,40}\"value ?\":\s{0,40}\"([^\"\n]{16,1000})\","
        r"\s{0,40}\"domain ?\":",
        1,
        doubtful=True,
    ),
    rule(
        "one_time_code",
        [" is your"],
        r"(?i)\b([0-9]{4,8})\s+is\s+your\s+(?:[\w'-]{1,30}\s+){0,4}?"
        r"(?:verification|security|one[- ]time|log-?in|sign-?in|confirmation|authenti\w{2,12})"
        r"\s+(?:pass)?code\b",
        1,
    ),
)
