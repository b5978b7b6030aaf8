"""The artifact store: a body comes back whole, whether its event holds it or the object store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.logged import publish, result

from weft.log.bodies import THRESHOLD_BYTES
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.runtime.artifacts import ArtifactStore
from weft_schemas.errors import Corrupt, NotFound
from weft_schemas.items import BodyRef, ContextItem, ItemKind


@pytest_asyncio.fixture
async def artifacts(log: Connection) -> AsyncIterator[ArtifactStore]:
    async with Publisher(log) as publisher:
        yield ArtifactStore(log, publisher)


async def whole(artifacts: ArtifactStore, item: ContextItem) -> str:
    async with artifacts.body("acme", item) as body:
        return body.read_text() if isinstance(body, Path) else body


@pytest.mark.parametrize("size", [10, THRESHOLD_BYTES, THRESHOLD_BYTES + 1, 3_000_000])
async def test_a_kept_body_comes_back_whole(artifacts: ArtifactStore, size: int) -> None:
    item = result("r", "x" * size)
    kept = await artifacts.keep("acme", item)
    assert (kept.body is None) == (size <= THRESHOLD_BYTES)
    assert len(kept.text) <= THRESHOLD_BYTES
    assert await whole(artifacts, kept) == item.text


async def test_the_file_of_a_large_body_is_gone_after_reading(artifacts: ArtifactStore) -> None:
    kept = await artifacts.keep("acme", result("r", "x" * (THRESHOLD_BYTES + 1)))
    async with artifacts.body("acme", kept) as body:
        assert isinstance(body, Path)
    assert not body.exists()


async def test_text_of_a_trusted_body_is_bounded(artifacts: ArtifactStore) -> None:
    kept = await artifacts.keep("acme", ContextItem("u", ItemKind.USER_TURN, "é" * 2_000_000))
    assert len((await artifacts.text("acme", kept)).encode()) == 1 << 20


async def test_an_artifacts_item_is_read_from_the_log_and_checked(
    artifacts: ArtifactStore, log: Connection
) -> None:
    [ack] = await publish(log, "s1", [result("r", "raw")])
    assert (await artifacts.item(ack.sequence, "r")).text == "raw"
    with pytest.raises(Corrupt, match="is not item 'other'"):
        await artifacts.item(ack.sequence, "other")
    with pytest.raises(NotFound):
        await artifacts.item(ack.sequence + 1, "r")


async def test_a_body_that_was_never_stored_is_not_found(artifacts: ArtifactStore) -> None:
    item = ContextItem("r", ItemKind.TOOL_RESULT, body=BodyRef("0" * 64, 5))
    with pytest.raises(NotFound, match="was erased or never stored"):
        await whole(artifacts, item)
