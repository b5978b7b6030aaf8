"""What an author gets wrong must not type-check; each line names the error that mypy gives."""

import weft


async def wrong(client: weft.Client) -> None:
    await client.publish("s1", "text")  # type: ignore[arg-type]
    await client.publish("s1", {"id": "x"})  # type: ignore[dict-item]
    await client.compile("s1")  # type: ignore[call-arg]
    await client.compile("s1", phase="call", after="7")  # type: ignore[arg-type]
    pack = await client.compile("s1", phase="call")
    pack.request("mistral")  # type: ignore[arg-type]
    with weft.connect_sync() as blocking:
        blocking.compile("s1")  # type: ignore[call-arg]
        blocking.session("s1").request("mistral")  # type: ignore[arg-type]
    pack.prompt = "other"  # type: ignore[misc]
    weft.ContextItem("id", "user_turn")  # type: ignore[arg-type]
    weft.nothing  # type: ignore[attr-defined]  # noqa: B018
