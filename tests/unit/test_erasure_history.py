"""What records of erasures account for; see `test_audit_verify` for real erasures."""

from weft.audit.checks import gaps
from weft.erasure.history import ErasureHistory, Target
from weft.erasure.sequence_runs import runs_of
from weft_schemas.events import (
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    ScopeErasedEvent,
)


def taken(*events: tuple[int, Event], tenant: str = "acme") -> ErasureHistory:
    erasures = ErasureHistory()
    for sequence, event in events:
        erasures.take(tenant, sequence, event)
    return erasures


def receipt(tombstone: int, events: int, session: str | None = "s1") -> ErasureReceiptEvent:
    return ErasureReceiptEvent(session, tombstone, {"events": events}, ())


def test_what_was_named_is_counted_once() -> None:
    first = [(5, ErasedEvent("s1")), (6, ErasingEvent(5, ((1, 4),)))]
    account = taken(*first).of[Target("acme", "s1")]
    assert account.uncounted() == 4
    again = taken(*first, (7, ErasingEvent(5, ((2, 4),))), (8, receipt(5, 4)))
    assert again.of[Target("acme", "s1")].uncounted() == 0
    assert again.unfinished() == []


def test_a_record_without_its_tombstone_accounts_for_nothing() -> None:
    erasures = taken((6, ErasingEvent(5, ((1, 4),))), (7, receipt(5, 9)))
    erasures.take("beta", 8, ErasedEvent("s1"))
    erasures.take("acme", 9, ErasingEvent(8, ((1, 4),)))
    assert erasures.named() == []
    assert erasures.counted_only() == []


def test_counts_explain_what_was_deleted_before_them_only() -> None:
    erasures = taken((10, ErasedEvent("s1")), (11, receipt(10, 10**9)))
    assert gaps(runs_of([3, 4]), 0, erasures) == []
    [gap] = gaps(runs_of([3, 4, 500]), 0, erasures)
    assert gap.sequence == 500
    counted = taken((10, ErasedEvent("s1", "", 10**9)), (11, ErasingEvent(10, ((1, 1),))))
    assert [one.kind for one in gaps(runs_of([3, 500]), 0, counted)] == [
        "unfinished_erasure",
        "gap",
    ]


def test_two_tombstones_of_an_earlier_release_count_once() -> None:
    erasures = taken(
        (21, ErasedEvent("s1", "", 20)),
        (22, receipt(21, 20)),
        (24, ErasedEvent("s1", "law", 5)),
        (25, ErasingEvent(24, ((23, 23),))),
        (26, receipt(24, 1)),
    )
    assert sum(count for _, count in erasures.counted_only()) == 20
    assert gaps(runs_of([*range(1, 21), 23]), 0, erasures) == []


def test_the_command_names_what_is_erased() -> None:
    erasures = taken(
        (1, ErasedEvent("s 1")), (2, ErasedEvent(None)), (3, ScopeErasedEvent("user:1"))
    )
    assert [target.command for target in erasures.unfinished()] == [
        "weft erase --session 's 1' --tenant acme",
        "weft erase --tenant acme",
        "weft erase --scope user:1 --tenant acme",
    ]
