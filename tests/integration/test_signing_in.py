"""Every way to sign in, on a real server: from `connect`, from arguments and from the environment;
and one clear line for a credential that is not accepted."""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.certificates import make_certificates, make_credentials
from tests.integration.command_line import services, weft

import weft as client
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError, Forbidden, Unavailable
from weft_schemas.items import ContextItem, ItemKind

Options = dict[str, str]
ITEM = b'{"id": "a", "kind": "user_turn", "text": "hi"}'
TLS = (
    'tls {{ cert_file: "{0}/server.pem", key_file: "{0}/server.key", ca_file: "{0}/ca.pem"{1} }}\n'
)


def by_user(folder: Path) -> tuple[str, Options, Options]:
    right, wrong = secrets.token_hex(8), secrets.token_hex(8)
    extra = f"authorization {{ user: ann, password: {right} }}\n"
    return extra, {"user": "ann", "password": right}, {"user": "ann", "password": wrong}


def by_token(folder: Path) -> tuple[str, Options, Options]:
    right, wrong = f"t-{secrets.token_hex(8)}", f"t-{secrets.token_hex(8)}"
    return f"authorization {{ token: {right} }}\n", {"token": right}, {"token": wrong}


def by_certificate(folder: Path) -> tuple[str, Options, Options]:
    make_certificates(folder)

    def signed(name: str) -> Options:
        key, certificate = f"{folder}/{name}.key", f"{folder}/{name}.pem"
        return {"tls_ca": f"{folder}/ca.pem", "tls_cert": certificate, "tls_key": key}

    return TLS.format(folder, ", verify: true"), signed("agent"), signed("stranger")


def by_tls_and_user(folder: Path) -> tuple[str, Options, Options]:
    make_certificates(folder)
    extra, right, wrong = by_user(folder)
    authority = {"tls_ca": f"{folder}/ca.pem"}
    return extra + TLS.format(folder, ""), right | authority, wrong | authority


def by_credentials_file(folder: Path) -> tuple[str, Options, Options]:
    extra = make_credentials(folder)
    return extra, {"creds": f"{folder}/agent.creds"}, {"creds": f"{folder}/stranger.creds"}


WAYS = (by_user, by_token, by_certificate, by_tls_and_user, by_credentials_file)


@asynccontextmanager
async def guarded(folder: Path, extra: str, right: Options) -> AsyncIterator[EmbeddedServer]:
    async with EmbeddedServer(folder / "nats", extra=extra) as server:
        admin = await connect(server.url, **right)
        await provision(admin)
        await admin.close()
        yield server


def as_arguments(options: Options) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def as_settings(options: Options) -> Options:
    return {f"WEFT_{name.upper()}": value for name, value in options.items()}


@pytest.mark.parametrize("way", WAYS)
async def test_the_right_credential_works_from_everywhere_and_a_wrong_one_nowhere(
    way: Callable[[Path], tuple[str, Options, Options]], tmp_path: Path
) -> None:
    extra, right, wrong = way(tmp_path)
    async with guarded(tmp_path, extra, right) as server:
        async with client.connect(server.url, **right) as log:
            await log.publish("s1", ContextItem("a", ItemKind.USER_TURN, "hi"))
        publish = ["publish", "-", "-s", "s1", "--json"]
        done = await weft(*publish, *as_arguments(right), url=server.url, given=ITEM)
        assert done.json["duplicates"] == 1, done.err
        events = ["events", "-s", "s1", "--nats", server.url]
        shown = await weft(*events, settings=as_settings(right))
        assert (shown.code, shown.err) == (0, "")
        with pytest.raises(Forbidden):
            async with client.connect(server.url, **wrong):
                pass
        for refused in (
            await weft(*publish, *as_arguments(wrong), url=server.url, given=ITEM),
            await weft(*events, settings=as_settings(wrong)),
        ):
            assert (refused.code, refused.out) == (5, "")
            assert len(refused.err.splitlines()) == 1
            assert refused.err.startswith(f"weft: {server.url} refused the ")
            assert all(f"p{value}" not in refused.err for value in wrong.values())


async def test_services_run_over_tls_with_a_password(tmp_path: Path) -> None:
    extra, right, wrong = by_tls_and_user(tmp_path)
    async with guarded(tmp_path, extra, right) as server:
        signed = [f"--nats={server.url}", *as_arguments(right)]
        refused = await weft("up", "--data", f"{tmp_path}/x", *signed[:1], *as_arguments(wrong))
        assert (refused.code, len(refused.err.splitlines())) == (5, 1)
        secret = {"WEFT_FINGERPRINT_KEY": "k" * 32}
        worker = await weft("work", "firewall", *signed[:1], *as_arguments(wrong), settings=secret)
        assert worker.code == 5
        async with services(tmp_path / "data", *signed):
            done = await weft("publish", "-", "-s", "s1", *signed, given=ITEM)
            assert done.code == 0, done.err
            asked = ["compile", "-s", "s1", "-p", "answer", "--after", "1", "--timeout", "60"]
            pack = await weft(*asked, settings=as_settings(right), url=server.url)
            assert pack.out == "user: hi\n", pack.err


async def test_a_publisher_over_tls_survives_the_death_of_its_server(tmp_path: Path) -> None:
    extra, right, _ = by_certificate(tmp_path)
    async with (
        guarded(tmp_path, extra, right) as server,
        client.connect(server.url, **right) as log,
    ):
        for life in range(3):
            await server.kill()
            await server.start()
            await log.publish("s1", ContextItem(f"m{life}", ItemKind.USER_TURN, "hi"))
        stored = [record.event().id async for record in log.events("s1")]
    assert stored == ["m0", "m1", "m2"]


async def test_a_server_that_is_not_trusted_and_one_without_tls_get_no_credential(
    tmp_path: Path,
) -> None:
    make_certificates(tmp_path)
    extra, right, _ = by_user(tmp_path)
    async with EmbeddedServer(tmp_path / "tls", extra=extra + TLS.format(tmp_path, "")) as server:
        for options in ({}, {"tls_ca": f"{tmp_path}/other.pem"}):
            with pytest.raises(Unavailable, match=r"TLS with .* failed: .* check the CA"):
                await connect(server.url, **right, **options)
    async with EmbeddedServer(tmp_path / "plain", extra=extra) as server:
        for url, options in (
            (server.url, {"tls_ca": f"{tmp_path}/ca.pem"}),
            (server.url.replace("nats://", "tls://"), {}),
        ):
            with pytest.raises(Unavailable, match="asks for no TLS, and nothing is sent to it"):
                await connect(url, **right, **options)


async def test_a_client_certificate_that_is_wanted_and_missing_is_named(tmp_path: Path) -> None:
    extra, right, _ = by_certificate(tmp_path)
    async with guarded(tmp_path, extra, right) as server:
        ca = ["--tls-ca", right["tls_ca"]]
        done = await weft("events", "-s", "s1", *ca, url=server.url)
        assert done.code == 5
        assert done.err == (
            f"weft: {server.url} wants a client certificate; give one with its key\n"
        )


async def test_files_that_cannot_be_used_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent.creds"
    file.write_text("rubbish")
    with pytest.raises(
        ConfigurationError, match=r"agent.creds: no line with 'BEGIN NATS USER JWT'"
    ):
        await connect("nats://127.0.0.1:1", creds=str(file))
    with pytest.raises(ConfigurationError, match="TLS files cannot be used"):
        await connect("nats://127.0.0.1:1", tls_ca=str(file))
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(ConfigurationError, match="a WebSocket needs the package aiohttp"):
        await connect("ws://127.0.0.1:1")
    file.write_text("-BEGIN NATS USER JWT-\nx\n-BEGIN USER NKEY SEED-\ny\n")
    monkeypatch.setitem(sys.modules, "nkeys", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'nats-py\[nkeys\]'"):
        await connect("nats://127.0.0.1:1", creds=str(file))
