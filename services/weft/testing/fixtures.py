"""pytest fixtures for users of weft. In your conftest.py:

pytest_plugins = ["weft.testing.fixtures"]
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from weft.client.blocking import LoopThread, SyncClient, connect_sync
from weft.testing.client import in_memory_sync
from weft.testing.deployment import deployment


@pytest.fixture
def weft_memory() -> Iterator[SyncClient]:
    """A client over an empty log in memory: no server, a few milliseconds."""
    with in_memory_sync() as client:
        yield client


@pytest.fixture(scope="session")
def weft_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server with every service, started once for all tests."""
    loop = LoopThread()
    running = deployment(tmp_path_factory.mktemp("weft"))
    try:
        yield loop.run(running.__aenter__())
    finally:
        loop.run(running.__aexit__(None, None, None))
        loop.close()


@pytest.fixture
def weft_client(weft_url: str) -> Iterator[SyncClient]:
    """A client of that server with a tenant of its own, so that tests do not see each other's
    data."""
    with connect_sync(weft_url, tenant=f"test-{uuid.uuid4().hex[:12]}") as client:
        yield client
