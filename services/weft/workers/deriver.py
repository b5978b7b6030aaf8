"""A worker made of derive functions: which events they take, where a body comes from, and where a
function runs.

A function that is not async is pure and quick. It runs where its event arrived; in a subprocess if
the event is huge or was delivered repeatedly. An async function may wait.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import msgspec

from weft.log.consuming import HELD
from weft.log.record import LogRecord
from weft.runtime.artifacts import ArtifactStore
from weft.workers.definition import (
    check_concurrency,
    check_label,
    check_name,
    check_parameters,
    check_result,
    is_async,
    name_of,
)
from weft.workers.dependency_injection import injected
from weft.workers.source import Source, as_shown
from weft.workers.work_context import HUGE_BYTES, Derived, WorkContext, Worker
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.events import (
    EVENT_TYPES,
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    SensitivityEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import StoredSubject, derived_subject

Function = Callable[..., Any]
"""`Source`, and whatever it has injected, to an event, several, or None."""
Takes = type[msgspec.Struct] | ItemKind | str
Condition = Callable[[Source], bool]

DERIVED = (EnvelopeEvent, EpisodeEvent, FactsEvent, SensitivityEvent, SummaryEvent)
"""What a derive function may return."""
CONCURRENCY = 8
"""Calls of async functions at a time in one process: few enough for the rate limit of a model, and
its failures park no more sources than these before somebody looks."""
_ITEMS = "w.in.>"
_EVERYTHING = "w.>"


def _always(_: Source) -> bool:
    return True


class _Rule(msgspec.Struct, frozen=True):
    """One derive function and the events that it takes."""

    name: str
    function: Function
    types: tuple[type[msgspec.Struct], ...]
    kinds: frozenset[ItemKind]
    when: Condition
    whole: bool
    is_async: bool
    wants_context: bool

    def takes(self, event: Event) -> bool:
        if isinstance(event, ContextItem):
            return ContextItem in self.types or event.kind in self.kinds
        return isinstance(event, self.types)

    def names(self) -> tuple[str, ...]:
        """Of what it takes, as subjects end with them."""
        kinds = tuple(ItemKind) if ContextItem in self.types else tuple(self.kinds)
        return (*kinds, *(name for name, one in EVENT_TYPES.items() if one in self.types))


class Deriver:
    """A worker; `name` is that of its durable consumer, which its processes share.

    `version` rises with every change of what is derived. `reports` is the direction whose
    undecodable events it parks: for the firewall and the memory-updater only. If any of its
    functions is async, one process has at most `concurrency` events in work. Raises
    `ConfigurationError` for a name that no consumer can have, for a version that is no text, and
    for a concurrency below 1.
    """

    def __init__(
        self, name: str, version: str, *, reports: str = "", concurrency: int = CONCURRENCY
    ) -> None:
        check_label(name, version)
        check_concurrency(name, concurrency)
        self.name = name
        self.version = version
        self.concurrency = concurrency
        self.reports = reports
        self._rules: list[_Rule] = []

    def takes(self, event: Event) -> bool:
        """Whether one of its functions takes events of this type or kind."""
        return any(rule.takes(event) for rule in self._rules)

    @property
    def filter(self) -> str:
        """Of its durable consumer. The server is much slower with several subjects than with one
        that matches more."""
        items_only = all(set(rule.types) <= {ContextItem} for rule in self._rules)
        return _ITEMS if items_only else _EVERYTHING

    def of(
        self, *taken: Takes, when: Condition = _always, whole: bool = False
    ) -> Callable[[Function], Function]:
        """Decorates a derive function for events of types, or items of kinds.

        `when` decides, without the body, whether a source is taken. An item is given as it may be
        shown, with credentials masked; of a body in the object store the first megabyte of text.
        With `whole` it is given unmasked, and such a body as a file. Raises `ConfigurationError`
        for a function that cannot be called with a source.
        """
        types, kinds = _types_and_kinds(taken)

        def added(function: Function) -> Function:
            check_result(function)
            waits = is_async(function)
            context = "context" in inspect.signature(function).parameters
            called = injected(function)
            check_parameters(function, waits and context, has_others=called is not function)
            name = name_of(function)
            self._rules.append(_Rule(name, called, types, kinds, when, whole, waits, context))
            return function

        return added

    def __call__(self, source: Source, **given: Any) -> Any:
        """Calls the derive function that takes the source, to test it. Raises `InvalidInput` if
        none takes it."""
        rule = _rule_for(self._rules, source)
        if rule is None:
            taken = ", ".join(sorted({name for one in self._rules for name in one.names()}))
            raise InvalidInput(
                f"worker {self.name!r} does not take this {source.name}: it takes {taken}, where "
                "its `when` allows it; give it a source of these"
            )
        return rule.function(source, **given)

    def worker(self, artifacts: ArtifactStore) -> Worker:
        """The worker that `run_worker` and re-derivation take."""
        run = _Run(self._rules, artifacts)
        return Worker(
            self.name,
            self.version,
            run.derive,
            run.at_once,
            self.takes,
            frozenset(name for rule in self._rules for name in rule.names()),
            self.reports,
            self.filter,
            self.concurrency if any(rule.is_async for rule in self._rules) else HELD,
        )


def derives(
    *taken: Takes,
    version: str,
    name: str = "",
    when: Condition = _always,
    whole: bool = False,
    concurrency: int = CONCURRENCY,
) -> Callable[[Function], Deriver]:
    """Makes a worker of one function, named after it unless another name is given. One process
    makes at most `concurrency` calls of an async function at a time. See `Deriver.of`.

    Raises `ConfigurationError` for a function that can never work, and for the name of one of
    weft's own workers.
    """
    _types_and_kinds(taken)  # reports a wrong name at the decorator

    def made(function: Function) -> Deriver:
        named = name or name_of(function).replace("_", "-")
        deriver = Deriver(named, version, concurrency=concurrency)
        check_name(deriver.name)
        check_result(function)
        called = function if is_async(function) else _ImportedFunction(function)
        deriver.of(*taken, when=when, whole=whole)(called)
        return deriver

    return made


class _Run:
    """The rules of a worker in one process."""

    def __init__(self, rules: list[_Rule], artifacts: ArtifactStore) -> None:
        self._rules = rules
        self._artifacts = artifacts

    def at_once(
        self, record: LogRecord, address: StoredSubject, event: Event, context: WorkContext
    ) -> list[Derived] | None:
        found = self._found(record, address, event, context)
        if found is None:
            return []
        rule, source = found
        if rule.is_async:
            return None
        if isinstance(event, ContextItem) and (event.body or len(event.text) > HUGE_BYTES):
            return None
        return _derived(rule, address, _called(rule.function, source, rule.whole))

    async def derive(
        self, record: LogRecord, address: StoredSubject, event: Event, context: WorkContext
    ) -> list[Derived]:
        found = self._found(record, address, event, context)
        if found is None:
            return []
        rule, source = found
        async with self._with_body(rule, source) as whole:
            if rule.is_async:
                given = {"context": context} if rule.wants_context else {}
                seen = whole
                if isinstance(event, ContextItem) and not rule.whole:
                    seen = await asyncio.to_thread(as_shown, whole)
                return _derived(rule, address, await rule.function(seen, **given))
            size = _size(event)
            made = await context.compute(size, _called, rule.function, whole, rule.whole)
            return _derived(rule, address, made)

    def _found(
        self, record: LogRecord, address: StoredSubject, event: Event, context: WorkContext
    ) -> tuple[_Rule, Source] | None:
        """The rule for an event and the source, whose body is what stands in the event itself; None
        if no rule takes it."""
        if not any(rule.takes(event) for rule in self._rules):
            return None
        item = event if isinstance(event, ContextItem) else None
        source = Source(
            event,
            address.tenant,
            address.session,
            address.event,
            record.sequence,
            context.policy,
            context.origin(item.id if item else ""),
            item is not None and context.is_untrusted(item),
            record.deliveries,
            item.text if item else "",
        )
        rule = _rule_for(self._rules, source)
        return None if rule is None else (rule, source)

    @asynccontextmanager
    async def _with_body(self, rule: _Rule, source: Source) -> AsyncIterator[Source]:
        event = source.event
        if not isinstance(event, ContextItem):
            yield source
        elif rule.whole:
            async with self._artifacts.body(source.tenant, event) as body:
                yield msgspec.structs.replace(source, body=body)
        else:
            text = await self._artifacts.text(source.tenant, event)
            yield msgspec.structs.replace(source, body=text)


def _rule_for(rules: list[_Rule], source: Source) -> _Rule | None:
    """The first rule that takes the source."""
    return next((one for one in rules if one.takes(source.event) and one.when(source)), None)


class _ImportedFunction:
    """A module's function whose name now belongs to its `Deriver`: a subprocess finds it by that
    name."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.__signature__ = inspect.signature(function)
        self.__name__ = name_of(function)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._function(*given, **named)

    def __reduce__(self) -> Any:
        if not inspect.isfunction(self._function):  # no Deriver has taken its name
            return _ImportedFunction, (self._function,)
        return _named, (self._function.__module__, self._function.__qualname__)


def _called(function: Function, source: Source, whole: bool) -> Any:
    """The result of a function for a source as it may be shown; for the raw source with `whole`."""
    return function(source if whole else as_shown(source))


def _named(module: str, name: str) -> Function:
    """The derive function of a module's worker."""
    deriver = getattr(import_module(module), name)
    (rule,) = deriver._rules
    function: Function = rule.function
    return function


def _derived(rule: _Rule, address: StoredSubject, made: Any) -> list[Derived]:
    """The result of a function, as events to publish. Raises `InvalidInput` naming the function if
    it is something else."""
    derived: list[Derived] = []
    for event in made if isinstance(made, list | tuple) else (made,):
        if event is None:
            continue
        if not isinstance(event, DERIVED):
            raise InvalidInput(
                f"{rule.name}() returned {_kind_of(made)}; return an event that it derived, such "
                "as `source.facts({…})`, a list of them, or None"
            )
        tag = str(type(event).__struct_config__.tag)
        same = sum(one.part.split()[0] == tag for one in derived)
        part = f"{tag} {same + 1}" if same else tag
        derived.append(Derived(derived_subject(address.tenant, address.session, tag), event, part))
    return derived


def _kind_of(made: Any) -> str:
    """Without its content, which may be a body."""
    inner = sorted({type(one).__name__ for one in made}) if isinstance(made, list | tuple) else []
    name = type(made).__name__
    return f"a {name} of {', '.join(inner)}" if inner else f"an object of type {name}"


def _size(event: Event) -> int:
    if not isinstance(event, ContextItem):
        return 0
    return event.body.size if event.body is not None else len(event.text)


def _types_and_kinds(
    taken: tuple[Takes, ...],
) -> tuple[tuple[type[msgspec.Struct], ...], frozenset[ItemKind]]:
    """Event types and kinds of items. Raises `ConfigurationError` for a name that is neither, and
    if there is none."""
    known = ", ".join((*ItemKind, *EVENT_TYPES))
    if not taken:
        raise ConfigurationError(f"a worker of no event does nothing; name one or more of {known}")
    types: list[type[msgspec.Struct]] = []
    kinds: set[ItemKind] = set()
    for one in taken:
        if isinstance(one, type):
            types.append(one)
        elif one in EVENT_TYPES:
            types.append(EVENT_TYPES[one])
        elif one in frozenset(ItemKind):
            kinds.add(ItemKind(one))
        else:
            raise ConfigurationError(f"{one!r} is no kind of item and no event; use one of {known}")
    return tuple(types), frozenset(kinds)
