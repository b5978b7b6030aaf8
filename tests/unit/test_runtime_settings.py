"""Settings: read once, every fault at once, secrets never shown."""

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from weft.runtime.settings import MASK, Settings, read_settings
from weft_schemas.errors import ConfigurationError


def test_an_empty_environment_gives_the_defaults():
    assert read_settings({}) == Settings()


def test_variables_become_typed_fields():
    settings = read_settings(
        {"WEFT_HTTP_PORT": "8080", "WEFT_DATA_DIR": "/srv/weft", "WEFT_IDLE_CLOSE_SECONDS": "1.5"}
    )
    assert settings.http_port == 8080
    assert settings.data_dir == Path("/srv/weft")
    assert settings.idle_close_seconds == 1.5


def test_a_commands_argument_goes_before_the_environment():
    environ = {"WEFT_TENANT": "acme", "WEFT_NATS_URL": "nats://a:1"}
    settings = read_settings(environ, tenant="globex", nats_url=None)
    assert (settings.tenant, settings.nats_url) == ("globex", "nats://a:1")


def test_all_faults_are_listed_at_once():
    with pytest.raises(ConfigurationError) as raised:
        read_settings(
            {
                "WEFT_HTTP_PORT": "eighty",
                "WEFT_ENCODING": "p50k",
                "WEFT_NATS_URL": "localhost:4222",
                "WEFT_CREDS": "/nowhere/at/all",
                "WEFT_MEMORY_LANGUAGES": "/nowhere/nl.json",
                "WEFT_TOKEN": "s3cret",
                "WEFT_USER": "ann",
                "WEFT_IDLE_CLOSE_SECONDS": "nan",
                "WEFT_LOG_LEVL": "debug",
                "WEFT_SUMMARY_URL": "localhost:8080/v1",
                "WEFT_SUMMARY_MODEL": "small",
            }
        )
    message = str(raised.value)
    for expected in (
        "WEFT_HTTP_PORT='eighty': not a whole number",
        "WEFT_ENCODING='p50k': give one of o200k_base, cl100k_base, estimate",
        "WEFT_NATS_URL='localhost:4222'",
        "WEFT_CREDS='/nowhere/at/all': no such file",
        "WEFT_MEMORY_LANGUAGES='/nowhere/nl.json': no such file",
        "WEFT_USER and WEFT_PASSWORD: set both or none",
        "WEFT_USER, WEFT_TOKEN: several ways to sign in",
        "WEFT_IDLE_CLOSE_SECONDS='nan': give 0 or more",
        "WEFT_SUMMARY_URL='localhost:8080/v1': an address of an endpoint starts with http://",
        "WEFT_LOG_LEVL: no such setting; did you mean WEFT_LOG_LEVEL?",
    ):
        assert expected in message
    assert "s3cret" not in message


def test_an_argument_that_is_no_text_is_a_fault_like_any_other():
    with pytest.raises(ConfigurationError) as raised:
        read_settings({}, tenant=5, principal=7, nats_url=9)
    for expected in (
        "WEFT_TENANT=5: tenant 5 is of type int; give a str",
        "WEFT_PRINCIPAL=7: principal 7 is of type int; give a str",
        "WEFT_NATS_URL=9: give a str, not a value of type int",
    ):
        assert expected in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "nats://127.0.0.1:abc",
        "nats://127.0.0.1:99999",
        "nats://127.0.0.1:0",
        "nats://",
        "nats://:4222",
        "nats://[::1",
        "nats://good:4222, tls://host:-1",
    ],
)
def test_a_malformed_address_is_told_before_anybody_is_asked(address: str):
    with pytest.raises(ConfigurationError, match=re.escape(f"WEFT_NATS_URL='{address}': ")) as told:
        read_settings({"WEFT_NATS_URL": address})
    assert "give HOST:PORT" in str(told.value)


def test_a_password_in_a_malformed_address_is_not_shown():
    with pytest.raises(ConfigurationError) as told:
        read_settings({"WEFT_NATS_URL": "nats://ann:s3#cret@host:x"})
    assert f"WEFT_NATS_URL='nats://{MASK}@host:x': " in str(told.value)
    assert "s3" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "nats://me:pa/ss@host:4222",
        "nats://me:pa?ss@host:4222",
        "nats://me:pa#ss@host:4222",
        "nats://me:pa,ss@host:4222",
        "nats://me:pa,nats://ss@host:4222",
        "nats://me:pa@s/s#ss@host:4222",
        "nats://me:pa\nss/@host:4222",
        "me:pa@ss@host:4222",
        "nats:/me:pass@host:4222",
    ],
)
def test_user_information_that_an_address_cannot_hold_is_refused_and_not_shown(address: str):
    with pytest.raises(ConfigurationError) as told:
        read_settings({"WEFT_NATS_URL": address})
    shown = str(told.value).partition("WEFT_NATS_URL=")[2].partition(": ")[0]
    assert shown in (f"'nats://{MASK}@host:4222'", f"'{MASK}@host:4222'")
    assert "as WEFT_USER and WEFT_PASSWORD" in str(told.value)


def test_each_password_of_several_addresses_is_masked_to_its_end_when_shown():
    settings = read_settings({"WEFT_NATS_URL": "nats://ann:p@ss@one:1, tls://bob:word@two:2"})
    shown = settings.shown()["WEFT_NATS_URL"]
    assert shown == f"nats://{MASK}@one:1, tls://{MASK}@two:2"


@pytest.mark.parametrize(
    "address", ["nats://ann:pass@host", "wss://[::1]:443/path", "tls://a.b:1,nats://my_host:2"]
)
def test_other_addresses_are_taken(address: str):
    assert read_settings({"WEFT_NATS_URL": address}).nats_url == address


@pytest.mark.parametrize(("size", "is_taken"), [("0", True), ("1048576", True), ("100", False)])
def test_a_log_that_holds_not_even_one_message_is_refused(size: str, is_taken: bool):
    told = nullcontext() if is_taken else pytest.raises(ConfigurationError, match="1048576 or more")
    with told:
        assert read_settings({"WEFT_MAX_BYTES": size}).max_bytes == int(size)


def test_secrets_are_masked_when_shown():
    shown = read_settings({"WEFT_TOKEN": "s3cret", "WEFT_FINGERPRINT_KEY": "k3y"}).shown()
    assert shown["WEFT_TOKEN"] == shown["WEFT_FINGERPRINT_KEY"] == MASK
    assert shown["WEFT_PASSWORD"] == ""
    assert shown["WEFT_HTTP_PORT"] == "0"


def test_the_client_can_read_settings_without_the_workers_packages():
    program = (
        "import sys, weft.runtime.settings\n"
        "heavy = {'faststream', 'tiktoken', 'prometheus_client', 'nats'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
