"""Who may use which scope, and what the fold makes of an item that names another's."""

import msgspec
import pytest
from tests.folded import model, turn

from weft.compiler.compile import compile_pack
from weft.log.record import LogRecord
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EpisodeEvent, Event, FactsEvent, MemoryFact, Origin
from weft_schemas.grants import Grant, ScopeGrants, may_use
from weft_schemas.ids import OPERATOR, principal_of, principal_token
from weft_schemas.policy import Phase
from weft_schemas.subjects import event_of, item_subject, parse_stored, request_subject, requester

GRANTS = ScopeGrants(
    (
        Grant("", ("project:*",)),
        Grant("gateway", ("user:*",)),
        Grant("u*", ("user:{principal}", "team:blue")),
        Grant("odd", ("{principal}*",)),
    )
)


@pytest.mark.parametrize(
    ("principal", "scope", "may"),
    [
        ("", "project:x", True),
        ("", "user:u1", False),
        ("gateway", "user:u1", True),
        ("gateway", "team:blue", False),
        ("u1", "user:u1", True),
        ("u1", "user:u2", False),
        ("u1", "user:u11", False),
        ("u1", "team:blue", True),
        ("u*", "user:u1", False),
        ("v1", "user:v1", False),
        ("odd", "odd:thing", True),
        (OPERATOR, "user:u2", True),
        *((who, "session:mine", True) for who in ("", "gateway", "u1", "v1")),
        *((who, "session:other", False) for who in ("", "gateway", "u1", "v1", OPERATOR)),
        *((who, "session:mine:x", False) for who in ("", "gateway", OPERATOR)),
    ],
)
def test_a_principal_uses_what_is_granted(principal: str, scope: str, may: bool) -> None:
    assert may_use(GRANTS, principal, "mine", scope) is may


def test_without_grants_only_who_has_no_name_uses_every_scope() -> None:
    assert may_use(None, "", "s", "user:u1")
    assert not may_use(None, "u1", "s", "user:u1")
    assert not may_use(None, "", "s", "session:other")
    assert not may_use(ScopeGrants(), "", "s", "user:u1")


def test_a_star_in_a_principals_own_name_matches_nothing_more() -> None:
    own = ScopeGrants((Grant("*", ("user:{principal}",)),))
    assert may_use(own, "a*", "s", "user:a*")
    assert not may_use(own, "a*", "s", "user:ab")
    assert not may_use(own, "", "s", "user:")


def test_the_principal_is_the_last_token_of_a_subject() -> None:
    for name in ("u1", "Ann B.", "a.b*>", OPERATOR):
        token = principal_token(name)
        assert principal_of(token) == name
        stored = parse_stored(f"w.in.3.t.s.user_turn.{token}")
        assert (stored.event, stored.principal) == ("user_turn", name)
        assert requester(request_subject("t", "s", "compile", name)) == name
        assert item_subject("t", "s", "user_turn", name).endswith(f".in.user_turn.{token}")
        assert event_of(f"w.in.3.t.s.user_turn.{token}") == "user_turn"
    assert requester("weft-rpc.t.s.compile") == ""


@pytest.mark.parametrize("token", ["=QG9wZXJhdG9y", "@tenant", "=QHRlbmFudA", "@other", "", "a b"])
def test_nobody_writes_himself_a_reserved_name(token: str) -> None:
    with pytest.raises(InvalidInput):
        principal_of(token)
    with pytest.raises(InvalidInput):
        parse_stored(f"w.in.3.t.s.user_turn.{token}")


def test_only_items_have_a_principal() -> None:
    with pytest.raises(InvalidInput):
        parse_stored("w.out.3.t.s.envelope.u1")


def as_principal(record: LogRecord, name: str) -> LogRecord:
    return msgspec.structs.replace(record, subject=f"{record.subject}.{principal_token(name)}")


def scoped(id: str, scope: str) -> Event:
    return turn(id, metadata={"scope": scope})


def fact(source: int, id: str, scope: str) -> FactsEvent:
    return FactsEvent(Origin(source, id, "memory"), scope, (MemoryFact(f"of_{id}", "x", (id,)),))


def taught(read: ReadModel, *scopes: str) -> set[tuple[str, str]]:
    return {(one.scope, one.key) for one in read.view("t", "s").facts(scopes)}


SCOPES = ("user:u1", "user:u2", "session:s", "session:other")


def test_what_names_anothers_memory_stays_in_its_session() -> None:
    records = records_of(
        [
            GRANTS, scoped("a", "user:u1"), scoped("b", "user:u2"), scoped("c", "session:other"),
            fact(2, "a", "user:u1"), fact(3, "b", "user:u2"), fact(4, "c", "session:other"),
        ],
        "t", "s",
    )  # fmt: skip
    records[1:4] = [as_principal(record, "u1") for record in records[1:4]]
    read = ReadModel.in_memory(records)
    view = read.view("t", "s")
    assert view.item_count() == 3
    assert view.scopes() == ["session:s", "user:u1"]
    assert taught(read, *SCOPES) == {
        ("user:u1", "of_a"),
        ("session:s", "of_b"),
        ("session:s", "of_c"),
    }
    assert all(row.metadata.get("scope") in (None, "user:u1") for row in view.recent(9))


def test_an_episode_goes_to_no_scope_that_its_session_may_not_use() -> None:
    def episode(scope: str) -> EpisodeEvent:
        return EpisodeEvent(Origin(2, "a", "memory"), "e", scope, "text", 1, "cl100k_base", 2, 2)

    for scope, stands in (("user:u2", "session:s"), ("session:other", "session:s")):
        records = records_of([GRANTS, scoped("a", scope), episode(scope)], "t", "s")
        records[1] = as_principal(records[1], "u1")
        found = ReadModel.in_memory(records).view("t", "s").episodes(SCOPES, 9)
        assert [one.scope for one in found] == [stands]


def test_grants_count_from_their_place_on() -> None:
    """What was published before them is judged as it was then, however often the log is folded."""
    read = model(scoped("a", "user:u1"), GRANTS, scoped("b", "user:u2"))
    assert read.view("t", "s").scopes() == ["session:s", "user:u1"]
    assert read.view("t", "s").grants() == GRANTS
    assert read.view("other", "s").grants() is None


def test_a_compile_reads_the_scopes_that_it_is_for() -> None:
    read = model(scoped("a", "user:u1"), fact(1, "a", "user:u1"), turn("b"))
    request = CompileRequest(Phase.CALL)
    assert "of_a" in compile_pack(read.view("t", "s"), request).pack.prompt
    narrow = msgspec.structs.replace(request, scopes=("session:s",))
    assert "of_a" not in compile_pack(read.view("t", "s"), narrow).pack.prompt
