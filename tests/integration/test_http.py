"""`weft serve` over HTTP, on a real log with every service: each operation, and each refusal."""

import asyncio
import gzip
import json
import re
from typing import Any

import pytest
from tests.integration.serving import item, publish

from weft.client import Client
from weft.http.operations import OPERATIONS
from weft.runtime.settings import Settings
from weft_schemas.routing import Catalog, SelectableItem

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDERS = "\n".join(f"order {number} of customer C-{number % 7}: open" for number in range(3_000))
QUIET_READS = 8
"""Reads of the status, a tenth of a second apart, that say the same once nothing more comes."""


def events_of(text: str) -> list[dict[str, str]]:
    """Server-sent events as the standard reads them, comments left out."""
    found = []
    for block in text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line and line[0] != ":"]
        if lines:
            found.append({name: value for name, _, value in lines})
    return found


async def test_a_session_from_its_items_to_its_prompt(http):
    calls = [
        item("m1"),
        item("c1", "tool_call", "orders()", parent_id="m1", metadata={"tool_name": "orders"}),
        item("r1", "tool_result", ORDERS, parent_id="c1"),
    ]
    first = (await publish(http, "s1", calls))["ack"]
    assert (first["count"], first["ids"]) == (3, ["m1", "c1", "r1"])

    reply = await http.post(
        "/v1/sessions/s1/compile?provider=anthropic",
        json={"phase": "answer", "after": first["sequence"], "timeout": 30, "query": "order 2999"},
    )
    compiled = reply.json()
    assert "Which order?" in compiled["pack"]["prompt"]
    assert compiled["pack"]["pending"] == []
    assert compiled["request"]["messages"][0]["role"] == "user"
    (handle,) = {one["handle"] for one in compiled["pack"]["entries"] if "handle" in one}

    slice_of = await http.post(
        "/v1/drilldown",
        json={"handle": handle, "view": "search", "args": {"pattern": "order 1234 "}},
    )
    assert "order 1234 of customer C-2" in slice_of.json()["text"]

    asked = {"item_id": "m1", "request": {"phase": "answer"}}
    why = (await http.post("/v1/sessions/s1/explain", json=asked)).json()
    assert (why["included"], why["rule"], why["turn"]) == (True, "latest", 1)

    listed = (await http.get("/v1/sessions?limit=1000")).json()["sessions"]
    assert [one["items"] for one in listed if one["session"] == "s1"] == [3]
    assert (await http.get("/v1/sessions/s1/status")).json()["items"] == 3
    status = (await http.get("/v1/status?processes=true")).json()
    assert {"firewall", "compiler"} <= {one["service"] for one in status["processes"]}


async def test_publishing_again_changes_nothing_and_other_content_is_told_as_a_conflict(http):
    await publish(http, "again", item("m1"))
    same = await publish(http, "again", [item("m1"), item("m2")], "?confirm=true")
    assert same["confirmation"]["duplicates"] == ["m1"]
    assert same["confirmation"]["stored"] == 1
    for _ in range(2):
        other = await publish(http, "again", item("m1", text="Another one."), "?confirm=true")
        assert [one["item_id"] for one in other["confirmation"]["conflicts"]] == ["m1"]
        assert "digests" not in other["ack"]


async def test_a_whole_history_is_handed_over_at_every_step(http):
    path = "/v1/sessions/history/messages"
    said = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    first = (await http.post(path, json={"messages": said})).json()
    assert len(first["new"]) == 2
    more = {"messages": [*said, {"role": "user", "content": "Which order?"}]}
    second = (await http.post(path, json=more)).json()
    assert len(second["new"]) == 1
    edited = {"messages": [{"role": "user", "content": "Hi?"}, *more["messages"][1:]]}
    third = (await http.post(path, json=edited)).json()
    assert [one["index"] for one in third["conflicts"]] == [0]
    refused = await http.post(path, json=edited | {"on_edit": "raise"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_an_idempotency_key_gives_the_first_answer_again_and_takes_no_other_body(http):
    ack = (await publish(http, "keyed", item("m1")))["ack"]
    asked = {"phase": "answer", "after": ack["sequence"], "timeout": 30}
    headers = {"Idempotency-Key": "k1"}
    at_once = await asyncio.gather(
        *(http.post("/v1/sessions/keyed/compile", json=asked, headers=headers) for _ in range(3))
    )
    assert len({reply.json()["pack"]["id"] for reply in at_once}) == 1
    assert [reply.headers.get("idempotency-replayed") for reply in at_once].count(None) == 1
    asked["query"] = "another question"
    other = await http.post("/v1/sessions/keyed/compile", json=asked, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key")
    elsewhere = await http.post("/v1/sessions/keyed/compile", json=asked)
    assert elsewhere.json()["pack"]["id"] != at_once[0].json()["pack"]["id"]


async def test_an_idempotency_key_counts_for_one_address(http):
    headers = {"Idempotency-Key": "k3"}
    await publish(http, "keyed", item("m1"))
    bodies = {"compile": {"phase": "answer"}, "compile?provider=openai": {"phase": "route"}}
    for address, body in bodies.items():
        reply = await http.post(f"/v1/sessions/keyed/{address}", json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        assert "idempotency-replayed" not in reply.headers
    other = await http.post("/v1/sessions/keyed/compile", json={"phase": "call"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key")
    assert "to this address" in other.json()["detail"]


async def test_an_idempotency_key_does_not_apply_to_a_compile_as_a_stream(http):
    """As the document says: each is made anew, whatever came under the key before."""
    ack = (await publish(http, "unkeyed", item("m1")))["ack"]
    headers = {"Idempotency-Key": "k2", "Accept": "text/event-stream"}
    for query in ("one question", "another question"):
        asked = {"phase": "answer", "query": query, "after": ack["sequence"], "timeout": 30}
        reply = await http.post("/v1/sessions/unkeyed/compile", json=asked, headers=headers)
        assert reply.status_code == 200
        assert "idempotency-replayed" not in reply.headers
        assert events_of(reply.text)[-1]["event"] == "compiled"


async def test_a_compile_as_a_stream_tells_what_it_waits_for_and_then_the_context(http):
    ack = (await publish(http, "waits", item("m1")))["ack"]
    asked = {"phase": "answer", "after": ack["sequence"] + 1_000_000, "timeout": 1.5}
    headers = {"Accept": "text/event-stream"}
    reply = await http.post("/v1/sessions/waits/compile", json=asked, headers=headers)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = events_of(reply.text)
    assert [one["event"] for one in events] == [*["progress"] * (len(events) - 1), "compiled"]
    assert json.loads(events[0]["data"])["after"] == asked["after"]
    assert "Which order?" in json.loads(events[-1]["data"])["pack"]["prompt"]
    nobody = await http.post(
        "/v1/sessions/nobody/compile", json={"phase": "answer"}, headers=headers
    )
    assert (nobody.status_code, nobody.json()["code"]) == (404, "not_found")


async def test_events_come_as_a_stream_that_resumes_and_goes_on(http):
    first = (await publish(http, "streamed", [item("m1"), item("m2")]))["ack"]["first"]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(first)}
    got: list[dict[str, str]] = []
    async with (
        asyncio.timeout(60),
        http.stream("GET", "/v1/sessions/streamed/events", headers=headers) as reply,
    ):
        async for line in reply.aiter_lines():
            if line.startswith("id: "):
                got.append({"id": line[4:]})
            elif line.startswith("data: "):
                got[-1]["item"] = json.loads(line[6:])["event"]["id"]
                if len(got) == 1:
                    await publish(http, "streamed", item("m3"))
                else:
                    break
    assert [one["item"] for one in got] == ["m2", "m3"]
    assert int(got[0]["id"]) > first


async def test_events_come_in_pages(http):
    await publish(http, "paged", [item(f"m{number}") for number in range(5)])
    found, first = [], 1
    while first is not None:
        page = (await http.get(f"/v1/sessions/paged/events?limit=2&first={first}")).json()
        assert len(page["events"]) <= 2
        found += [one["event"]["id"] for one in page["events"] if one["direction"] == "in"]
        first = page["next"]
    assert found == [f"m{number}" for number in range(5)]


async def test_tools_are_routed_hydrated_and_chosen(http, nats_url):
    tools = (
        SelectableItem("mail", "send_mail", "Send an e-mail to a customer."),
        SelectableItem(
            "refund",
            "refund_order",
            "Refund an order.",
            args_schema={"type": "object", "properties": {"order_id": {"type": "string"}}},
        ),
    )
    async with Client(Settings(nats_url=nats_url)) as operator:
        version = (await operator.publish_catalog(Catalog("shop", tools))).sequence
    ack = (await publish(http, "routed", item("m1", text="Refund order O-20614.")))["ack"]
    asked = {"query": "refund an order", "catalog": "shop", "after": version, "timeout": 30}
    cards = (await http.post("/v1/route?session=routed", json=asked)).json()
    assert cards["cards"][0]["name"] == "refund_order"
    chosen = await http.post("/v1/choose", json={"decision": cards["id"], "item": "refund"})
    assert chosen.json()["sequence"] > 0
    asked = {"tool": "refund_order", "catalog": "shop", "after": ack["sequence"], "timeout": 30}
    whole = (await http.post("/v1/sessions/routed/hydrate", json=asked)).json()
    assert whole["tool"]["args_schema"]["properties"]["order_id"] == {"type": "string"}


async def test_a_session_is_closed_with_or_without_a_body(http):
    await publish(http, "bare", item("m1"))
    path = "/v1/sessions/bare/close"
    form = {"content-type": "application/x-www-form-urlencoded"}  # as of `curl -d ''`
    for headers in ({}, form, {"content-type": "application/json"}, {"idempotency-key": "k"}):
        done = await http.post(path, content=b"", headers=headers)
        assert done.json()["session"] == "bare", done.text
    assert (await http.post(path, content=b"{}", headers=form)).status_code == 415
    assert (await http.post("/v1/sessions/bare/compile")).status_code == 415


async def settled_sequence(http):
    """Of the last event that is folded, once nothing more is derived of what was published."""
    seen = [(await http.get("/v1/status")).json()["sequence"]]
    async with asyncio.timeout(30):
        while len(seen) < QUIET_READS or seen[-QUIET_READS] != seen[-1]:
            await asyncio.sleep(0.1)
            seen.append((await http.get("/v1/status")).json()["sequence"])
    return seen[-1]


async def test_a_session_that_never_was_is_not_found(http):
    listed = await settled_sequence(http)
    for method, path in (("GET", "status"), ("GET", "events"), ("POST", "close")):
        reply = await http.request(method, f"/v1/sessions/nosuch/{path}")
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found"), reply.text
        assert "'nosuch'" in reply.json()["detail"]
    assert await settled_sequence(http) == listed
    await publish(http, "nosuch", item("m1"))
    assert (await http.get("/v1/sessions/nosuch/status")).json()["items"] == 1


async def test_a_session_is_closed(http):
    await publish(http, "closed", item("m1"))
    closed = (await http.post("/v1/sessions/closed/close", json={})).json()
    async with asyncio.timeout(60):
        while (await http.get("/v1/status")).json()["sequence"] < closed["sequence"]:
            await asyncio.sleep(0.05)
    listed = (await http.get("/v1/sessions?beyond=close&limit=1")).json()
    assert [(one["session"], one["closed"]) for one in listed["sessions"]] == [("closed", True)]
    assert listed["next"] == "closed"


@pytest.mark.parametrize("session", ["größe 1", "=", "=YS9i", "a%2Fb", "x" * 200])
async def test_any_session_id_can_be_named(http, session):
    from urllib.parse import quote

    from weft_schemas.ids import encode_token

    segment = quote(session, safe="") if session[0] != "=" else encode_token(session)
    got = await publish(http, segment, item("m1"))
    assert got["ack"]["session"] == session


async def test_an_id_that_is_no_utf8_is_refused(http) -> None:
    """Each such byte would read as the same character, and two sessions would be one."""
    item = {"id": "m1", "kind": "user_turn", "text": "hello"}
    for session, status in (("%ff", 400), ("a%c3", 400), ("%EF%BF%BD", 200), ("%C3%A9", 200)):
        answer = await http.post(f"/v1/sessions/{session}/items", json=item)
        assert answer.status_code == status, session
        assert status == 200 or "is not UTF-8; percent-encode" in answer.json()["detail"]


async def test_an_id_in_base64url_names_its_session_whatever_the_id(http):
    got = await publish(http, "=cGxhaW4taWQ", item("m1"))
    assert got["ack"]["session"] == "plain-id"


SHORT = {"phase": "answer"}
LONG = {"phase": "answer", "timeout": 61}
REFUSED: list[tuple[str, str, dict[str, Any], int, str, str]] = [
    ("POST", "s1/items", {"content": b"{"}, 400, "invalid_input", "not JSON"),
    ("POST", "s1/items", {"content": b"[" * 100_000}, 400, "invalid_input", ""),
    ("POST", "s1/items", {"json": {"id": "m1"}}, 400, "invalid_input", "`kind`"),
    ("POST", "s1/items", {"json": item("m1", extra=1)}, 400, "invalid_input", "`extra`"),
    ("POST", "s1/items", {"json": item("m1", v=9)}, 400, "unknown_version", "this release knows"),
    ("POST", "s1/items", {"json": item("")}, 400, "invalid_input", "$.id"),
    ("POST", "s1/items", {"content": b'{"id":"\xff"}'}, 400, "invalid_input", ""),
    ("POST", "@tenant/items", {"json": item("m1")}, 400, "invalid_input", "name a session"),
    ("POST", "=!!/items", {"json": item("m1")}, 400, "invalid_input", "an id's UTF-8"),
    ("POST", "=_w/items", {"json": item("m1")}, 400, "invalid_input", "in base64url; write an id"),
    ("POST", "=QHRlbmFudA/items", {"json": item("m1")}, 400, "invalid_input", "name a session"),
    ("POST", "=/items", {"json": item("m1")}, 400, "invalid_input", "0 bytes"),
    ("POST", "s1/compile", {"json": {"phase": "think"}}, 400, "invalid_input", "route, call, "),
    ("POST", "s1/items", {"json": item("m1", kind="user")}, 400, "invalid_input", "user_turn, "),
    ("POST", "s1/compile", {"json": LONG}, 400, "invalid_input", "$.timeout"),
    ("POST", "s1/compile", {"json": {"phase": "call", "budget": "5"}}, 400, "invalid_input", "int"),
    ("POST", "s1/compile?provider=x", {"json": SHORT}, 400, "invalid_input", "openai, "),
    ("POST", "s1/compile?budget=5", {"json": SHORT}, 400, "invalid_input", "no parameter 'budget'"),
    ("POST", "nobody/compile", {"json": {"phase": "call"}}, 404, "not_found", "no item"),
    (
        "POST",
        "s1/explain",
        {"json": {"item_id": "", "request": SHORT}},
        404,
        "not_found",
        "no item",
    ),
    ("GET", "s1/events?limit=0", {}, 400, "invalid_input", "limit"),
    ("GET", "s1/events", {"headers": {"Last-Event-ID": "x"}}, 400, "invalid_input", "sequence"),
    ("GET", "s1/nowhere", {}, 404, "path", "/openapi.json"),
    ("GET", "s1/compile", {}, 405, "method", "GET"),
    ("POST", "s1/items", {"content": b"x" * 1_000_001}, 413, "size", "1,000,000"),
]


@pytest.mark.parametrize(("method", "path", "sent", "status", "code", "detail"), REFUSED)
async def test_a_refusal_says_what_is_wrong(http, method, path, sent, status, code, detail):
    if "content" in sent:
        sent = sent | {"headers": {"Content-Type": "application/json"}}
    reply = await http.request(method, f"/v1/sessions/{path}", **sent)
    problem = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert detail in problem["detail"], problem


async def test_a_body_is_json_plain_or_gzipped_within_the_limit(http):
    path, good = "/v1/sessions/zipped/items", json.dumps(item("m1")).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    zipped = await http.post(path, content=gzip.compress(good), headers=headers)
    assert zipped.json()["ack"]["count"] == 1
    members = gzip.compress(good[:9]) + gzip.compress(b"") + gzip.compress(good[9:])
    assert (await http.post(path, content=members, headers=headers)).status_code == 200
    half = gzip.compress(b" " * 600_000)
    for bomb in (gzip.compress(b" " * 2_000_000), half + half):
        assert (await http.post(path, content=bomb, headers=headers)).status_code == 413
    for content in (good, gzip.compress(good)[:-9], gzip.compress(good) + b"more"):
        assert (await http.post(path, content=content, headers=headers)).status_code == 400
    form = await http.post(path, content=good, headers={"Content-Type": "text/plain"})
    assert (form.status_code, form.json()["code"]) == (415, "media_type")
    brotli = headers | {"Content-Encoding": "br"}
    assert (await http.post(path, content=good, headers=brotli)).status_code == 415


async def counted(http, service: str) -> dict[str, float]:
    """How many requests ended with each code."""
    lines = (await http.get("/metrics")).text
    of_service = rf'^weft_requests_total{{code="(\w+)",.*service="{service}"}} (\S+)'
    return {code: float(number) for code, number in re.findall(of_service, lines, re.M)}


async def test_a_body_that_is_too_large_is_counted_as_a_failure(http):
    before = await counted(http, "close")
    headers = {"Content-Type": "application/json"}
    for path in ("s1/close", "s2/close"):
        await http.post(f"/v1/sessions/{path}", content=b" " * 1_000_001, headers=headers)
    after = await counted(http, "close")
    assert after["other"] == before.get("other", 0) + 2
    assert after.get("ok") == before.get("ok")


async def test_a_stream_is_in_work_until_its_end_and_its_body_too(http):
    """Two bodies of nearly the longest wait as streams: a third is refused until they end."""
    ack = (await publish(http, "in-work", item("m1")))["ack"]
    before = await counted(http, "compile")
    asked = {"phase": "answer", "after": ack["sequence"] + 50, "timeout": 30}
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    sent = {"content": json.dumps(asked).encode().ljust(900_000), "headers": headers}
    path, ends = "/v1/sessions/in-work/compile", []
    async with http.stream("POST", path, **sent) as one, http.stream("POST", path, **sent) as two:
        streams = [one.aiter_text(), two.aiter_text()]
        assert ["progress" in await anext(stream) for stream in streams] == [True, True]
        refused = await http.post(path, **sent)
        assert (refused.status_code, refused.json()["code"]) == (429, "bodies")
        assert refused.headers["retry-after"] == "1"
        assert (await counted(http, "compile")).get("ok") == before.get("ok")
        await publish(http, "in-work", [item(f"n{number}") for number in range(50)])
        for stream in streams:
            ends.append("".join([text async for text in stream]))
    assert ["event: compiled" in end for end in ends] == [True, True]
    assert (await counted(http, "compile"))["ok"] == before.get("ok", 0) + 2
    assert (await http.post(path, **sent)).status_code == 200


async def test_without_tokens_a_page_of_another_name_is_not_let_in(http):
    reply = await http.get("/v1/sessions", headers={"Host": "weft.example.org"})
    assert (reply.status_code, reply.json()["code"]) == (403, "host")


FOREIGN = {"Origin": "https://evil.example"}


@pytest.mark.parametrize(
    "headers",
    [
        {**FOREIGN, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:3000"},
        FOREIGN,
        {"Origin": "null"},
    ],
)
async def test_without_tokens_a_page_of_another_address_changes_nothing(http, headers):
    await publish(http, "kept", item("m1"))
    before = await settled_sequence(http)
    for path in ("kept/close", "kept/items", "kept/compile", "nosuch/close"):
        reply = await http.post(f"/v1/sessions/{path}", headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (403, "origin")
        assert headers["Origin"] in reply.json()["detail"]
    assert (await http.get("/v1/status", headers=headers)).status_code == 403
    assert await settled_sequence(http) == before


async def test_weft_s_own_page_is_let_in(http):
    own = f"http://{http.base_url.netloc.decode()}"
    for headers in (
        {"Origin": own},
        {"Origin": own, "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ):
        assert (await http.get("/v1/status", headers=headers)).status_code == 200


async def test_the_document_lists_every_operation_and_the_page_loads_nothing_from_elsewhere(http):
    document = (await http.get("/openapi.json")).json()
    listed = {
        (method.upper(), path, operation["operationId"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert {(one.method, one.path, one.name) for one in OPERATIONS} <= listed
    page = await http.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace('http-equiv="', "")
    await publish(http, "counted", item("m1"))
    assert (await http.get("/live")).text == "live\n"
    assert (await http.get("/ready")).text == "ready\n"
    assert 'service="publish"' in (await http.get("/metrics")).text


async def test_a_compile_tells_how_many_pictures_it_only_names(http) -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://a.example/cat.png"}}
    told = {"messages": [{"role": "user", "content": [{"type": "text", "text": "?"}, picture]}]}
    address = "/v1/sessions/pictures"
    after = (await http.post(f"{address}/messages", json=told)).json()["sequence"]
    asked = {"phase": "answer", "after": after, "timeout": 60}
    for query in ("", "?provider=anthropic"):
        made = (await http.post(f"{address}/compile{query}", json=asked)).json()
        assert made["left_out"] == {"image": 1}


async def test_a_compile_shows_memory_of_no_more_scopes_than_it_asks_for(http) -> None:
    ada = {"scope": "user:ada"}
    fact = item(
        "f", "memory_fact", "airport=Lisbon", metadata={**ada, "key": "airport", "value": "Lisbon"}
    )
    await publish(http, "scopes-1", [fact])
    acked = await publish(http, "scopes-2", [item("u", text="Book it.", metadata=ada)])
    asked = {"phase": "answer", "after": acked["ack"]["sequence"], "timeout": 20}

    async def shown() -> str:
        reply = await http.post("/v1/sessions/scopes-2/compile", json=asked)
        return reply.json()["pack"]["prompt"]

    async with asyncio.timeout(20):
        while "Lisbon" not in await shown():  # nobody waits for memory but who wants it
            await asyncio.sleep(0.05)
    less = (await http.post("/v1/sessions/scopes-2/compile", json={**asked, "scopes": []})).json()
    assert "Lisbon" not in less["pack"]["prompt"]
