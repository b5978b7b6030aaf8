"""`weft facts` on a real server."""

import pytest
from tests.integration.command_line import weft
from tests.integration.logged import publish_raw

import weft as package
from weft_schemas.events import FactsEvent, MemoryFact, Origin, encode_event
from weft_schemas.subjects import derived_subject

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 60.0


async def test_what_a_scope_remembers_is_listed_with_its_sources(url: str) -> None:
    async with package.connect(url, tenant="listing") as client:
        async with client.session("s1", scope="user:42") as s:
            s.add({"role": "user", "content": "My name is Ada Obi."})
        [item] = [record async for record in client.events("s1")]
        source = item.event().id
        learned = FactsEvent(
            Origin(item.sequence, source, "memory"),
            "user:42",
            (MemoryFact("user_name", "Ada Obi", (source,)),),
        )
        subject = derived_subject("listing", "s1", "fact")
        made = await publish_raw(client.connection, subject, encode_event(learned))
        [fact] = await client.facts("user:42", after=made.sequence, timeout=PATIENCE)
    assert (fact.value, fact.session, fact.sequence) == ("Ada Obi", "s1", item.sequence)
    listed = await weft("facts", "user:42", "--tenant", "listing", url=url)
    assert (listed.code, "Ada Obi" in listed.out, fact.sources[0] in listed.out) == (0, True, True)
    as_json = await weft("facts", "user:42", "--tenant", "listing", "--json", url=url)
    assert [one["key"] for one in as_json.json] == [fact.key]
    none = await weft("facts", "user:7", "--tenant", "listing", url=url)
    assert (none.out, none.err) == ("", "nothing is remembered for user:7\n")
    other = await weft("facts", "session:s1", "--tenant", "listing", url=url)
    assert other.code != 0
    assert "scope 'session:s1' is not granted" in other.err
    empty = await weft("facts", "", "--tenant", "listing", url=url)
    assert (empty.code != 0, "scope is empty; name a user" in empty.err) == (True, True)
