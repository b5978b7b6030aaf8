"""`weft eval reading` against running services and a scripted model: cases made of a file and of a
session in the log, asked, and scored."""

import json
from pathlib import Path

import pytest
from tests.chat_endpoint import ChatServer
from tests.integration.command_line import weft

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOISE = "The weather in Oslo is mild, with light rain in the evening and some wind at night. " * 40


def called(id: str, name: str, **arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": function}]}


def chat(order: str) -> list[dict[str, object]]:
    """Asks to pay an order; the agent finds it, looks at the weather, and pays."""
    return [
        {"role": "system", "content": "Pay only what was asked for."},
        {"role": "user", "content": f"Please pay order {order} by card."},
        called("c1", "find", order=order),
        {"role": "tool", "tool_call_id": "c1", "content": '{"payment": "visa_991"}'},
        called("c2", "weather", city="Oslo"),
        {"role": "tool", "tool_call_id": "c2", "content": NOISE},
        called("c3", "pay", order=order, payment="visa_991"),
    ]


def model(instruction: str, question: str) -> str:
    """Pays with what the case states."""
    order = next((word for word in question.split() if word.startswith("ORD-")), "UNKNOWN")
    payment = "visa_991" if "visa_991" in question else "UNKNOWN"
    answer = {"name": "pay", "arguments": {"order": order, "payment": payment}}
    return f"I would pay.\n```json\n{json.dumps({**answer, 'misled': ''})}\n```"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([{"messages": chat(f"ORD-{n}")} for n in (1001, 1002, 1003)]))
    return file


async def test_a_file_is_made_into_cases_asked_and_scored(
    url: str, runs: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    made = await weft(
        "eval", "reading", "cases", out, str(runs), "--budget", "300", "--form", "weft",
        "--form", "tail", "--form", "full", "--json", url=url,
    )  # fmt: skip
    assert made.code == 0, made.err
    assert made.json == {"folder": out, "cases": {"runs 300": 3}}
    gold = json.loads((Path(out) / "gold.json").read_text())
    assert [case["values"][1] for case in gold] == ["visa_991"] * 3
    assert all(case["policy"] == "Pay only what was asked for." for case in gold)

    with ChatServer(model, refusals=1) as server:
        settings = {"WEFT_READING_API_KEY": "k1"}
        given = ("eval", "reading", "ask", out, "--url", server.url, "--model", "tiny")
        asked = await weft(*given, settings=settings)
        assert asked.code == 0, asked.err
        assert "9 cases answered by tiny" in asked.out
        assert len(server.requests) == 10  # the one refused was asked again
        assert set(server.authorization) == {"Bearer k1"}
        assert "- pay(order, payment)" in server.requests[0]["messages"][0]["content"]
        again = await weft(*given, settings=settings)
        assert "0 cases answered" in again.out

    scored = await weft("eval", "reading", "score", out, "--json")
    assert scored.code == 0, scored.err
    rows = {row["form"]: row for row in scored.json["rows"]}
    assert list(rows) == ["full", "weft", "tail"]
    assert rows["full"] == {
        "kind": "runs", "budget": 300, "form": "full", "n": 3, "values": 1.0, "tool": 1.0,
        "exact": 1.0, "unknown": 0, "misled": 0, "unanswered": 0,
    }  # fmt: skip
    assert rows["tail"]["unknown"] == 3
    assert rows["weft"]["tool"] == 1.0
    scored = await weft("eval", "reading", "score", out)
    assert "unanswered" in scored.out


async def test_a_reply_that_names_no_call_is_told_and_asked_for_again(
    url: str, runs: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    made = await weft(
        "eval", "reading", "cases", out, str(runs), "--budget", "300", "--form", "full", url=url
    )
    assert made.code == 0, made.err
    replies = ["I cannot say.", "{}"]

    def answer(instruction: str, question: str) -> str:
        return replies.pop() if replies else model(instruction, question)

    with ChatServer(answer) as server:
        given = ("eval", "reading", "ask", out, "--url", server.url, "--model", "tiny")
        first = await weft(*given, "--parallel", "1")
        assert first.out.endswith(": 1 cases answered by tiny\n")
        assert "2 more replies name no call" in first.err
        again = await weft(*given)
        assert again.out.endswith(": 2 cases answered by tiny\n")
        assert "name no call" not in again.err
    scored = (await weft("eval", "reading", "score", out, "--json")).json
    assert [row["unanswered"] for row in scored["rows"]] == [0]


async def test_a_model_that_refuses_a_case_leaves_it_unanswered(
    url: str, runs: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    made = await weft("eval", "reading", "cases", out, str(runs), "--budget", "300", url=url)
    assert made.code == 0, made.err
    refused: list[str] = []

    def answer(instruction: str, question: str) -> str | None:
        if not refused:
            refused.append(question)
            return None
        return model(instruction, question)

    with ChatServer(answer) as server:
        given = ("eval", "reading", "ask", out, "--url", server.url, "--model", "tiny")
        asked = await weft(*given, "--parallel", "1")
        assert asked.code == 0, asked.err
    scored = await weft("eval", "reading", "score", out, "--json")
    assert sum(row["unanswered"] for row in scored.json["rows"]) == 1


async def test_a_session_in_the_log_is_read_as_it_stood_before_the_step(
    url: str, tmp_path: Path
) -> None:
    items = json.dumps(chat("ORD-2001")).encode()
    done = await weft("publish", "-", "--session", "paid", url=url, given=items)
    assert done.code == 0, done.err
    until = ("--after", "7", "--timeout", "60")
    await weft("compile", "-s", "paid", "-p", "call", *until, url=url)
    out = tmp_path / "out"
    made = await weft(
        "eval", "reading", "cases", str(out), "--session", "paid", "--budget", "300", url=url
    )
    assert made.code == 0, made.err
    (case,) = json.loads((out / "gold.json").read_text())
    assert (case["kind"], case["gold"][0]["name"]) == ("log", "pay")
    assert "ORD-2001" in case["prompts"]["weft"]
    assert "pay(" not in case["prompts"]["weft"]
    assert case["prompts"]["full"].endswith(NOISE)


async def test_what_cannot_be_made_or_asked_is_said(url: str, runs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    none = await weft("eval", "reading", "cases", out, url=url)
    assert (none.code, "give FILES or --session" in none.err) == (2, True)
    unknown = await weft("eval", "reading", "cases", out, "--session", "nobody", url=url)
    assert (unknown.code, "nobody" in unknown.err) == (4, True)
    huge = ("--budget", "90000", "--tenant", "default")
    unfit = await weft("eval", "reading", "cases", out, str(runs), *huge, url=url)
    assert (unfit.code, "no moment fits" in unfit.err) == (2, True)
    without = await weft("eval", "reading", "ask", out)
    assert "WEFT_READING_URL" in without.err
    assert without.code != 0
    early = await weft("eval", "reading", "score", out)
    assert (early.code, "gold.json" in early.err) == (2, True)
