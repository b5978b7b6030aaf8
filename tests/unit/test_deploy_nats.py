"""The nats-server configurations: the server itself reads them without a complaint."""

import os
import re
import subprocess

import pytest
from tests.data import ROOT

from weft.supervision.embedded_server import MAX_PAYLOAD, find_binary

FOLDER = ROOT / "deploy" / "nats"
CONFIGURATIONS = ("process", "power", "cluster")


def make_env() -> dict[str, str]:
    done = subprocess.run(
        ["sh", ROOT / "deploy" / "make-env.sh"], check=True, capture_output=True, text=True
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nats_server_takes_it(name):
    node = {"WEFT_NODE": "nats-1"}
    done = subprocess.run(
        [find_binary(), "-t", "-c", FOLDER / f"{name}.conf"],
        env=os.environ | make_env() | node,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "valid" in done.stderr


def test_a_missing_password_is_refused():
    environ = {key: value for key, value in make_env().items() if key != "ACME_AGENT_PASSWORD"}
    done = subprocess.run(
        [find_binary(), "-t", "-c", FOLDER / "process.conf"],
        env=os.environ | environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "ACME_AGENT_PASSWORD" in done.stderr


def test_make_env_has_every_password_that_is_asked_for_and_a_new_one_each_time():
    asked = {"WEFT_NODE", "WEFT_ROUTE_PASSWORD", "WEFT_FINGERPRINT_KEY"}
    for file in FOLDER.rglob("*.conf"):
        asked |= set(re.findall(r": \$(\w+)", file.read_text()))
    tokens = (ROOT / "deploy" / "tokens.toml").read_text()
    asked |= set(re.findall(r'"\$(\w+)"', tokens))
    made = make_env()
    assert asked - set(made) == {"WEFT_NODE"}
    assert set(made) <= asked
    assert set(made.values()).isdisjoint(make_env().values())


@pytest.mark.parametrize(
    ("name", "synced"), [("process", False), ("power", True), ("cluster", True)]
)
def test_each_durability_syncs_as_it_says(name, synced):
    text = (FOLDER / f"{name}.conf").read_text()
    assert ("sync_interval: always" in text) is synced


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_messages_may_be_as_large_as_on_the_embedded_server(name):
    size = re.search(r"max_payload: (\d+)MB", (FOLDER / f"{name}.conf").read_text())
    assert size
    assert int(size[1]) * 1024 * 1024 == MAX_PAYLOAD
