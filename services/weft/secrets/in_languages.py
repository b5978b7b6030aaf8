"""Passwords, keys and codes in sentences of other languages than English: the word, up to eight
others, a verb or a colon, the value. Every pattern is for RE2, over the bytes of UTF-8: only
ASCII letters match regardless of case, so a word of other letters is matched from its second
letter on."""

from __future__ import annotations

from weft.secrets.rule import SecretRule, rule

_PASSWORD = (
    r"(?:\b(?:passwort|passw(?:o|ö)rter|kennwort|zugangswort|mdp|mot\s{1,2}de\s{1,2}passe"
    r"|contraseña"
    r"|clave\s{1,2}(?:de\s{1,2}acceso|secreta)|senha|palavra-passe|wachtwoord|adgangskode|kodeord"
    r"|passord|salasana|has(?:ł|l)o|heslo|jelszó|parola|parolă|lozinka|geslo|slaptažodis"
    r"|kata\s{1,2}sandi)\w{0,4}|ösenord\w{0,2}|(?:ş|Ş)ifre\w{0,5}|mật\s{1,2}khẩu"
    r"|арол(?:ь|я|ем|ю|ът|ата)?|АРОЛЬ|озинка|ωδικός\s{1,2}πρόσβασης"
    r"|パスワード|暗証番号|密码|密碼|口令|비밀번호|암호|รหัสผ่าน|كلمة المرور|كلمة السر"
    r"|סיסמה|סיסמא|पासवर्ड)"
)
_NEEDLES_OF_PASSWORDS = """
mdp passwort passwört kennwort zugangswort contrase senha palavra-passe wachtwoord adgangskode
kodeord passord salasana hasło haslo heslo jelsz parol lozinka geslo slapta senord ifre
арол АРОЛ озинка ωδικ
パスワード 暗証番号 密码 密碼 口令 비밀번호 암호 รหัสผ่าน كلمة סיסמ पासवर्ड
"""
_PHRASES_OF_PASSWORDS = (
    "mot de passe",
    "clave de acceso",
    "clave secreta",
    "kata sandi",
    "mật khẩu",
)
_KEY = (
    r"(?:\b(?:(?:api|zugriffs|zugangs|geheim)[- ]?schlüssel|zugriffstoken"
    r"|clé\s{1,2}(?:d(?:'|\xe2\x80\x99)?\s?)?(?:api|secrète|privée)"
    r"|jeton\s{1,2}d(?:'|\xe2\x80\x99)accès"
    r"|(?:clave|chave)\s{1,2}(?:(?:de|da)\s{1,2})?(?:la\s{1,2})?(?:api|secreta|privada)"
    r"|chiave\s{1,2}(?:api|segreta|privata)|api-sleutel|klucz\s{1,2}api)"
    r"|люч\s{1,2}api|api-ключ|окен(?:ом)?|apiキー|秘密鍵|アクセスキー|トークン|密钥|密鑰|令牌|비밀키|토큰)"
)
_NEEDLES_OF_KEYS = """
schlüssel zugriffstoken clé jeton clave chave chiave sleutel klucz люч api-ключ окен キー 秘密鍵
トークン 密钥 密鑰 令牌 비밀키 토큰
"""
_CODE = (
    r"(?:\b(?:(?:bestätigungs|sicherheits|anmelde|einmal)code"
    r"|(?:code|código|codice)\s{1,2}(?:de|di)\s{1,2}(?:vérification|sécurité|confirmation"
    r"|verificación|seguridad|confirmación|verificação|segurança|confirmação|verifica|sicurezza|conferma)"
    r"|verificatiecode|(?:código|codice|code)\s{1,2}pin|geheimzahl|PIN)"
    r"|од\s{1,2}подтверждения|ин-код|验证码|驗證碼|認証コード|確認コード|인증번호)"
)
_NEEDLES_OF_CODES = """
gungscode heitscode anmeldecode einmalcode vérification sécurité verificaci seguridad confirmaci
verifica segurança confirma sicurezza conferma verificatiecode pin geheimzahl подтверждения ин-код
验证码 驗證碼 認証コード 確認コード 인증번호
"""
_VERBS = (
    r"ist|lautet|est|était|es|era|é|è|foi|c(?:'|\xe2\x80\x99)est|är|jest|este|это|\xe2\x80[\x93\x94]"
    r"|είναι|là|adalah|คือ|هي|هو|היא|है"
)
_ENGLISH_ELSEWHERE = r"war|is|var|er|on|to|je|-"
"""Verbs that are other words in English: not after a word that is English too."""
_NOW = r"(?:\s{1,3}(?:jetzt|nun|nu|maintenant|ahora|agora|ora|теперь))?\s{0,2}:?\s{1,3}"
_COLON = r"\s{0,3}(?:(?:[:=]|→)\s{1,3}|\xef\xbc[\x9a\x9d]\s{0,3})"
_DIRECTLY = r"\s{0,3}[:=]\s{0,3}"
"""Without a blank after it, a colon counts only right after the word."""
_PARTICLE = r"\s{0,2}(?:は|が|是|为|為|는|은|이)\s{0,3}:?\s{0,3}"
_BETWEEN = r"(?:\s{1,3}[^\s:=,;.!?]{1,40}){0,8}?"
_SAYS = (
    rf"(?:{_BETWEEN}(?:{_COLON}|\s{{1,3}}(?:{_VERBS}|{_ENGLISH_ELSEWHERE}){_NOW}|{_PARTICLE})"
    rf"|{_DIRECTLY})"
)
_SAYS_IN_OTHERS = rf"{_BETWEEN}\s{{1,3}}(?:{_VERBS}){_NOW}"
_OPENS = r"(?:[\"'`]|„|“|«\s?|「|『|《){0,2}"
_VALUE = r"[^\s\"'`<>,;()\xd0-\xdb\xe0-\xef]"
"""A password consists of Latin letters even if the sentence around it does not."""
_PASSWORD_ITSELF = rf"({_VALUE}{{5,99}}[^\s\"'`<>,;()?.:\xd0-\xdb\xe0-\xef])"

IN_LANGUAGES: tuple[SecretRule, ...] = (
    rule(
        "told_password",
        (*_NEEDLES_OF_PASSWORDS.split(), *_PHRASES_OF_PASSWORDS),
        rf"(?i){_PASSWORD}{_SAYS}{_OPENS}{_PASSWORD_ITSELF}",
        1,
        check="mixed",
    ),
    rule(
        "told_password",
        "password",
        rf"(?i)\bpassword{_SAYS_IN_OTHERS}{_OPENS}{_PASSWORD_ITSELF}",
        1,
        check="mixed",
    ),
    rule(
        "told_secret",
        _NEEDLES_OF_KEYS,
        rf"(?i){_KEY}{_SAYS}{_OPENS}([A-Za-z0-9+/_.~-]{{12,300}}={{0,2}})",
        1,
        doubtful=True,
    ),
    rule(
        "one_time_code",
        _NEEDLES_OF_CODES,
        rf"(?i){_CODE}{_SAYS}{_OPENS}([0-9]{{4,8}})\b",
        1,
    ),
)
"""`check="mixed"` for passwords: a word alone, a path or a time is what happens to one."""
