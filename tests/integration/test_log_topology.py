"""The log's streams and consumers: made once, kept, never changed for the worse."""

from typing import Any

import pytest

from weft.log import topology
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import LogLimits, provision
from weft_schemas.errors import ConfigurationError
from weft_schemas.subjects import item_subject


async def test_provisioning_twice_changes_nothing(log: Connection) -> None:
    assert await provision(log) == []


async def test_a_published_subject_is_stored_in_its_partitioned_form(log: Connection) -> None:
    await log.jetstream().publish(item_subject("acme", "s1", "user_turn"), b"{}")
    stored = await call(log, "STREAM.MSG.GET.weft", {"seq": 1})
    parts = stored["message"]["subject"].split(".")
    assert (parts[:2], parts[3:]) == (["w", "in"], ["acme", "s1", "user_turn"])
    assert 0 <= int(parts[2]) < 16


async def test_a_tighter_age_limit_is_refused(log: Connection) -> None:
    with pytest.raises(ConfigurationError, match="stream weft: max_age is 0, wanted"):
        await provision(log, limits=LogLimits(max_age=60))
    assert (await call(log, "STREAM.INFO.weft"))["config"]["max_age"] == 0


async def test_a_looser_limit_is_applied(log: Connection) -> None:
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await call(log, "STREAM.UPDATE.weft", {**config, "max_bytes": 1_000_000})
    changes = await provision(log)
    assert [(c.action, c.field) for c in changes] == [("update", "max_bytes")]
    assert (await call(log, "STREAM.INFO.weft"))["config"]["max_bytes"] == -1


async def test_a_drifted_consumer_filter_is_refused(log: Connection) -> None:
    info = await call(log, "CONSUMER.INFO.weft.firewall")
    await call(log, "CONSUMER.DELETE.weft.firewall")
    config = {**info["config"], "filter_subject": "w.out.>"}
    body = {"stream_name": "weft", "config": config}
    await call(log, "CONSUMER.CREATE.weft.firewall.w.out.>", body)
    with pytest.raises(ConfigurationError, match="consumer weft/firewall: filter_subject"):
        await provision(log)


async def test_a_deleted_consumer_is_made_again(log: Connection) -> None:
    await call(log, "CONSUMER.DELETE.weft.memory")
    changes = await provision(log)
    assert [(c.action, c.target) for c in changes] == [("create", "consumer weft/memory")]


async def test_metadata_that_come_while_it_provisions_stay(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when `weft trim` runs beside it."""
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await call(log, "STREAM.UPDATE.weft", {**config, "max_bytes": 1_000_000})
    compare = topology.actual

    async def and_trimmed(*given: Any) -> topology.Topology:
        found = await compare(*given)
        await topology.add_metadata(log, "weft", {"weft.trimmed_before": "9"})
        return found

    monkeypatch.setattr(topology, "actual", and_trimmed)
    await provision(log)
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    assert (config["max_bytes"], config["metadata"]["weft.trimmed_before"]) == (-1, "9")
