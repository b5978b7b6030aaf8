"""Credentials without a format of their own, told by what stands before them: masked in every form
that people and programs write them in, and nothing that only speaks of them."""

import base64
import json
import random
import string

import pytest
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

FORMS = {
    "sentence": "The password is {p}, please change it.",
    "sentence with a name": "The password for the db is {p}.",
    "changed": "I reset your password to {p} today",
    "passphrase": "passphrase was: {p}",
    "quoted word": 'the new password is "{w}"',
    "backticks": "Password: `{w}`",
    "flag": "deploy --password {p} --region eu",
    "flag with sign": "deploy --token={t}",
    "sql": "CREATE USER app IDENTIFIED BY '{w}';",
    "sql role": "CREATE ROLE app WITH LOGIN PASSWORD '{w}';",
    "sql alter": "ALTER USER app WITH ENCRYPTED PASSWORD '{p}'",
    "sql set": "SET PASSWORD FOR 'app'@'%' = '{p}';",
    "curl": "curl -sS -u admin:{p} https://example.com/api",
    "curl long": "curl --user 'admin:{p}' https://example.com/api",
    "mysql": "mysqldump -h db -u root -p{p} shop > shop.sql",
    "sshpass": "sshpass -p '{p}' ssh root@10.0.0.4",
    "redis": "redis-cli -h cache -a {p} ping",
    "netrc": "machine api.example.com\n  login ada\n  password {w}",
    "xml": "<db><user>app</user><password>{w}</password></db>",
    "xml name": "<spring.datasource.password> {p} </spring.datasource.password>",
    "xml token": '<token type="bearer">{t}</token>',
    "xml attribute": '<add key="ApiKey" value="{t}" />',
    "yaml block": "stringData:\n  password: |\n    {p}\n  user: app",
    "ini": "[client]\nuser = root\npassword = {p}",
    "properties": "spring.datasource.password={p}",
    "env": "export DB_PASSWORD={p}",
    "json": '{{"user": "app", "password": "{p}"}}',
    "escaped json": '"{{\\"password\\": \\"{p}\\"}}"',
    "url": "GET /v1/items?page=2&api_key={t}&sort=name",
    "url token": "https://example.com/cb?access_token={t}#top",
    "url password": "https://example.com/login?user=ada&password={p}",
    "cookie": "Cookie: sid={t}; theme=dark",
    "set-cookie": "Set-Cookie: session={t}; Path=/; HttpOnly",
    "kubeconfig": "    client-key-data: {b}",
    "private key in base64": "key: LS0tLS1CRUdJTiBSU0EgUFJJ{b}",
    "seed phrase": "Your seed phrase is: {m}",
    "mnemonic": 'mnemonic = "{m}"',
    "pin": "The card's PIN is {n}.",
    "one-time code": "Your verification code is {n}",
    "quoted plain word": 'password = "{w}"',
    "setting of a plain word": "db:\n  password: {w}\n  user: app",
    "environment": "DB_PASSWORD={w}\nDB_USER=app",
    "flag of one dash": "-Domain x -Password '{p}'",
    "flag at the start": "--passwd {p}",
    "tls flag": "curl --tlspassword {p} https://example.com",
    "docker login": "docker login -u ada -p {w} registry.example.com",
    "Dockerfile": "ENV DB_PASSWORD {w}",
    "cloud setting": "aws configure set aws_secret_access_key {t}",
    "without a sign": "ssh ada@10.0.0.4 password {x}",
    "in brackets": "ada@10.0.0.4 (pw:{x})",
    "short name": "PW: {x}",
    "said behind": "{x} is the password",
    "sql with a plugin": "ALTER USER 'a'@'b' IDENTIFIED WITH native BY '{w}';",
    "sql unquoted": "ALTER USER app IDENTIFIED BY {x};",
    "sql function": "SET PASSWORD FOR 'a'@'b' = PASSWORD('{w}');",
    "default value": 'os.getenv("DB_PASSWORD", "{w}")',
    "defined": "define('db_password', '{w}');",
    "comparison": 'if password == "{w}":',
    "connection string": "Server=db;User Id=sa;Password={w};",
    "entry": '<entry key="db.password">{w}</entry>',
    "attribute": '<property name="password" value="{w}"/>',
    "hash": "ada:$apr1$l0cpzs5a${h}",
    "token without a sign": "use the access token {t} there",
    "key of a service": "GITLAB_KEY={k}",
    "letters alone": '"api_key": "{k}"',
    "property": "api.key={t}",
    "name in a quoted value": '"password": "{w}Pass"',
    "salts": "define('AUTH_SALT', '{t}(>M%0Vl {t}');",
    "element named pass": '<Pass encoding="base64">{t}</Pass>',
    "recovery codes": "Recovery codes: {c}, {c}",
    "made of a string": 'private String password = new String("{w}");',
    "made from a string": 'let token = String::from("{t}");',
    "with its type": 'password: str = "{w}"',
    "with its type in Rust": 'let api_key: &str = "{t}";',
    "string with a sign": 'NSString *password = @"{w}";',
    "template string": "const apiKey = `{t}`",
    "words": 'passphrase = "{f}"',
    "words with a digit": 'password = "{x} {x}"',
    "in a struct": 'db_password = {{0, "{p}"}};',
    "in a list": 'api_key = ["{t}"]',
    "subscript": "$config['db']['password'] = '{w}';",
    "appended": "$apikey[] = '{t}';",
    "binary in YAML": "password: !!binary {t}",
    "setter": 'user.setPassword("{w}");',
    "setter with a name": "account.set_password('ada', '{w}')",
    "setter of a key": 'client.setApiKey("{t}")',
    "log-in": 'new Login("ada@example.com", "{w}")',
    "credentials": 'sender.Credentials = new NetworkCredential("ada", "{w}");',
    "authentication": "requests.get(url, auth=('ada', '{w}'))",
    "connect": 'mysqli_connect("localhost", "root", "{w}", "shop")',
    "directory": 'new DirectoryEntry("LDAP://x.example",\n  "ada",\n  "{p}");',
    "property of a call": 'props.setProperty("db.password", "{w}");',
    "environment of a call": 'env.put(Context.SECURITY_CREDENTIALS, "{p}");',
    "pair in a list": '["user", "ada", "password", "{x}9"]',
    "pair of a key": "buildConfigField 'String', 'API_KEY', '\"{t}\"'",
    "without a sign, in quotes": 'private_key "{t}";',
    "connection": "Server=db;Uid=ada;Database=shop;Pwd={w};",
    "connection of libpq": "host=db user=ada password={w} dbname=shop",
    "Oracle": "sqlplus ada/{w}@orcl",
    "JDBC of Oracle": "jdbc:oracle:thin:ada/{p}@//db:1521/x",
    "told in single quotes": "The default password is '{w}'",
    "told for a user": "the password for user 'ada' is '{w}'",
    "told in columns": "Ldap password       ----   {p}",
    "under a comment": "# GitHub personal access token\nVALUE = '{t}'",
    "remote command": "psexec \\\\10.0.0.4 -u ada -p {w} cmd",
    "personal token": 'ado_pat = "{t}"',
    "crumb": "-H 'Jenkins-Crumb:{t}'",
    "short bearer": "Authorization: Bearer {x}.{n}",
    "shared key": "PresharedKey = {t}",
    "key of another service": "LINKEDIN_KEY = '{t}'",
    "secret behind a dash": "its secret - '{t}'",
    "words and a secret in an element": "<secret>of ada {t}</secret>",
    "long number of a token": "some_token = '{n}{n}{n}{n}{n}{n}'",
    "chpasswd": "echo 'ada:{w}' | sudo chpasswd",
    "sudo": "echo {p} | sudo -S apt update",
    "htpasswd": "htpasswd -bc .htpasswd ada {w}",
    "smbclient": "smbclient //files/x -U ada%{w}",
    "ldapsearch": "ldapsearch -x -D cn=ada -w {p}",
    "mongo": "mongosh --host db -u ada -p {x}",
    "openssl": "openssl rsa -in k.pem -passin pass:{w}",
    "remote desktop": "xfreerdp /u:ada /p:{p} /v:host",
    "Windows user": "net user ada {w} /add",
    "PowerShell": "ConvertTo-SecureString '{w}' -AsPlainText -Force",
    "switch": "username ada password 7 {k}08",
    "wireless": 'network={{\n  ssid="x"\n  psk="{w}"\n}}',
    "pgpass": "db.example.com:5432:shop:ada:{w}",
    "directory's hash": "userPassword: {{SSHA}}{k}{k}0=",
    "new password of a change": '{{"changePassword": "{p}", "upload_secret": "{t}"}}',
    "name and password in base64": "_auth = YWRhOm{z}",
    "a user with an at": "https://ada@example.com:{x}@git.example.org/",
    "example of a password": "<Pass>Example{x}</Pass>",
    "Maven's master password": "<master>{{{t}{k}=}}</master>",
    "token without a signature": "eyJhbGciOiJub25lIn0.eyJ{t}",
    "key with a comment behind": 'token = "{t}" # of ada',
    "name and value": "env:\n- name: DB_PASSWORD\n  value: {p}\n- name: REGION\n  value: eu",
    "value and name": "env:\n- name: REGION\n  value: eu\n- value: {t}\n  name: DB_PASSWORD",
    "members": '[{{"key": "password", "enabled": true, "value": "{w}"}}]',
    "variable with a default": 'variable "db_password" {{\n  type = string\n  default = "{w}"\n}}',
    "parameter": '"adminPassword": {{"type": "securestring", "defaultValue": "{p}"}}',
    "parameter in YAML": "DBPassword:\n  Type: String\n  Default: {w}",
    "whole line": "SECRET_KEY=r&{x}+qq)=x(-!{x}",
    "default of a setting": 'SECRET_KEY = os.getenv("DJANGO", "{t}")',
    "first that there is": 'admin_password = try(each.value.password, "{p}", null)',
    "aligned": 'access_key                = "{k}"',
    "any key of a setting": "export CONSUMER2_KEY={t}",
    "long": 'token = "' + "{t}" * 20 + '"',
    "long without quotes": "AWS_SESSION_TOKEN=" + "{t}/XXXX" * 20,
    "long bearer": "Authorization: Bearer " + "{t}" * 60,
    "parameter of a URL": "https://example.com/a?v=1&oauth_token={t}&sort=name",
    "key in a path": "wss://mainnet.infura.io/ws/v3/{t}",
    "key of a service in an element": '<string name="hockeyapp_key">{t}</string>',
    "key of a service in a call": 'props.set("scaleway-key", "{t}")',
    "name and a quoted word": "database do\n  password '{w}'\nend",
    "PuTTY": "Private-Lines: 1\n{b}\nPrivate-MAC: 00",
    "Docker's configuration": "  .dockerconfigjson: e{b}",
}
SAID = (
    "auth_backend = ldap2server\n",
    "REDIS_KEY = user42profile\n",
    'token: "one two three four"\n',
    '"auth_group": "sales2team9"',
    "The password is required.",
    "Your password was changed yesterday, and the token is invalid.",
    "password is incorrect",
    "hashed_password = generate_password_hash(password)",
    "password = request.form['password']",
    "user.password = data.get('password')",
    "Hash the password using `generate_password_hash` of `werkzeug.security`.",
    "<password>********</password> or <password>${DB_PASSWORD}</password>",
    "curl -u $USER:$PASSWORD https://example.com",
    "mysql -u root -p shop",
    "CREATE USER app IDENTIFIED BY '<password>'",
    "https://example.com/search?key=name&token=next&page=3",
    "PIN code 560001, ZIP code 10115, error code: 500123",
    "pins: 12 of 40, pinned at 2024",
    "the recovery of the phrase took seeds and words from the garden in spring",
    "tool --token TOKEN --password PASSWORD",
    "<title>Password managers compared</title>",
    "password: str = Field(...)\npassword: string\npassword: required\n",
    "hashed_password = argon2.hash_password(password)\npassword = pbkdf2_sha256.hash(x)",
    "const password = userPassword;\npassword = new_password",
    "type User = { password: string; apiKey: string; token: Token }",
    "the password field, the password reset page and the password policy",
    "pw.chromium.launch(); P/W ratio of 12; pw: 12",
    "sort_key=a8f3c1d2e4b5a6c7 and cache_key: 9f8e7d6c5b4a39281706",
    "issue key PROJ-1234, primary key 8842, foreign key user_id",
    "-p 8080:80 --path /tmp/x1 --pattern a1b2c3 --page 2",
    "create user ada with role admin in project p1",
    "a secret place 12 miles away, a token of 3 letters",
    "The token is used by the parser to split the text into words.",
    'Reset a user password", "id": "admin.users.reset"',
    "password = 'Enter your new password'\npassphrase: 'Words you can remember'",
    '{"password": "The password of the account", "token": "a string"}',
    "class Token:\n    private_key: SSHPrivateKeyTypes\n    api_key: ApiGatewayApiKey",
    "if pass_zero == 'lowpass' and quadratic_pattern == 'a2*_symbol**2':",
    '{"AWS::IAM::AccessKey": "72c2d9dd90025459"}',
    "tokens = tokendefs[ctx.stack[-1]]; auth = authorization[1].encode()",
    "credentials = '{0}:{1}'.format(user, password)",
    '_token = "[a-zA-Z0-9-!#$%&\'*+.^_`|~]+"',
    "add_password('a realm', url, user, password)\nadd_credentials('root', None)",
    "hasattr(passwords, 'is_authenticated') and Buffer.from(password, 'utf8')",
    "json.dumps({'security-credentials': {'default-role': credentials}})",
    "# get the token\nmodel = 'distilbert-base-uncased-finetuned-sst-2-english'",
    "encryptionKey: arn:aws:kms:us-west-2:123456789012:alias/aws/s3",
    "super().__init__(_enforce_credentials=_enforce_credentials)",
    "PASSWORD=changeme TOKEN=<your-token> SECRET={{ secret }} API_KEY=%API_KEY%",
    "login('Username', 'Password'); connect(host, 'user', 'password')",
    "rule 'psk' and 'pass' of net user groups; az login -p 8080; a secret 5 of spades",
    "main.py:1234:name:other:text and 10:5432:shop",
    "password: example-password, token = 'dummy', secret: a.placeholder",
    "SECRET_KEY = 'secret_key'; PASSWORD = '****'",
    '{"password": "Passord", "one_time_password": "Engangskode:", "new_password": "Contraseña"}',
    '<input type="password" name="password"><br>\n<input type="submit" value="Login">',
    '[{"name": "password", "type": "string"}, {"name": "city", "value": "Ljubljana"}]',
    'variable "password" {\n  type = string\n}\nvariable "city" {\n  default = "Ljubljana7"\n}',
    "secret:\n  name: tls\nvalue: a8f3c1d2e4b5a6c7d8",
    "password = decrypt(path, 'a.gpg')\npassword = prompt('Name', 'Ljubljana')",
)
WELL_KNOWN = ("password: root", "DB_PASSWORD=1234", '"password": "admin"', "MasterPassword: guest")


@pytest.mark.parametrize("text", WELL_KNOWN)
def test_a_short_password_that_everybody_tries_is_masked_as_a_setting(text: str) -> None:
    assert "[secret:password:" in seen(f"before\n{text}\nbehind")


def made(rng: random.Random) -> dict[str, str]:
    letters, signs = string.ascii_letters + string.digits, "!#%+@^"
    words = ["river", "candle", "orbit", "maple", "ticket", "velvet", "hammer", "sunset", "engine"]
    code = "".join(rng.choices(string.hexdigits.lower()[:16], k=5))
    return {
        "p": "".join(rng.choices(letters, k=7)) + rng.choice(signs) + str(rng.randint(10, 99)),
        "w": rng.choice(words) + rng.choice(words),
        "t": "".join(rng.choices(letters, k=20)) + "7aQ" + str(rng.randint(100, 999)),
        "x": "".join(rng.choices(string.ascii_letters, k=6)) + str(rng.randint(10, 99)),
        "h": "".join(rng.choices(letters + "./", k=22)),
        "k": "".join(
            rng.choice(string.ascii_uppercase) + rng.choice(string.ascii_lowercase)
            for _ in range(11)
        ),
        "b": "".join(rng.choices(letters + "+/", k=300)),
        "n": str(rng.randint(1000, 9999)),
        "m": " ".join(rng.choices(words, k=12)),
        "c": f"{code}-{code[::-1]}1",
        "z": base64.b64encode(rng.choice(words).encode() * 2).decode(),
        "f": " ".join(rng.choices(words, k=4)),
    }


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 1_000).text


@pytest.mark.parametrize("name", FORMS)
def test_a_credential_is_masked_in_this_form(name: str) -> None:
    rng = random.Random(name)
    for _ in range(20):
        values = made(rng)
        text = f"Something before it.\n{FORMS[name].format(**values)}\nand after it."
        shown = seen(text)
        for letter, value in values.items():
            if f"{{{letter}}}" in FORMS[name]:
                assert value not in shown, shown
        assert shown.startswith("Something before it.\n")
        assert shown.endswith("\nand after it.")


@pytest.mark.parametrize("value", ["4829105736284910", "kwjdhqpzmvbn"])
def test_digits_or_letters_alone_are_a_key_only_if_the_name_means_nothing_else(value: str) -> None:
    for name in ("api_key", "client_secret"):
        assert value not in seen(f"{name} = {value}\n")
    assert value in seen(f"shared_key = {value}\n")


@pytest.mark.parametrize("text", SAID)
def test_what_only_speaks_of_it_stays(text: str) -> None:
    assert seen(text) == text


CURSORS = (
    "aws dynamodb scan --starting-token {t}",
    "aws waf update-web-acl --change-token {t} --updates x",
    "<ListBucketResult><NextContinuationToken>{t}</NextContinuationToken></ListBucketResult>",
    '<add key="PaginationToken" value="{t}"/>',
    'request.setNextToken("{t}")',
    '["NextToken", "{t}"]',
    '{{"LockToken": "{t}", "LifecycleActionToken": "{t}", "nextPageToken": "{t}"}}',
    "https://example.com/items?page_token={t}&cursor={t}",
    "the next token {t} is for the following page",
    "scroll_token: {t}\nidempotency_key: {t}\nclient-request-token={t}",
    '{{"name": "nextToken", "value": "{t}"}}',
    "- name: IMAGE_TAG\n  value: {t}\n- value: {t}\n  name: OBJECT_ID",
    "PRIMARY_KEY={t}\nSORT_KEY={t}\nRECAPTCHA_SITE_KEY={t}",
    'key "sort_key" {{\n  default = "{t}"\n}}',
    "https://example.com/a?sync_token={t}&next_page_token={t}",
    '{{"booking_token": "{t}", "reservationToken": "{t}", "hold_token": "{t}", "rate_key": "{t}"}}',
    'room_book({{"booking_token": "{t}", "offerKey": "{t}"}})',
    "PolicyUpdateToken: {t}\ndeparture_token: {t}\nquote_token: {t}\nfare_key: {t}\ncart_token={t}",
    "https://example.com/rooms?rate_key={t}&property_token={t}&$skiptoken={t}&deltaToken={t}",
    '{{"users_page_token": "{t}", "accountsNextPageToken": "{t}", "lease_token": "{t}"}}',
    "https://example.com/a?idempotency_key={t}&partition_key={t}&last_evaluated_key={t}",
)


@pytest.mark.parametrize("text", CURSORS)
def test_what_the_next_call_is_made_with_stays(text: str) -> None:
    rng = random.Random(text)
    for _ in range(20):
        sentence = text.format(**made(rng))
        assert seen(sentence) == sentence


OPENING = """
access_token refresh_token api_key client_secret csrf_token session_token id_token auth_token
bearer_token reset_token user_token device_token payment_token room_token deploy_token token
page_access_token FB_PAGE_ACCESS_TOKEN next_auth_secret cursor_api_key CURSOR_API_KEY
booking_api_key booking_access_token flight_session_token offer_client_secret booking_token_secret
page_session_token oauth_request_token booking_secret BOOKING_TOKEN RATE_TOKEN search_user_token
booking_partner_token offer_magic_token hold_sas_token slot_otp_token rate_limiter_token
bookingSystemToken delta_sharing_token vault_lease_admin_token booking_token_private_key
page_token_private_key DELTA_TOKEN
"""


@pytest.mark.parametrize("name", OPENING.split())
@pytest.mark.parametrize("value", ["bk-91e0-77", "{t}"])
def test_what_opens_something_is_masked_whatever_it_looks_like(name: str, value: str) -> None:
    value = value.format(**made(random.Random(name)))
    for text in (f'{{"{name}": "{value}"}}', f"{name}={value}\n", f'call({{"{name}":"{value}"}})'):
        assert value not in seen(text)


@pytest.mark.parametrize(
    "name", ["PRODUCT_KEY", "UPLOAD_KEY", "REQUEST_KEY", "LOCK_KEY", "TASK_KEY"]
)
def test_a_setting_in_capitals_that_ends_in_key_is_masked(name: str) -> None:
    value = "VK7JG-NPHTM-C97JM-9MPGT-3V66T"
    for text in (f"{name}={value}\n", f'{{"{name}": "{value}"}}', f"{name}: {value}\n"):
        assert value not in seen(text)


SECRETS = "AZURE_STORAGE_PRIMARY_KEY COSMOS_PRIMARY_KEY FB_PAGE_TOKEN"
HANDLES = "PRIMARY_KEY PAGE_TOKEN NEXT_PAGE_TOKEN NEXT_SYNC_TOKEN PARTITION_KEY"


@pytest.mark.parametrize("name", [*SECRETS.split(), *HANDLES.split()])
def test_a_setting_in_capitals_is_a_handle_only_if_all_its_words_say_so(name: str) -> None:
    value = made(random.Random(name))["t"]
    for text in (f"{name}={value}\n", f'{{"{name}": "{value}"}}'):
        assert (value in seen(text)) is (name in HANDLES.split())


FOR_SOMETHING = """
server.ssl.key-store-password spring.kafka.ssl.trust-store-password javax.net.ssl.keyStorePassword
REDIS_CACHE_PASSWORD CACHE_REDIS_PASSWORD STRIPE_ENDPOINT_SECRET endpointSecret SESSION_STORE_SECRET
FILE_ENCRYPTION_KEY FIELD_LEVEL_ENCRYPTION_KEY URL_SIGNING_KEY storePassword keystorePass
MODEL_PROVIDER_TOKEN VAULT_POLICY_TOKEN USER_MANAGER_PASSWORD PUBLIC_DB_PASSWORD LEVEL3_PASSWORD
NAME_SERVER_PASSWORD RESET_PASSWORD userNamePassword MAX_DB_PASSWORD hive.metastore.password
"""
SAYS_WHERE = """
password_file password-path passwordUrl token_type secret_name secretArn max_tokens prompt_tokens
MAX_OUTPUT_TOKENS token_limit tokenCount auth_method public_key file_token name_key key_id
authDomain auth_user authored-by authentication_backend password_changed_at passwordUpdatedAt
pwdLastSet lastPasswordChangeDateTime password_last_changed_time token_cache_key_id
"""


@pytest.mark.parametrize("name", [*FOR_SOMETHING.split(), *SAYS_WHERE.split()])
def test_a_word_says_that_it_is_no_secret_only_behind_the_telling_one(name: str) -> None:
    value = "Qw8zLp3xVt9bRk2m"
    for text in (f"{name}={value}\n", f'{{"{name}": "{value}"}}'):
        assert (value in seen(text)) is (name in SAYS_WHERE.split())


@pytest.mark.parametrize("name", ["password_changed_at", "passwordUpdatedAt", "pwdLastSet"])
def test_when_a_password_was_changed_stays(name: str) -> None:
    for time in ("1704067200", '"2024-01-01T10:00:00Z"', '"133497600000000000"'):
        text = f'{{"{name}": {time}}}'
        assert seen(text) == text


@pytest.mark.parametrize("name", ["booking_token_signing_key", "offerTokenEncryptionKey"])
def test_a_key_that_makes_tokens_of_offers_is_masked(name: str) -> None:
    value = made(random.Random(name))["t"]
    assert value not in seen(f'{{"{name}": "{value}"}}')


ALONE = (
    "sk_062a30c2-c681-4ae7-9521-9e7eb84478c3",
    "sk_sbox_" + "23t3lfdls2s2yytgb6jhvv4szm6",
    "sk_1da939ade2c7d213" + "ca1eb892ac24ffe5",
    "AVNS_XSuA-UhY_8l7n4q",
    "SG.ZXhhbXBsZVNlbmRncmQx.EHl6QWJjRGVmR2hpSktMbU5vcFFS",
    "CFPAT-PI4L1bXAJwgRvjU_cvLmegPC8",
    'password = "mySecretPassword789"',
)


@pytest.mark.parametrize("text", ALONE)
def test_a_key_is_known_by_its_prefix_alone(text: str) -> None:
    assert "[secret:" in seen(text)


@pytest.mark.parametrize(
    "text",
    [
        "sk_order-2024-11-24-customer-77",  # a sort key
        "cus_NffrFeUfNV2Hib pi_3MtwBwLkdIwHu7ix28a3tqPa call_9b1deb4d3b7d4bad9bdd2b0d",
        "toolu_01A09q90qw90lq917835lq9 run_abc123def456ghi789jkl012 desk_0123456789abcdef01234567",
        'password = "my-secret-password"',
    ],
)
def test_what_has_another_prefix_is_an_id(text: str) -> None:
    assert seen(text) == text


@pytest.mark.parametrize("name", ["sentence", "curl", "sql", "flag"])
def test_it_is_masked_in_a_string_of_json_too(name: str) -> None:
    values = made(random.Random(name))
    text = json.dumps({"log": "first\n" + FORMS[name].format(**values) + "\nlast"})
    shown = seen(text)
    assert not any(value in shown for value in values.values())
    assert "last" in json.loads(shown)["log"]
