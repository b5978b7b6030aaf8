"""What a deployment keeps to itself: a secret without a default, files that are its user's alone,
passwords that leave the process list, and nothing about its machine for agents to read."""

import asyncio
import json
import os
import socket
import stat
import sys
from pathlib import Path

import pytest
from tests.guarded import guarded_server, password, signed_in
from tests.integration.command_line import COMPILES, services, weft
from tests.integration.processes import started

from weft.cli.concealing import concealed
from weft.client import Client
from weft.firewall.derive import envelope_for
from weft.gateway.log.deployment import GatewayDeployment
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.secret_check import METADATA, secret_check
from weft.log.transport import connect
from weft.runtime.deployment import known_secret, made_secret, private
from weft.runtime.settings import Settings, read_settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError
from weft_schemas.events import Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules
from weft_schemas.subjects import derived_subject


def modes(folder: Path) -> dict[str, int]:
    """Of everything in a folder, and of it: what others than its user may do."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) & 0o077
        for path in (folder, *folder.rglob("*"))
        if path.exists()
    }


async def test_weft_up_makes_a_secret_and_nobody_else_may_read_anything(tmp_path: Path):
    folder = tmp_path / "data"
    async with services(folder) as url:
        given = b'{"id":"a","kind":"tool_result","text":"password=hunter2hunter2"}'
        assert (await weft("publish", "-", "-s", "s", url=url, given=given)).code == 0
        assert (await weft("snapshot", "--data", str(folder), url=url)).code == 0
        assert {name for name, mode in modes(folder).items() if mode} == set()
    secret = known_secret(folder)
    assert len(secret) == 64
    async with services(folder, "--firewall", "0", *COMPILES):
        assert known_secret(folder) == secret
    assert secret.encode() not in (folder / "weft.log").read_bytes()
    settings = read_settings({"WEFT_DATA_DIR": str(folder)})
    assert settings.fingerprint_key == secret
    assert secret not in str(settings.shown())


@pytest.mark.parametrize("service", ["firewall", "compiler", "memory"])
async def test_a_service_without_the_deployments_secret_does_not_start(
    server: EmbeddedServer, tmp_path: Path, service: str
):
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    done = await weft("work", service, settings=environ)
    assert done.code == 2
    assert "in the folder where that was started" in done.err
    assert "WEFT_FINGERPRINT_KEY" in done.err


async def test_a_log_of_a_deployment_with_another_secret_is_refused(
    log: Connection, server: EmbeddedServer, tmp_path: Path
):
    def with_data(name: str) -> dict[str, str]:
        return {"WEFT_DATA_DIR": str(tmp_path / name)}

    for name in ("first", "second"):
        made_secret(tmp_path / name)
    first = await weft("provision", url=server.url, settings=with_data("first"))
    assert first.code == 0, first.err
    again = await weft("provision", url=server.url, settings=with_data("first"))
    assert "as it should be" in again.err
    folder = str(tmp_path / "second")
    for command in (("up", "--data", folder), ("provision",), ("work", "firewall")):
        done = await weft(*command, url=server.url, settings=with_data("second"))
        assert (done.code, "another secret" in done.err) == (2, True), command
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await call(log, "STREAM.UPDATE.weft", {**config, "allow_batched": False})
    without = await weft("provision", url=server.url, settings=with_data("none"))
    assert (without.code, "allow_batched" in without.out) == (0, True)
    refused = await weft("provision", url=server.url, settings=with_data("second"))
    assert refused.code == 2, "a change by somebody without a secret leaves the mark"
    changed = await weft("provision", "--new-secret", url=server.url, settings=with_data("second"))
    assert changed.code == 0, changed.err
    former = await weft("provision", url=server.url, settings=with_data("first"))
    assert (former.code, "another secret" in former.err) == (2, True)


async def test_only_a_secret_that_is_given_or_proven_marks_a_log_that_holds_events(
    log: Connection, server: EmbeddedServer, tmp_path: Path
):
    def with_data(name: str) -> dict[str, str]:
        return {"WEFT_DATA_DIR": str(tmp_path / name)}

    async def provisioned(settings: dict[str, str]) -> tuple[int, bool, bool]:
        """Its exit code, whether the log is marked now, and whether it said that it is not."""
        done = await weft("provision", url=server.url, settings=settings)
        config = (await call(log, "STREAM.INFO.weft"))["config"]
        return done.code, METADATA in config["metadata"], "not marked" in done.err

    right, wrong = (made_secret(tmp_path / name) for name in ("right", "wrong"))
    item = ContextItem(id="a", kind=ItemKind.TOOL_RESULT, text="42 rows")
    async with Client(Settings(nats_url=server.url)) as client:
        await client.publish("s", item)
    for name in ("none", "wrong", "right"):
        assert await provisioned(with_data(name)) == (0, False, True), "nothing proves it"
    await log_envelope(log, item, right)
    assert await provisioned(with_data("wrong")) == (0, False, True)
    assert await provisioned(with_data("right")) == (0, True, False), "the handle proves it"
    refused = await weft("provision", url=server.url, settings=with_data("wrong"))
    assert (refused.code, "another secret" in refused.err) == (2, True)
    await unmarked(log)
    assert await provisioned({"WEFT_FINGERPRINT_KEY": right}) == (0, True, False)
    await unmarked(log)
    assert await provisioned({"WEFT_FINGERPRINT_KEY": wrong}) == (0, True, False), "it was given"


async def test_no_second_secret_is_made_for_a_log_that_has_one(
    log: Connection, server: EmbeddedServer, tmp_path: Path
):
    given = {"WEFT_FINGERPRINT_KEY": "the-right-one"}
    assert (await weft("provision", url=server.url, settings=given)).code == 0
    folder = tmp_path / "other"
    refused = await weft("up", "--data", str(folder), url=server.url)
    assert (refused.code, "WEFT_FINGERPRINT_KEY" in refused.err) == (2, True)
    settings = Settings(nats_url=server.url, data_dir=folder)
    with pytest.raises(ConfigurationError, match=r"secret is not here.*WEFT_FINGERPRINT_KEY"):
        async with GatewayDeployment(settings, named=True):
            pass
    assert known_secret(folder) == ""
    made_secret(folder)
    with pytest.raises(ConfigurationError, match="another secret"):
        async with GatewayDeployment(settings, named=True):
            pass
    right = Settings(nats_url=server.url, data_dir=folder, fingerprint_key="the-right-one")
    async with GatewayDeployment(right, named=True) as gateway:
        assert gateway.settings.fingerprint_key == "the-right-one"


async def test_a_lost_secret_is_not_replaced(tmp_path: Path):
    """Not with the folder's own log either: the next start would find a wrong one."""
    folder = tmp_path / "data"
    async with services(folder):
        pass
    secret = (folder / "secret").read_bytes()
    (folder / "secret").unlink()
    refused = await weft("up", "--data", str(folder), "--port", "0")
    assert refused.code == 2
    assert "whose secret is not here" in refused.err
    assert "from a backup" in refused.err
    assert not (folder / "secret").exists()
    (folder / "secret").write_bytes(secret)
    async with services(folder):
        pass


async def test_a_secret_that_cannot_be_read_is_not_told_as_missing(
    server: EmbeddedServer, tmp_path: Path
):
    (tmp_path / "secret").mkdir()
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    told = f"{tmp_path / 'secret'} is there and cannot be read"
    for command in (("work", "firewall"), ("up", "--data", str(tmp_path), "--nats", server.url)):
        done = await weft(*command, settings=environ)
        assert (done.code, told in done.err) == (2, True), done.err
        assert "chmod 600" in done.err
    with pytest.raises(ConfigurationError, match="is there and cannot be read"):
        made_secret(tmp_path)


async def log_envelope(log: Connection, item: ContextItem, secret: str) -> None:
    """What the firewall of a deployment with this secret makes of an item of session s."""
    envelope = envelope_for(
        item,
        item.text,
        origin=Origin(1, item.id, "firewall"),
        rules=FirewallRules(),
        fingerprint_key=secret.encode(),
        encoding="o200k_base",
        tenant="default",
        session="s",
    )
    async with Publisher(log) as publisher:
        payload = encode_event(envelope)
        subject = derived_subject("default", "s", "envelope")
        headers = event_headers("made", "weft.envelope", "")
        await publisher.publish(subject, payload, "made", headers)


async def unmarked(log: Connection) -> None:
    """As a log of an earlier release is."""
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    metadata = {name: one for name, one in config["metadata"].items() if name != METADATA}
    await call(log, "STREAM.UPDATE.weft", {**config, "metadata": metadata})


async def test_weft_up_marks_a_log_of_its_own_folder(tmp_path: Path):
    folder = tmp_path / "data"
    async with services(folder, "--firewall", "0", *COMPILES) as url:
        given = b'{"id":"a","kind":"user_turn","text":"hello"}'
        assert (await weft("publish", "-", "-s", "s", url=url, given=given)).code == 0
        log = await connect(url)
        await unmarked(log)
        await log.close()
    async with services(folder, "--firewall", "0", *COMPILES) as url:
        log = await connect(url)
        config = (await call(log, "STREAM.INFO.weft"))["config"]
        await log.close()
    assert config["metadata"][METADATA] == secret_check(known_secret(folder))


async def test_agents_learn_nothing_of_the_machine(tmp_path: Path):
    async with guarded_server(tmp_path / "guarded") as server:
        environ = {
            "WEFT_NATS_URL": server.url,
            "WEFT_USER": "replica",
            "WEFT_PASSWORD": password("replica"),
            "WEFT_DATA_DIR": str(tmp_path / "a-folder-of-the-machine"),
        }
        async with (
            started("weft.cli.main", "work", "indexer", **environ) as process,
            signed_in(server, "acme-agent") as agent,
        ):
            await process.until_ready()
            subject = "weft-rpc.acme.@tenant.replicas"
            answer = (await agent.request(subject, b"{}", timeout=30)).data.decode()
    assert json.loads(answer)["sequence"] == 0
    for told in (socket.gethostname(), "a-folder-of-the-machine", str(process.process.pid)):
        assert told not in answer


async def test_a_password_leaves_the_process_list(server: EmbeddedServer, tmp_path: Path):
    command = ("status", "--nats", "nats://127.0.0.1:9", "--user", "u", "--password", "hunter2")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "weft.cli.main", *command, stderr=asyncio.subprocess.PIPE
    )
    listed = Path(f"/proc/{process.pid}/cmdline").read_bytes
    async with asyncio.timeout(30):
        while b"hunter2" in listed() or b"status" not in listed():
            await asyncio.sleep(0.002)
    _, told = await process.communicate()
    assert process.returncode == 3, told


def test_concealed_arguments_mean_the_same():
    given = ["-m", "weft.cli.main", "status", "--password", "a b", "--token=x=y", "--json"]
    assert concealed(given) == (
        {"WEFT_PASSWORD": "a b", "WEFT_TOKEN": "x=y"},
        ["-m", "weft.cli.main", "status", "--json"],
    )
    assert concealed(["status", "--password"]) == ({}, ["status", "--password"])


def test_of_two_that_make_a_secret_at_once_both_have_the_same(tmp_path: Path):
    assert made_secret(tmp_path / "data") == made_secret(tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret"]


def test_a_folder_with_other_things_in_it_keeps_its_mode(tmp_path: Path):
    (tmp_path / "other").mkdir(mode=0o755)
    (tmp_path / "other" / "thing").touch()
    assert modes(private(tmp_path / "other"))["."] == 0o055
    (tmp_path / "own").mkdir(mode=0o755)
    assert modes(private(tmp_path / "own"))["."] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="--data"):
        private(tmp_path / "data")
