"""Passwords, keys and codes that people tell in other languages than English, and what a Secret of
Kubernetes holds: masked, where what resembles them stays byte for byte."""

import pytest

from weft.secrets.scanning import as_shown

SENTENCES = [
    ("Das WLAN-Passwort lautet Sonnenblume-88-Kreis, bitte nicht weitergeben.", "Sonnenblume-88"),
    ("Mein neues Kennwort: Kastanie-4711-Baum", "Kastanie-4711"),
    ("Hier der Zugang: Benutzer admin, Passwort Eichel_993", "Eichel_993"),
    ("Le mot de passe du compte admin est Tournesol!2024, change-le.", "Tournesol!2024"),
    ("le mdp c'est Noisette_55 pour le wifi", "Noisette_55"),
    ("La contraseña del servidor es Girasol_4471 y el usuario es root.", "Girasol_4471"),
    ("a senha do banco de dados é Girassol#5520, ok?", "Girassol#5520"),
    ("la password del NAS è: Margherita-31x", "Margherita-31x"),
    ("Het wachtwoord voor de server is Walnoot-3391.", "Walnoot-3391"),
    ("Lösenordet är Hasselnot_12", "Hasselnot_12"),
    ("Adgangskoden er Bog_nodder7", "Bog_nodder7"),
    ("Salasana on Pahkina-771", "Pahkina-771"),
    ("Hasło do panelu to Slonecznik77! Nie zmieniaj go.", "Slonecznik77"),
    ("heslo k databázi je Orech_8812", "Orech_8812"),
    ("Sunucunun şifresi: Findik_2211", "Findik_2211"),
    ("Mật khẩu wifi là Hatdieu_331", "Hatdieu_331"),
    ("Пароль от роутера: podsolnuh-19-KL", "podsolnuh-19"),
    ("ПАРОЛЬ: podsolnuh-19-KL", "podsolnuh-19"),
    ("Пароль до пошти — Gorih_3317", "Gorih_3317"),
    ("管理者のパスワードは himawari-7781 です。", "himawari-7781"),
    ("数据库密码是 Xiangrikui_889，别告诉别人", "Xiangrikui_889"),  # noqa: RUF001
    ("管理员密码：Hetao#6631。", "Hetao#6631"),  # noqa: RUF001
    ("관리자 비밀번호는 Hodu_5519 입니다", "Hodu_5519"),
    ("Der API-Schlüssel lautet a81fQ2c4tR9vB7nL1pZ6", "a81fQ2c4tR9vB7nL1pZ6"),
    ("la clé API est a81fQ2c4tR9vB7nL1pZ6", "a81fQ2c4tR9vB7nL1pZ6"),
    ("APIキーは a81fQ2c4tR9vB7nL1pZ6 です", "a81fQ2c4tR9vB7nL1pZ6"),
    ("Ihr Bestätigungscode lautet 482913", "482913"),
    ("Tu código de verificación es 482913", "482913"),
    ("認証コードは 483920 です", "483920"),
    ("creds for the ftp: deploy / Kx92-mvbQ-plum", "Kx92-mvbQ-plum"),
    ("the pw for prod db = Badaam_77x dont share", "Badaam_77x"),
    ("Your backup codes:\n1. 4821-9937\n2. 1175-3308", "1175-3308"),
    ('panic: dial failed: dsn="app:Macadamia_4@tcp(db:3306)/shop"', "Macadamia_4"),
    ("DRIVER={ODBC Driver 18};SERVER=x;UID=sa;PWD={Zeder;9!x}", "Zeder;9!x"),
    (
        '{"type":"random_password","instances":[{"attributes":{"length":20,"result":"uJ7!fP2#kL9@x"}}]}',
        "uJ7!fP2#kL9@x",
    ),
]
MANIFESTS = [
    ("kind: Secret\nmetadata:\n  name: m\nstringData:\n  smtp: hG5-kkq2-Roll\n", "hG5-kkq2-Roll"),
    (
        "apiVersion: v1\ndata:\n  db: SGFzZWxudXNz\nkind: Secret\nmetadata:\n  name: x",
        "SGFzZWxudXNz",
    ),
    ("- kind: Secret\n  data:\n    a: QQ==\n    db: SGFzZWxudXNz\n", "SGFzZWxudXNz"),
    ('{"data":{"cfg":"cHJldHR5LXNl","ca.crt":"QUJD"},"kind":"Secret"}', "cHJldHR5LXNl"),
]
HARMLESS = [
    "Das Passwort für user_4711 ist abgelaufen.",
    "La contraseña de user_4711 no es válida.",
    "Le mot de passe de cmd_8812 est expiré.",
    "密码必须包含8位以上字符",
    "パスワードは8文字以上です",
    "비밀번호는 8자 이상이어야 합니다",
    "Hasło musi mieć 8 znaków",
    "Пароль должен содержать 8 символов",
    "La clave primaria es order_id2",
    "El código de reserva es ZFA04Y",
    "Ihr Buchungscode lautet HATHAT",
    "Kundennummer ist K4471192",
    "订单号是 W1204827",
    "予約番号は HATHAT です",
    "Номер заказа: W1204827",
    "reset the password of the account linked to user_4711",
    "Change the password for the user on host_7781, is it done?",
    "passwords were hashed with the default pbkdf2:sha256 method",
    "Please show the password policy of the tenant to admin_4711",
    "login: deploy failed at 12:31",
    "credentials: see vault path kv/data/app1",
    "backup code path: scripts/backup_v2.py",
    "secretRef: db-cred-7781",
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  mode: fast-2024x\n  level: debug1",
    "kind: Secret\nmetadata:\n  name: db-cred-7781\n  namespace: prod",
    "kind: Secret\nstringData:\n  username: mailer77\n  host: db-7.internal\n",
    "kind: ConfigMap\ndata:\n  mode: fast-2024x\n---\nkind: Secret\nmetadata:\n  name: x\n",
]


@pytest.mark.parametrize(("text", "value"), SENTENCES + MANIFESTS)
def test_what_is_told_is_masked_and_stays_so(text: str, value: str) -> None:
    shown = as_shown(text)
    assert value not in shown
    assert "[secret:" in shown
    assert as_shown(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_resembles_it_stays_as_it_is(text: str) -> None:
    assert as_shown(text) == text
