"""Credentials without a format of their own, recognised by the text before them: a clause of SQL,
an element, a header, a sentence. Every pattern is for RE2."""

from __future__ import annotations

from weft.secrets.published import SERVICES
from weft.secrets.rule import SecretRule, rule

KEY = (
    r"(?:passw(?:or)?d|passwd|pwd|passphrase|secret|(?:access|auth|api|refresh|bearer)?[_-]?token"
    r"|api[_-]?key|access[_-]?key|client[_-]?secret|private[_-]?key|secret[_-]?key)"
)
_VALUE = r"[^\s\"'`<>,;]"

IN_CONTEXT: tuple[SecretRule, ...] = (
    rule(
        "sql_password",
        "identified",
        r"(?i)\bidentified\s+(?:with\s+\S{1,60}\s+)?(?:by|as)\s+"
        r"(?:(?:password|values)\s+)?[\"']([^\"'\n]{1,200})[\"']",
        1,
        check="shown",
    ),
    rule(
        "sql_password",
        "password",
        r"(?i)\b(?:with|encrypted|set|user|role|login)\s+password\s*"
        r"(?:=\s*|for\s+[^=\n]{1,80}=\s*)?[\"']([^\"'\s,:;][^\"'\n]{0,199})[\"']",
        1,
        check="shown",
    ),
    rule(
        "sql_password",
        "identified",
        r"(?i)\bidentified\s+by\s+([^\s\"'`;,()\\]{4,200})",
        1,
        check="mixed",
    ),
    rule(
        "sql_password",
        "password",
        r"(?i)\b(?:create|alter)\s+(?:user|role|login)\s+\S{1,80}\s+(?:with\s+)?(?:login\s+)?"
        r"(?:encrypted\s+)?"
        r"password\s+[\"']?([^\s\"'`;,()\\]{4,200})",
        1,
        check="mixed",
    ),
    rule(
        "sql_password",
        "password",
        r"\bPASSWORD\s*\(\s*[\"']([^\"'\n]{1,200})[\"']\s*\)",
        1,
        check="shown",
    ),
    rule(
        "default_password",
        "getenv get( define( setdefault(",
        r"(?i)(?:getenv|\bget|\bdefine|setdefault|env)\(\s*[\"'][\w.-]{0,40}(?:password|passwd|pwd"
        r"|passphrase|secret|token|api_?key)\w{0,8}[\"']\s*,\s*[\"']([^\"'\s]{4,300})[\"']",
        1,
        check="word",
        named=True,
    ),
    rule(
        "assigned_secret",
        "define(",
        r"\bdefine\(\s*'[A-Z_]{2,40}_(?:KEY|SALT)'\s*,\s*'([^'\n]{32,200})'",
        1,
    ),
    rule(
        "xml_password",
        "</",
        r"(?i)<(?:[\w.-]{1,40}[:._-])?(?:\w{0,20}(?:password|passwd|pwd|passphrase)|pw|pass)(?:\s[^<>]{0,200})?>"
        r"\s*([^<>\s][^<>\n]{1,300}?)\s*</",
        1,
        check="word",
    ),
    rule(
        "xml_password",
        "</master>",
        r"<master>\s*\{([A-Za-z0-9+/=]{20,200})\\?\}\s*</master>",
        1,
    ),
    rule(
        "xml_secret",
        "</",
        rf"(?i)<(?:[\w.:-]{{1,40}})?(?:{KEY}|{SERVICES}_?key)(?:\s[^<>]{{0,200}})?>\s*(?:[^<>]{{0,80}}\s)?"
        r"([^<>\s]{8,600})\s*</",
        1,
        doubtful=True,
        named=True,
    ),
    rule(
        "xml_secret",
        ["value=", *(f"token{end} content=" for end in ('"', "'", ' "', " '"))],
        rf"(?i)\b(?:key|name)= ?[\"'][\w.:-]{{0,60}}{KEY} ?[\"']\s+(?:value|content)= ?"
        r"[\"']([^\"'\n]{4,600})[\"']",
        1,
        check="password",
        named=True,
    ),
    rule(
        "xml_password",
        "value=",
        r"(?i)\b(?:key|name)=[\"'][\w.:-]{0,60}(?:password|passwd|pwd|passphrase)[\"']\s+"
        r"value=[\"']([^\"'\s]{4,300})[\"']",
        1,
        check="word",
    ),
    rule(
        "xml_secret",
        "</",
        rf"(?i)<\w{{1,40}}\s[^<>]{{0,80}}\b(?:key|name)=[\"'][\w.:-]{{0,60}}"
        rf"(?:{KEY}|{SERVICES}[._-]?key)[\"']"
        r"[^<>]{0,80}>"
        r"\s*([^<>\s]{4,600})\s*</",
        1,
        check="word",
        named=True,
    ),
    rule(
        "block_secret",
        "password secret token passphrase private_key",
        rf"(?i)(?:^|\n)[ \t-]*[\w.-]{{0,40}}{KEY}[\"']?:[ \t]*[|>][+-]?\d?[ \t]*\r?\n[ \t]+"
        r"([^\s\n][^\n]{3,600})",
        1,
        check="password",
        named=True,
    ),
    rule(
        "told_password",
        "password passphrase passcode pwd pw",
        r"(?i)\b(?:password|passphrase|passcode|pwd|pw)\s+(?:\w+\s+){0,3}?(?:is|was|to)(?:\s+|:\s*)"
        rf"(?:now\s+|set to\s+)?[\"'`]?({_VALUE}{{4,100}})",
        1,
        check="password",
    ),
    rule(
        "told_password",
        "password passphrase passcode",
        r"(?i)\b(?:password|passphrase|passcode)\s*(?:[\w\"'-]+\s+){0,5}(?:is|was|to|:)\s*"
        r"[\"'`]([^\"'`\s]{4,100})[\"'`]",
        1,
        check="word",
    ),
    rule(
        "told_password",
        "password passwort kennwort passphrase passcode passwd pwd pw",
        r"(?i)\b(?:password|passwort|kennwort|passphrase|passcode|passwd|pwd|pw)s?"
        r"(?:\s{1,4}|\s?\(|\)\s?|\s{1,20}[-=]{1,10}>?\s{1,20}|/)"
        r"(?:\w{1,20}[/:])?[\"'`]?([^\s\"'`<>,;()=:/{}\[\]]{6,100})",
        1,
        check="mixed",
    ),
    rule(
        "told_password",
        "password passwd pwd pw",
        r"(?i)\b(?:password|passwd|pwd|pw)\s+(?:for|of|on|to)\s+(?:[^\s:=]{1,40}\s{1,3}){0,5}?"
        r"\S{1,60}?\s?[:=]\s*[\"'`]?([^\s\"'`<>,;()]{4,100})",
        1,
        check="mixed",
    ),
    rule(
        "told_password",
        "password passphrase",
        r"(?i)([^\s\"'`<>,;()]{6,100})[\"'`]?\s+(?:is|was)\s+(?:the|my|your|our)"
        r"\s+(?:new\s+)?pass(?:word|phrase)\b",
        1,
        check="mixed",
    ),
    rule(
        "told_password",
        "creds credential login zugangsdaten identifiants credencia credenzial",
        r"(?i)\b(?:creds|credentials?|login(?:\s(?:data|details))?|zugangsdaten|identifiants"
        r"|credencia(?:les|is)|credenziali)\b[^\n:=]{0,60}[:=]\s{0,3}[\w.@+-]{2,60}\s{0,2}[/|:]\s{0,2}"
        r"([^\s\"'`<>,;(){}]{6,100})",
        1,
        check="mixed",
    ),
    rule(
        "connection_string",
        "@tcp( @udp( @unix(",
        r"\b[\w.-]{1,60}:([^\s:@\"'`/()\[\]]{3,100})@(?:tcp|udp|unix)\(",
        1,
        check="shown",
    ),
    rule(
        "connection_string",
        ";pwd={ ;password={",
        r"(?i);(?:pwd|password)=\{([^{}\n]{4,200})\}",
        1,
        check="mixed",
    ),
    rule(
        "generated_password",
        "random_password",
        r"random_password\b[^{}]{0,200}[{}\[\]\w\"'\\:,\s=.$/-]{0,800}?\bresult\\?[\"']?\s{0,8}[:=]\s{0,8}"
        r"\\?[\"']([^\"'\n\\]{4,200})\\?[\"']",
        1,
        check="shown",
    ),
    rule(
        "told_secret",
        "secret token key",
        r"(?i)\b(?:[\w-]{0,30}[_-])?(?:secret|token|(?:access|api|secret|auth)[ _-]key)s?"
        r"(?:\s{0,4}[ (]|\s{1,2}[-:]>?\s{1,2})[\"'`]?([A-Za-z0-9+/_.~-]{12,300}={0,2})",
        1,
        doubtful=True,
        named=True,
    ),
    rule(
        "told_secret",
        "heroku snyk postmark jenkins sauce",
        r"(?i)\b(?:heroku|snyk|postmark|jenkins|sauce)[ _.-]?(?:api[ _-]?)?(?:key|token)\W{1,12}"
        r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b",
        1,
        named=True,
    ),
    rule(
        "url_secret",
        "key= token= secret= apikey=",
        r"(?i)[?&](?:[\w.-]{0,30}[_-])?(?:key|api_?key|token|secret|(?:access|auth|id|refresh)token)="
        r"([^\s&\"'<>#\\]{8,600})",
        1,
        doubtful=True,
        named=True,
    ),
    rule(
        "url_secret",
        "infura.io alchemy quiknode.pro ankr.com chainstack openweathermap ifttt.com zapier.com"
        " make.com",
        r"(?i)\b(?:infura\.io/(?:ws/)?v[0-9]/|alchemy(?:api)?\.(?:io|com)/(?:nft/)?v[0-9]/"
        r"|quiknode\.pro/|ankr\.com/\w{1,30}/|chainstack\.com/"
        r"|openweathermap\.org/[^\s\"'<>]{1,200}[?&]appid="
        r"|ifttt\.com/trigger/[\w-]{1,60}/(?:json/)?with/key/|hooks\.zapier\.com/hooks/catch/"
        r"|hook\.[a-z0-9.]{0,10}make\.com/)([A-Za-z0-9_/-]{16,100})",
        1,
        doubtful=True,
    ),
    rule(
        "url_secret",
        "passw pwd=",
        r"(?i)[?&](?:password|passwd|pwd)=([^\s&\"'<>#\\]{3,300})",
        1,
        check="shown",
    ),
    rule(
        "cookie",
        "cookie",
        r"(?i)\b(?:set-)?cookie[\"']?\s{0,2}:\s{0,2}[\"']?[^\r\n=]{1,80}=([^\r\n\"';][^\r\n\"']{7,1000})",
        1,
        doubtful=True,
    ),
    rule(
        "private_key",
        "client-key-data ls0tls1crudjt",
        r"(?i)\bclient-key-data[\"']?:\s{0,4}[\"']?([A-Za-z0-9+/=]{40,})",
        1,
    ),
    rule(
        "docker_auth",
        ".dockercfg .dockerconfigjson",
        r"\.docker(?:cfg|configjson)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
        r"(e[A-Za-z0-9+/]{8,1000}={0,2})",
        1,
    ),
    rule(
        "private_key",
        "ls0tls1crudjt",
        r"\bLS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJ|FQyBQUklW|PUEVOU1NI|FTkNSWVBURUQ|EU0EgUFJJ)"
        r"[A-Za-z0-9+/=]{20,}",
    ),
    rule(
        "seed_phrase",
        "seed mnemonic recovery",
        r"(?i)\b(?:seed|mnemonic|recovery|secret)(?:[ _-](?:phrase|words?|recovery|seed))*[\"']?"
        r"(?:\s+(?:is|are|was))?\s*[:=]?\s*[\"'\[]{0,2}\s*"
        r"((?:(?:[a-z]{3,8}[ ,]+){11,23}|(?:[a-z]{3,8} ?[\"'],\s{0,40}[\"']){11,23}"
        r"|1[.):]\s(?:[a-z]{3,8}[\s,]{1,8}[0-9]{1,2}[.):]\s{1,3}){11,23})[a-z]{3,8})\b",
        1,
    ),
    rule(
        "pin",
        "pin",
        r"\b(?:PIN|pin|Pin)(?:[ _-](?:number|no\.?))?[\"']?\s*(?:is|:|=)\s*[\"']?([0-9]{4,6})\b",
        1,
    ),
    rule(
        "one_time_code",
        "code otp",
        r"(?i)\b(?:verification|security|one[- ]time|log-?in|auth(?:entication)?|2fa|mfa|otp)[ _-]?"
        r"(?:pass)?(?:code|pin)?[\"']?\s*(?:is|:|=)\s*[\"']?([0-9]{4,8})\b",
        1,
    ),
    rule(
        "recovery_codes",
        "recovery backup",
        r"(?i)\b(?:recovery|backup|scratch)[ _-]codes?\b[^\n:=]{0,40}[:=]\s*"
        r"(?:[-*•]\s{1,3}|\(?[0-9]{1,2}[.):]\s{1,3})?[\[\"' ]{0,4}"
        r"([a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,4}"
        r"(?:[-*.,\d)\s\"']{1,8}[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,4}){0,19})",
        1,
    ),
)
