"""Which replicas run, as an erasure asks: one that is slow to answer is not taken for none."""

import asyncio

import msgspec

from weft.log.connection import Connection
from weft.log.replicas import ANSWER_SECONDS, ReplicaState, answer, replicas

STATE = ReplicaState("host/data (process 1)", 7, 5)


async def test_a_replica_that_is_slow_to_answer_is_waited_for(log: Connection) -> None:
    """Such as one that writes its file anew, on a machine that is busy."""

    def take(subject: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        body = msgspec.json.encode(STATE)
        late = b"PUB %b %d\r\n%b\r\n" % (to, len(body), body)
        asyncio.get_running_loop().call_later(ANSWER_SECONDS + 0.5, log.write_soon, late)

    listener = await log.listen("weft-rpc.*.@tenant.replicas", take)
    assert await replicas(log, "acme") == [STATE]
    await listener.close()


async def test_two_replicas_both_answer(log: Connection) -> None:
    other = ReplicaState("host/other (process 2)", 8, 8)
    listeners = [await answer(log, lambda state=state: state) for state in (other, STATE)]
    assert await replicas(log, "acme") == [STATE, other]
    for listener in listeners:
        await listener.close()


async def test_where_none_runs_none_is_waited_for(log: Connection) -> None:
    async with asyncio.timeout(60):
        assert await replicas(log, "acme") == []
