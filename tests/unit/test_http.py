"""The pure parts of HTTP: grants, limits, keys, events, callers."""

import asyncio
import gzip
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from tests.data import ROOT

from weft.http import sse
from weft.http.callers import caller, check_open, host_name, open_grant
from weft.http.grants import read_grants
from weft.http.idempotency import KEPT_SECONDS, Answers, checked_key
from weft.http.limits import CallerLimits
from weft.http.metrics import RequestCounts
from weft.http.openapi import FAULTS, document
from weft.http.problems import RequestRefused, problem_of, status_of
from weft.http.requests import MAX_MEMBERS, inflated
from weft.runtime.metrics import Metrics
from weft.web_server import listener
from weft_schemas import errors
from weft_schemas.errors import (
    ConfigurationError,
    InvalidInput,
    NotFound,
    TooCostly,
    Unavailable,
    WeftError,
)

GOOD = '[[token]]\nname = "a"\ntoken = "0123456789abcdef"\ntenant = "acme"\n'


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tokens(folder: Path, text: str) -> Path:
    file = folder / "tokens.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[token", "see docs/http.md"),
        ("", "holds no"),
        (GOOD.replace("0123456789abcdef", "short"), "5 characters"),
        (GOOD.replace('token = "0123456789abcdef"\n', ""), "either token or sha256"),
        (GOOD.replace("token =", "sha256 ="), "no SHA-256"),
        (GOOD + 'user = "u"\n', "both user and password"),
        (GOOD + 'user = "u"\npassword = "p"\ncreds = "c"\n', "several ways"),
        (GOOD + 'creds = "/none/such"\n', "token 'a': credentials file /none/such: No such file"),
        (GOOD + "rate = 0\n", "$.token[0].rate"),
        (GOOD + 'colour = "red"\n', "colour"),
        (GOOD + 'password = "$NOWHERE"\n', "$NOWHERE is not in the environment"),
        (GOOD + GOOD.replace('"a"', '"b"'), "one token"),
        (GOOD + GOOD.replace("0123", "9999"), "one name"),
    ],
)
def test_a_fault_of_the_tokens_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("$", r"\$").replace("[", r"\[")):
        read_grants(tokens(tmp_path, text), {})


def test_a_token_is_found_by_itself_alone(tmp_path: Path) -> None:
    grants = read_grants(tokens(tmp_path, GOOD), {})
    assert caller(grants, "Bearer 0123456789abcdef", "any").name == "a"
    for header in ("", "Bearer", "Bearer 0123456789abcde", "Basic 0123456789abcdef"):
        with pytest.raises(RequestRefused):
            caller(grants, header, "127.0.0.1")


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:80", "localhost"), ("[::1]:80", "::1"), ("127.0.0.1", "127.0.0.1"), ("", "")],
)
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


def test_without_tokens_only_requests_to_loopback_are_let_in() -> None:
    grant = open_grant("acme")
    for host in ("localhost:8080", "127.0.0.1:8080", "[::1]:8080"):
        assert caller(grant, "", host) is grant
    for host in ("", "weft.example.org", "10.0.0.1:8080"):
        with pytest.raises(RequestRefused):
            caller(grant, "", host)
    with pytest.raises(ConfigurationError):
        check_open("0.0.0.0")
    check_open("127.0.0.2")


def test_a_rate_allows_a_burst_and_then_so_many_a_second() -> None:
    clock = Clock()
    limits = CallerLimits(clock, 10)
    for _ in range(20):
        limits.take("a", 10)
    with pytest.raises(RequestRefused) as refused:
        limits.take("a", 10)
    assert refused.value.headers == {"retry-after": "1"}
    limits.take("b", 10)
    clock.now = 0.1
    limits.take("a", 10)
    with pytest.raises(RequestRefused):
        limits.take("a", 10)


def test_streams_are_counted_until_they_end() -> None:
    limits = CallerLimits(Clock(), 10, streams=1)
    with limits.stream("a"):
        with pytest.raises(RequestRefused), limits.stream("a"):
            pass
        with limits.stream("b"):
            pass
    with limits.stream("a"):
        pass


def test_bodies_are_counted_until_their_requests_end() -> None:
    limits = CallerLimits(Clock(), 10)
    with limits.body("a", 10), limits.body("a", 10):
        with pytest.raises(RequestRefused, match=r"^a has requests of 20 bytes in work") as refused:
            limits.body("a", 1).__enter__()
        assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
        with limits.body("b", 10), limits.body("c", 9), limits.body("d", 1):
            with pytest.raises(RequestRefused, match=r"^this process has requests of 40 bytes"):
                limits.body("e", 1).__enter__()
            with limits.body("e", 0):
                pass
    with limits.body("a", 10), limits.body("a", 10):
        pass


def test_a_request_is_counted_by_the_error_that_ends_it() -> None:
    metrics = Metrics("serve")
    counts = RequestCounts(metrics.registry, "serve")
    ends = [NotFound("x"), RequestRefused(413, "size", "x"), ValueError(), asyncio.CancelledError()]
    for end in ends:
        with pytest.raises(type(end)), counts.request("compile"):
            raise end
    counted = re.findall(
        rb'weft_requests_total{code="(\w+)".* (\S+)', generate_latest(metrics.registry)
    )
    assert dict(counted) == dict.fromkeys((b"not_found", b"other", b"weft", b"ok"), b"1.0")


async def test_the_first_answer_under_a_key_is_given_again_until_it_is_old() -> None:
    clock = Clock()
    answers, made = Answers(clock), []

    async def work() -> bytes:
        await asyncio.sleep(0)
        made.append(1)
        return b"%d" % len(made)

    both = await asyncio.gather(*(answers.once(("a",), b"x", work) for _ in range(2)))
    assert sorted(both) == [(b"1", False), (b"1", True)]
    with pytest.raises(RequestRefused):
        await answers.once(("a",), b"y", work)
    assert await answers.once(("b",), b"y", work) == (b"2", False)
    clock.now = KEPT_SECONDS + 1
    assert await answers.once(("a",), b"y", work) == (b"3", False)


async def test_a_failure_under_a_key_is_told_to_all_who_wait_and_not_kept() -> None:
    answers = Answers(Clock())

    async def fail() -> bytes:
        await asyncio.sleep(0)
        raise WeftError("no")

    async def hang() -> bytes:
        await asyncio.sleep(3600)
        return b""

    failed = await asyncio.gather(
        *(answers.once(("a",), b"", fail) for _ in range(2)), return_exceptions=True
    )
    assert [str(one) for one in failed] == ["no", "no"]
    first = asyncio.create_task(answers.once(("a",), b"", hang))
    await asyncio.sleep(0)
    second = asyncio.create_task(answers.once(("a",), b"", hang))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(Unavailable, match="broken off"):
        await second


def test_a_gzip_of_several_members_is_read_to_its_end() -> None:
    members = [bytes([number]) * size for number, size in enumerate((0, 1, 50_000, 3))]
    zipped = b"".join(map(gzip.compress, members))
    plain = b"".join(members)
    assert inflated(zipped, "gzip", len(plain)) == plain
    with pytest.raises(RequestRefused, match="more than 50,003 bytes"):
        inflated(zipped, "gzip", len(plain) - 1)
    with pytest.raises(InvalidInput, match=f"no gzip from byte {len(zipped):,} on"):
        inflated(zipped + b"more", "gzip", len(plain))
    with pytest.raises(InvalidInput, match="ends early"):
        inflated(zipped[:-1], "gzip", len(plain))
    with pytest.raises(InvalidInput, match="more than 10,000 members"):
        inflated(gzip.compress(b"") * (MAX_MEMBERS + 1), "gzip", len(plain))


async def test_small_answers_are_sent_at_once() -> None:
    """Nagle's algorithm would hold the second part of an answer back for 40 ms."""
    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        found.set_result(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    taken = listener("127.0.0.1", 0, "")
    async with await asyncio.start_server(accepted, sock=taken):
        _, writer = await asyncio.open_connection(*taken.getsockname())
        assert await found
        writer.close()
    with pytest.raises(ConfigurationError, match="it is no address of this machine"):
        listener("192.0.2.1", 0, "choose another --port")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_a_server_listens_on_an_ipv6_address() -> None:
    with listener("::1", 0, "") as taken, socket.create_connection(taken.getsockname()[:2]):
        assert taken.family == socket.AF_INET6


def test_a_key_is_printable() -> None:
    assert checked_key("k 1") == "k 1"
    for key in ("é", "a\x00", "k" * 257):
        with pytest.raises(RequestRefused):
            checked_key(key)


def test_an_event_keeps_its_data_on_lines_of_their_own() -> None:
    assert sse.event(b"1\r2\n3", "n", "7") == b"id: 7\nevent: n\ndata: 1\ndata: 2\ndata: 3\n\n"
    assert sse.accepts("text/html, Text/Event-Stream;q=0.9")
    assert not sse.accepts("application/json")


def test_every_error_has_a_status_that_the_document_knows() -> None:
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in tree:
        if issubclass(kind, WeftError):
            problem = problem_of(kind("why \ud800"))
            assert problem.status == status_of(kind("")) in FAULTS
            assert problem.code == kind.code
            assert (problem.status in (429, 503)) == kind.retryable


def test_a_request_that_asks_for_too_much_is_the_callers_fault() -> None:
    assert status_of(TooCostly("too long")) == 422
    assert "ask for less" in FAULTS[422]


def test_the_documentation_lists_every_error_with_its_status() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \| (`.+?`) \|", (ROOT / "docs/http.md").read_text(), re.M)
    listed = {
        (int(status), code.strip("`"))
        for statuses, codes in rows
        for status in statuses.split(", ")
        for code in codes.split(", ")
    }
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    told = {(status_of(kind("")), kind.code) for kind in kinds if issubclass(kind, WeftError)}
    assert told - listed == set()


def test_the_document_describes_what_the_contract_says() -> None:
    parts = document()["components"]["schemas"]
    assert parts["CompileRequest"]["properties"]["query"]["description"]
    assert parts["CompileRequest"]["additionalProperties"] is False
    assert parts["ContextItem"]["required"] == ["id", "kind"]
    assert "tool_name" in parts["ReservedMetadata"]["properties"]
    assert document() == document()


def test_it_needs_no_package_but_those_of_its_extra() -> None:
    """The extra `http` alone: what only workers have cannot be imported here."""
    code = """
import sys
missing = {"faststream", "tiktoken", "bpe_openai", "aiosqlite", "Stemmer", "re2", "numpy"}
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import weft.http.service, weft.cli.serve
from weft.http.clients import Clients
from weft.http.app import Application
from weft.http.callers import open_grant
from weft.runtime.settings import Settings
Application(Clients(Settings()), open_grant("acme")).asgi()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_document_says_where_an_idempotency_key_does_not_apply() -> None:
    said = {
        operation["operationId"]: "does not apply to a stream" in one["description"]
        for path in document()["paths"].values()
        for operation in path.values()
        for one in operation["parameters"]
        if one["name"] == "Idempotency-Key"
    }
    assert {name for name, is_said in said.items() if is_said} == {"compile"}
    assert len(said) > 5
