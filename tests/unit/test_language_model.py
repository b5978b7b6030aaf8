"""The model endpoint: the text and the key go where the configuration says and nowhere else, and no
answer holds a process up beyond its deadline."""

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.certificates import make_certificates

from weft import language_model
from weft.language_model import ChatEndpoint
from weft_schemas.errors import ConfigurationError, Unavailable

ANSWER = b'{"choices":[{"message":{"content":" said "}}]}'


def received(connection: socket.socket) -> bytes:
    """A whole request: what it says comes in other packets than its head."""
    data = connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.findall(rb"Content-Length: (\d+)", head)[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + body


def begun(connection: socket.socket) -> bytes:
    """What comes first, of whatever protocol."""
    return connection.recv(65_536)


@contextmanager
def answering(
    answer: Callable[[socket.socket], None],
    receive: Callable[[socket.socket], bytes] = received,
) -> Iterator[tuple[str, list[bytes]]]:
    """A server on loopback, by hand; its address, and every request that reached it."""
    heard: list[bytes] = []
    ending = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def serve() -> None:
            while not ending.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    heard.append(receive(connection))
                    with suppress(OSError):
                        answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/v1", heard
        finally:
            ending.set()
            thread.join()


def sent(head: str, body: bytes = b"") -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return answer


def drip(connection: socket.socket) -> None:
    """A byte now and then, for ever: no read ever takes long."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.02)


def drip_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def drip_handshake(connection: socket.socket) -> None:
    """The beginning of TLS's first record, of 16 KB."""
    connection.sendall(b"\x16\x03\x03\x40\x00")
    while True:
        connection.sendall(b"\x02")
        time.sleep(0.02)


def test_an_answer_comes_back_and_the_key_went_with_the_question() -> None:
    with answering(sent("HTTP/1.1 200 OK", ANSWER)) as (url, heard):
        assert ChatEndpoint(url, "m", "k3y").complete("be short", "hello", 5) == "said"
    assert b"Authorization: Bearer k3y" in heard[0]


def test_no_credential_leaves_for_a_model() -> None:
    token = "ghp_" + "a1B2" * 9
    with answering(sent("HTTP/1.1 200 OK", ANSWER)) as (url, heard):
        ChatEndpoint(url, "m").complete(f"use {token}", f"my password is Zq8!sjw83 and {token}", 5)
    assert b"Zq8!sjw83" not in heard[0]
    assert token.encode() not in heard[0]
    assert heard[0].count(b"[secret:github_token]") == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_text_nor_key_anywhere(status: int) -> None:
    with answering(sent("HTTP/1.1 200 OK", ANSWER)) as (elsewhere, stolen):
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere}/chat/completions"
        moved = pytest.raises(ConfigurationError, match="points elsewhere")
        with answering(sent(head)) as (url, heard), moved:
            ChatEndpoint(url, "m", "k3y").complete("be short", "hello", 5)
    assert len(heard) == 1
    assert stolen == []


@pytest.mark.parametrize("slow", [drip, drip_headers])
def test_an_answer_has_a_deadline_as_a_whole(slow: Callable[[socket.socket], None]) -> None:
    with (
        answering(slow) as (url, _),
        pytest.raises(Unavailable, match=r"no whole answer in 0\.3 s"),
    ):
        ChatEndpoint(url, "m", timeout=0.3).complete("be short", "hello", 5)


def test_a_handshake_has_the_same_deadline() -> None:
    with (
        answering(drip_handshake, begun) as (url, _),
        pytest.raises(Unavailable, match=r"no whole answer in 0\.3 s"),
    ):
        ChatEndpoint(url.replace("http:", "https:"), "m", timeout=0.3).complete("be", "hello", 5)


def test_a_proxy_has_the_same_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(drip_headers, begun) as (url, heard):
        monkeypatch.setenv("https_proxy", url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(Unavailable, match=r"no whole answer in 0\.3 s"):
            ChatEndpoint("https://model.test/v1", "m", timeout=0.3).complete("be", "hello", 5)
    assert heard[0].startswith(b"CONNECT model.test:443")


def test_an_encrypted_answer_comes_back_or_ends_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")

    def encrypted(answer: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
        def answer_in_tls(connection: socket.socket) -> None:
            with server.wrap_socket(connection, server_side=True) as tls:
                received(tls)
                answer(tls)

        return answer_in_tls

    def nothing_yet(_: socket.socket) -> bytes:
        return b""

    with answering(encrypted(sent("HTTP/1.1 200 OK", ANSWER)), nothing_yet) as (url, _):
        asked = ChatEndpoint(url.replace("http:", "https:"), "m")
        assert asked.complete("be short", "hello", 5) == "said"
    for slow in (drip, drip_headers):
        with answering(encrypted(slow), nothing_yet) as (url, _):
            asked = ChatEndpoint(url.replace("http:", "https:"), "m", timeout=0.3)
            with pytest.raises(Unavailable, match=r"no whole answer in 0\.3 s"):
                asked.complete("be short", "hello", 5)


def test_a_connection_that_comes_after_the_deadline_asks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    end, connect = language_model._Deadline._end, socket.create_connection

    def end_and_tell(deadline: language_model._Deadline) -> None:
        end(deadline)
        over.set()

    def connect_late(*args: Any, **kwargs: Any) -> socket.socket:
        assert over.wait(10)
        return connect(*args, **kwargs)

    monkeypatch.setattr(language_model._Deadline, "_end", end_and_tell)
    monkeypatch.setattr(socket, "create_connection", connect_late)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        with pytest.raises(Unavailable, match=r"no whole answer in 0\.1 s"):
            ChatEndpoint(url, "m", timeout=0.1).complete("be short", "hello", 5)
        with server.accept()[0] as connection:
            assert connection.recv(1) == b""


def test_only_so_many_are_asked_at_once() -> None:
    ending = threading.Event()

    def wait(connection: socket.socket) -> None:
        ending.wait(10)

    with answering(wait) as (url, _):
        endpoint = ChatEndpoint(url, "m", timeout=0.5)
        for _ in range(language_model.AT_ONCE):
            assert language_model._ROOM.acquire(blocking=False)
        try:
            with pytest.raises(Unavailable, match="is asked 4 things"):
                endpoint.complete("be short", "hello", 5)
        finally:
            for _ in range(language_model.AT_ONCE):
                language_model._ROOM.release()
            ending.set()


def test_an_address_with_a_password_is_refused_without_being_told() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ChatEndpoint("http://ada:S3cret9x@model.test/v1", "small")
    assert "S3cret9x" not in str(caught.value)
