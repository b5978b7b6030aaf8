"""What an erasure finds out from the log before it begins."""

import msgspec

from weft.readmodel.model import records_of
from weft.references.survey import ErasureSet, Survey, with_forks
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.routing import Catalog

SHA = "a" * 64
OTHER = "b" * 64


def item(id: str = "i", body: str = "", fork_of: str = "") -> ContextItem:
    return ContextItem(
        id,
        ItemKind.TOOL_RESULT,
        body=BodyRef(body, 9) if body else None,
        metadata={"forked_from": {"session": fork_of, "sequence": 1, "at": 1}} if fork_of else {},
    )


def survey(*placed: tuple[str, str, object]) -> Survey:
    found = Survey()
    for number, (tenant, session, event) in enumerate(placed, 1):
        for record in records_of([event], tenant, session, number):  # type: ignore[list-item]
            found.take(record)
    return found


def test_a_body_is_lone_where_only_what_is_erased_refers_to_it() -> None:
    found = survey(
        ("t", "s", item(body=SHA)), ("t", "s", item(body=OTHER)), ("t", "o", item(body=SHA))
    )
    assert found.lone_bodies(ErasureSet("t", ["s"])) == [OTHER]
    assert found.lone_bodies(ErasureSet("t", ["s", "o"])) == [SHA, OTHER]
    assert found.lone_bodies(ErasureSet("t", None)) == [SHA, OTHER]


def test_each_tenant_has_a_body_of_its_own() -> None:
    found = survey(("t", "s", item(body=SHA)), ("rival", "s", item(body=SHA)))
    assert found.lone_bodies(ErasureSet("t", None)) == [SHA]
    assert found.lone_bodies(ErasureSet("other", None)) == []
    assert found.is_referred_to("rival", SHA)
    assert not found.is_referred_to("other", SHA)


def test_a_catalogue_holds_its_body() -> None:
    catalog = Catalog("tools", (), body=BodyRef(SHA, 9))
    found = survey(("t", "s", item(body=SHA)), ("t", "s", catalog))
    assert found.lone_bodies(ErasureSet("t", ["s"])) == []


def test_forks_of_forks_belong_to_the_family() -> None:
    found = survey(
        ("t", "fork", item(fork_of="s")),
        ("t", "a fork of it", item(fork_of="fork")),
        ("t", "stranger", item(fork_of="another")),
        ("rival", "theirs", item(fork_of="s")),
    )
    assert with_forks("t", "s", found.forks) == ["s", "a fork of it", "fork"]


def test_sessions_that_say_they_are_forks_of_each_other_are_one_family() -> None:
    found = survey(("t", "a", item(fork_of="b")), ("t", "b", item(fork_of="a")))
    assert with_forks("t", "a", found.forks) == ["a", "b"]


def test_what_cannot_be_read_is_passed_over() -> None:
    [record] = records_of([item(body=SHA)], "t", "s")
    found = Survey()
    for payload in (b'"sha256" {', b'{"body":{"sha256":3}}', b'{"metadata":"forked_from"}'):
        found.take(msgspec.structs.replace(record, payload=payload))
    assert not found.bodies
    assert found.through == 1
