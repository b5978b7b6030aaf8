"""Workers of one's own, without a server: FastStream's test broker and the worker's own loop."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from examples.birthdays import birthdays
from examples.classifier import salaries
from faststream.nats import TestNatsBroker
from faststream.nats.annotations import NatsMessage
from faststream.specification import AsyncAPI
from tests.birthday_functions import Birthday, Later, birthday, later

from weft.cli.services import SERVICES
from weft.log.topology import WORKERS
from weft.testing import broker_of, derived
from weft.workers import Deriver, Source, derives
from weft.workers.running import loaded
from weft.workers.work_context import WorkContext
from weft_schemas.errors import ConfigurationError, InvalidInput, Unavailable
from weft_schemas.events import (
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    SensitivityEvent,
    SummaryEvent,
    encode_event,
)
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy

PATIENCE = 60
TURNS = "weft.acme.s1.in.user_turn"


def turn(text: str) -> bytes:
    return encode_event(ContextItem("u1", ItemKind.USER_TURN, text))


async def ask(worker: Deriver, body: bytes, subject: str = TURNS) -> Any:
    async with TestNatsBroker(broker_of(worker)) as broker:
        return derived(await broker.request(body, subject, timeout=PATIENCE))


async def test_a_function_becomes_a_worker() -> None:
    (facts,) = await ask(birthdays, turn("I was born on 1990-02-03."))
    assert isinstance(facts, FactsEvent)
    assert (facts.scope, facts.facts[0].key) == ("session:s1", "user_birthday")
    assert facts.facts[0].value == "1990-02-03"
    assert (facts.origin.worker, facts.origin.item_id) == ("birthdays", "u1")
    assert await ask(birthdays, turn("Hello.")) == []


def source(item: ContextItem) -> Source:
    made = ("acme", "s1", str(item.kind), 1, ContextPolicy(), Origin(sequence=1, item_id=item.id))
    return Source(item, *made, body=item.text)


def test_called_as_a_function_it_takes_what_it_takes_of_the_log() -> None:
    worker = Deriver("greetings", "1")

    @worker.of("user_turn", when=lambda source: source.item.id == "first")
    def first(source: Source) -> str:
        return "the first"

    @worker.of("user_turn", "agent_msg", when=lambda source: source.item.id != "never")
    def other(source: Source) -> str:
        return "another"

    turns = [ContextItem(id, ItemKind.USER_TURN, "hello") for id in ("first", "second", "never")]
    assert [worker(source(item)) for item in turns[:2]] == ["the first", "another"]
    with pytest.raises(
        InvalidInput, match="does not take this user_turn: it takes agent_msg, user_turn"
    ):
        worker(source(turns[2]))
    with pytest.raises(InvalidInput, match=r"this plan_state: it takes agent_msg"):
        worker(source(ContextItem("n", ItemKind.PLAN_STATE, "hello")))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".workers:birthdays", "begins with a dot"),
        ("nowhere_at_all:birthdays", "No module named 'nowhere_at_all'"),
        ("examples.birthdays:weddings", "has no attribute 'weddings'"),
    ],
)
def test_a_worker_that_is_not_found_is_told_with_what_to_give(path: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{why}.*; give MODULE:NAME, from a module that"):
        loaded(path)


def test_asyncapi_documents_it_under_its_name() -> None:
    document = AsyncAPI(broker_of(birthdays), schema_version="3.0.0").to_specification()
    channels = document.to_jsonable()["channels"]
    assert channels["birthdays"]["address"] == "weft.{tenant}.{session}.in.{event}"


async def test_what_it_does_not_take_gives_nothing() -> None:
    item = ContextItem("a1", ItemKind.AGENT_MSG, "You were born on 1990-02-03.")
    assert await ask(birthdays, encode_event(item), "weft.acme.s1.in.agent_msg") == []


async def test_dependencies_are_injected() -> None:
    (raised,) = await ask(salaries, turn("The salary is 5,000."))
    assert isinstance(raised, SensitivityEvent)
    assert raised.sensitivity is Sensitivity.CONFIDENTIAL


async def test_an_injected_dependency_reaches_the_subprocess() -> None:
    # Far over the size from which items are worked there.
    (raised,) = await ask(salaries, turn("salary " * 30_000))
    assert isinstance(raised, SensitivityEvent)


async def test_what_it_derives_goes_out_under_the_same_id_in_every_attempt() -> None:
    sent: list[Any] = []
    broker = broker_of(birthdays)

    @broker.subscriber("weft.acme.s1.out.fact")
    async def facts(message: NatsMessage) -> None:
        sent.append(message.headers["Nats-Msg-Id"])

    async with TestNatsBroker(broker) as testing:
        await testing.publish(turn("I was born on 1990-02-03."), TURNS)
        await testing.publish(turn("I was born on 1990-02-03."), TURNS)
    assert len(set(sent)) == 2  # of two sources


async def test_an_async_function_may_wait_and_gives_several() -> None:
    @derives("user_turn", version="1")
    async def both(source: Source) -> list[Any]:
        return [source.summary("short", "mine"), source.sensitivity("internal")]

    summary, raised = await ask(both, turn("long"))
    assert isinstance(summary, SummaryEvent)
    assert (summary.text, summary.model) == ("short", "mine")
    assert isinstance(raised, SensitivityEvent)


@pytest.mark.parametrize("error", [Unavailable("the model is away"), RuntimeError("odd")])
async def test_an_error_that_would_be_tried_again_is_raised(error: Exception) -> None:
    @derives("user_turn", version="1")
    def at_once(source: Source) -> FactsEvent | None:
        raise error

    @derives("user_turn", version="1")
    async def waiting(source: Source) -> FactsEvent | None:
        raise error

    for worker in (at_once, waiting):
        with pytest.raises(type(error), match=str(error)):
            await ask(worker, turn("hello"))


async def test_what_it_refuses_is_parked_and_names_no_text() -> None:
    @derives("user_turn", version="1")
    def picky(source: Source) -> None:
        raise InvalidInput("this is nothing for me")

    (parked,) = await ask(picky, turn("the secret text"))
    assert isinstance(parked, ParkedEvent)
    assert (parked.origin.worker, parked.code) == ("picky", "invalid_input")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"n": 5}, "fact 1 of 1: its value, of type int,"),
        ({"good": "x", "a": None}, "fact 2 of 2: its value, of type NoneType,"),
        ({"a": "\ud800"}, "fact 1 of 1: its value, of type str, is no valid text"),
        ({"": "x"}, "fact 1 of 1: its key, of type str, is "),
        ({"a": "x", " ": "x"}, "fact 2 of 2: its key, of type str, is "),
        ({7: "x"}, "fact 1 of 1: its key, of type int, is "),
    ],
)
async def test_a_fact_that_nobody_could_read_is_never_published(
    values: dict[Any, Any], told: str
) -> None:
    @derives("user_turn", version="1")
    def careless(source: Source) -> FactsEvent:
        return source.facts(values)

    (parked,) = await ask(careless, turn("hello"))
    assert isinstance(parked, ParkedEvent)
    assert (parked.code, parked.attempts) == ("invalid_input", 1)
    assert parked.error.startswith(told)


async def test_neither_is_a_malformed_event_that_a_worker_makes_itself() -> None:
    @derives("user_turn", version="1")
    def careless(source: Source) -> FactsEvent:
        return FactsEvent(source.origin, "user:1", (MemoryFact("n", 5, ()),))  # type: ignore[arg-type]

    (parked,) = await ask(careless, turn("hello"))
    assert isinstance(parked, ParkedEvent)
    assert parked.error.startswith("worker 'careless' derived a fact of event")
    assert "Expected `str`, got `int` at `$.facts[0].value`" in parked.error


@pytest.mark.parametrize(
    "made",
    [
        lambda source: source.facts({"s3cret": 5}),
        lambda source: source.facts({"s3cret\ud800": "x"}),
        lambda source: source.facts({("s3cret",): "x"}),
        lambda source: source.sensitivity("s3cret"),
        lambda source: source.sensitivity(["s3cret"]),
    ],
)
async def test_what_a_worker_made_of_a_text_is_not_told_where_no_erasure_finds_it(
    made: Any,
) -> None:
    def careless(source: Source) -> Any:
        return made(source)

    (parked,) = await ask(derives("user_turn", version="1")(careless), turn("hello"))
    assert isinstance(parked, ParkedEvent)
    assert parked.code == "invalid_input"
    assert "s3cret" not in parked.error


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda source: "text", "odd() returned an object of type str; return an event that it"),
        (lambda source: source.item, "odd() returned an object of type ContextItem; return"),
        (lambda source: (one for one in ()), "odd() returned an object of type generator; return"),
        (lambda source: [source.facts({}), 5], "odd() returned a list of FactsEvent, int; return"),
        (
            lambda source: source.sensitivity("top"),
            "sensitivity of item 'u1': a value of type str and length 3 is no level",
        ),
        (
            lambda source: source.sensitivity(None),
            "a value of type NoneType is no level; use one of ",
        ),
        (lambda source: source.sensitivity([]), "a value of type list and length 0 is no level"),
        (lambda source: source.sensitivity(None), "use one of public, internal, confidential, "),
        (lambda source: source.summary(None, "m"), "summary of item 'u1': its text is of type "),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_is_no_event_is_parked_with_the_function_and_what_to_do(
    made: Any, told: str, is_async: bool
) -> None:
    def odd(source: Source) -> Any:
        return made(source)

    async def waiting(source: Source) -> Any:
        return made(source)

    waiting.__name__ = "odd"
    worker = derives("user_turn", version="1")(waiting if is_async else odd)
    (parked,) = await ask(worker, turn("the secret text"))
    assert isinstance(parked, ParkedEvent)
    assert (parked.code, parked.attempts) == ("invalid_input", 1)
    assert told in parked.error


async def test_none_in_a_list_is_left_out() -> None:
    @derives("user_turn", version="1")
    def both(source: Source) -> list[Any]:
        return [source.sensitivity("public"), source.facts({"a": "1"})]

    (facts,) = await ask(both, turn("hello"))
    assert isinstance(facts, FactsEvent)


def test_a_kind_that_there_is_not_is_told() -> None:
    with pytest.raises(ConfigurationError, match="'user_trun' is no kind of item"):
        derives("user_trun", version="1")


def test_a_worker_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="name one or more of user_turn, agent_msg"):
        derives(version="1")
    with pytest.raises(ConfigurationError, match="name one or more of"):
        Deriver("mine", "1").of()


@pytest.mark.parametrize("version", ["", 1, None])
def test_a_version_is_a_text(version: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"worker 'mine': version={version!r} is no"):
        derives("user_turn", version=version, name="mine")(lambda source: None)


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, None])
def test_a_concurrency_is_a_number_of_calls(concurrency: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"'mine': concurrency={concurrency!r} is no"):
        derives("user_turn", version="1", name="mine", concurrency=concurrency)(lambda source: None)


@pytest.mark.parametrize("name", ["a.b", "my worker", "<lambda>"])
def test_a_name_is_one_that_a_consumer_can_have(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"worker '{name}': a name consists of letters"):
        Deriver(name, "1")


def nothing() -> None: ...


def two(source: Source, other: str) -> None: ...


def plain(source: Source, context: WorkContext) -> None: ...


async def waiting(source: Source, context: WorkContext) -> None: ...


@pytest.mark.parametrize("function", [nothing, two, plain])
def test_a_function_that_cannot_be_called_with_a_source_is_refused(function: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{function.__name__}\(.* cannot be called"):
        derives("user_turn", version="1")(function)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (partial(birthday, 1990), "birthday"),
        (partial(later, 1990), "later"),
        (Birthday(), "Birthday"),
        (Later(), "Later"),
        (partial(Birthday()), "Birthday"),
    ],
)
async def test_what_can_be_called_is_a_worker_like_a_function(function: Any, name: str) -> None:
    worker = derives("user_turn", version="1")(function)
    assert worker.name == name
    (facts,) = await ask(worker, turn("hello"))
    assert isinstance(facts, FactsEvent)
    assert facts.facts[0].value == "1990"
    (facts,) = await ask(worker, turn("hello " * 30_000))  # in the subprocess
    assert isinstance(facts, FactsEvent)


def one_by_one(source: Source) -> Any:
    yield source.facts({})


async def one_by_one_later(source: Source) -> Any:
    yield source.facts({})


class OneByOne:
    def __call__(self, source: Source) -> Any:
        yield source.facts({})


@pytest.mark.parametrize(
    "function", [one_by_one, one_by_one_later, partial(one_by_one), OneByOne()]
)
def test_a_generator_function_is_refused(function: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"\(\) is a generator function; return a list"):
        derives("user_turn", version="1")(function)
    with pytest.raises(ConfigurationError, match=r"\(\) is a generator function; return a list"):
        Deriver("mine", "1").of("user_turn")(function)


def test_a_name_is_as_long_as_a_consumers_may_be() -> None:
    assert Deriver("n" * 255, "1").name
    for name in ("n" * 256, "é" * 128):
        with pytest.raises(ConfigurationError, match="has 256 bytes; give at most 255"):
            Deriver(name, "1")


def test_an_async_function_may_ask_for_the_context() -> None:
    assert derives("user_turn", version="1")(waiting).name == "waiting"


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_never_has_the_name_of_one_of_wefts_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        ConfigurationError, match=f"worker '{name}': weft's own .* beginning of the log"
    ):
        derives("user_turn", version="1", name=name)(lambda source: None)
    module = f"own_{name}"
    (tmp_path / f"{module}.py").write_text(
        f"from weft.workers import Deriver\nmine = Deriver({name!r}, '1')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=f"worker '{name}': weft's own"):
        loaded(f"{module}:mine")


@pytest.mark.parametrize("name", sorted({*SERVICES, "replica"} - {*WORKERS}))
def test_it_may_have_the_name_of_a_service_that_has_no_durable(name: str) -> None:
    assert derives("user_turn", version="1", name=name)(lambda source: None).name == name


def test_what_only_takes_items_is_given_items_only() -> None:
    assert birthdays.filter == "w.in.>"
    worker = Deriver("all", "1")
    worker.of(SummaryEvent)(lambda source: None)
    assert worker.filter == "w.>"
