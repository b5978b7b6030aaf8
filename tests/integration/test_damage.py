"""A read model whose file is damaged: nothing wrong is answered, and it is built again."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.integration.command_line import COMPILES, services, weft
from tests.integration.logged import PATIENCE

import weft as library
from weft.readmodel.generations import Generations
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem, ItemKind

SESSIONS = 10
REPLICA = ("--firewall", "0", *COMPILES)
"""Nothing but a user's turns is published: an indexer and a compiler have all the work."""
PAIR = re.compile(rb"(?=([0-9a-f]{8} [0-9a-f]{8}))")
"""Any two words of a text."""


class Filled(NamedTuple):
    """A folder on which nothing runs, the last sequence in its log, and the prompts of all
    sessions."""

    folder: Path
    last: int
    before: list[str]


def turns(session: int) -> list[ContextItem]:
    chance = random.Random(session)
    words = [chance.randbytes(4).hex() for _ in range(2_000)]
    return [
        ContextItem(f"i{n}", ItemKind.USER_TURN, " ".join(chance.choices(words, k=60)))
        for n in range(200)
    ]


@asynccontextmanager
async def replica(folder: Path) -> AsyncIterator[tuple[library.Client, str]]:
    """A client of the services on a folder, and the server's address."""
    async with services(folder, *REPLICA) as url, library.connect(url, tenant="acme") as client:
        yield client, url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    folder = tmp_path_factory.mktemp("filled") / "up"
    async with replica(folder) as (client, _):
        acks = [await client.publish(f"s{number}", turns(number)) for number in range(SESSIONS)]
        last = acks[-1].sequence
        before = await prompts(client, last, PATIENCE / 2)
    assert "unavailable" not in before
    assert not any("deadbeef" in prompt for prompt in before)
    return Filled(folder, last, before)


@pytest.fixture
def filled(template: Filled, tmp_path: Path) -> Filled:
    """A copy of the test's own."""
    shutil.copytree(template.folder, tmp_path / "up")
    return template._replace(folder=tmp_path / "up")


async def prompts(client: library.Client, after: int = 0, timeout: float = 2.0) -> list[str]:
    """Of all sessions; a refusal that passes is the word for it."""

    async def one(number: int) -> str:
        try:
            pack = await client.compile(f"s{number}", "answer", after=after, timeout=timeout)
        except Unavailable:
            return "unavailable"
        return pack.prompt

    return [await one(number) for number in range(SESSIONS)]


def current(folder: Path) -> Path:
    (replica,) = folder.rglob("replica")
    found = Generations(replica.parent).current()
    assert found is not None
    return found


def damage(path: Path, *, traceless: bool = False) -> None:
    """Bytes all over the file, as a disk that fails or a stray write leaves them."""
    before = path.stat()
    chance = random.Random(11)
    with path.open("r+b") as file:
        for at in range(8_192, before.st_size, 4_096):
            file.seek(at + chance.randrange(4_000))
            file.write(b"\x5a\xa5")
    if traceless:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def falsify(path: Path) -> bool:
    """Other words in the texts, as no error of SQLite or of a decoder would ever tell; false where
    they do not stand in the file yet, but beside it in the log of its writes."""
    texts = {item.text[:17].encode() for number in range(SESSIONS) for item in turns(number)}
    content = bytearray(path.read_bytes())
    places = [found.start() for found in PAIR.finditer(content) if found[1] in texts]
    for at in places:
        content[at + 9 : at + 17] = b"deadbeef"
    if places:
        with path.open("r+b") as file:
            file.write(content)
    return bool(places)


async def until_as_before(client: library.Client, before: list[str]) -> None:
    """Every answer on the way is the right one, or that there is none now."""
    async with asyncio.timeout(PATIENCE):
        while True:
            now = await prompts(client)
            assert all(
                is_now in (was, "unavailable") for is_now, was in zip(now, before, strict=True)
            )
            if now == before:
                return
            await asyncio.sleep(0.1)


async def test_damage_while_it_runs_is_answered_with_nothing_wrong_and_mended(
    filled: Filled,
) -> None:
    async with replica(filled.folder) as (client, url):
        assert await prompts(client, filled.last, PATIENCE / 2) == filled.before
        damaged = current(filled.folder)
        damage(damaged)
        await until_as_before(client, filled.before)
        assert current(filled.folder) != damaged
        ran = await weft("status", "--tenant", "acme", url=url)
    assert "built anew: generation-" in ran.err
    assert "is damaged" in ran.err


async def test_words_that_changed_in_the_file_are_never_answered(filled: Filled) -> None:
    async with replica(filled.folder) as (client, _):
        assert await prompts(client, filled.last, PATIENCE / 2) == filled.before
        async with asyncio.timeout(PATIENCE):
            while not falsify(current(filled.folder)):
                await asyncio.sleep(0.2)
        await until_as_before(client, filled.before)
        assert "is damaged" in str((await client.status()).rebuilt)


async def test_damage_while_nothing_runs_is_found_before_anything_is_answered(
    filled: Filled,
) -> None:
    damage(current(filled.folder))
    async with replica(filled.folder) as (client, _):
        await until_as_before(client, filled.before)
        assert "is damaged" in str((await client.status()).rebuilt)


async def test_damage_without_a_trace_is_found_soon(filled: Filled) -> None:
    async with replica(filled.folder) as (client, _):
        await client.compile("s0", "answer", after=filled.last, timeout=PATIENCE / 2)
        damaged = current(filled.folder)
        damage(damaged, traceless=True)
        async with asyncio.timeout(PATIENCE):
            while not list(filled.folder.rglob("mended")):
                await asyncio.sleep(0.1)
        assert current(filled.folder) != damaged
