"""Which policy a worker goes by: the session's newest, with what the tenant's conceals, else the
tenant's, else the default."""

from weft.log.record import LogRecord
from weft.runtime.policies import COMBINED_KEPT, Policies
from weft_schemas.events import encode_event
from weft_schemas.items import Sensitivity
from weft_schemas.policy import ContextBudget, ContextPolicy


def policy_record(sequence: int, policy: ContextPolicy, tenant: str = "acme") -> LogRecord:
    subject = f"w.out.0.{tenant}.@tenant.context_policy"
    return LogRecord(sequence, subject, 0, encode_event(policy))


def test_without_any_policy_the_default_holds_as_version_0():
    assert Policies().of("acme", "s1") == (0, ContextPolicy())


def test_a_sessions_own_policy_goes_before_the_tenants():
    policies = Policies()
    policies.take(policy_record(5, ContextPolicy(name="for s1", session="s1")))
    policies.take(policy_record(9, ContextPolicy(name="for all")))
    version, policy = policies.of("acme", "s1")
    assert (version, policy.name) == (9, "for s1")  # the tenant's is part of what holds
    assert policies.of("acme", "s2")[0] == 9
    assert policies.of("globex", "s1")[0] == 0


def test_a_sessions_policy_keeps_the_tenants_floor():
    policies = Policies()
    policies.take(policy_record(3, ContextPolicy(sensitivity_floor=Sensitivity.INTERNAL)))
    policies.take(policy_record(5, ContextPolicy(session="s1", budgets=ContextBudget(answer=9))))
    policy = policies.of("acme", "s1")[1]
    assert (policy.budgets.answer, policy.sensitivity_floor) == (9, Sensitivity.INTERNAL)
    assert policies.of("acme", "s1") is policies.of("acme", "s1")  # made once


def test_not_every_policy_that_was_ever_combined_is_kept():
    policies = Policies()
    policies.take(policy_record(1, ContextPolicy(sensitivity_floor=Sensitivity.INTERNAL)))
    for sequence in range(2, 2 * COMBINED_KEPT):
        policies.take(policy_record(sequence, ContextPolicy(session=f"s{sequence}")))
        policies.of("acme", f"s{sequence}")
    assert len(policies._combined) == COMBINED_KEPT
    newest = f"s{sequence}"
    assert policies.of("acme", newest) is policies.of("acme", newest)
    assert policies.of("acme", "s2")[1].sensitivity_floor is Sensitivity.INTERNAL  # made again


def test_the_newest_in_the_log_holds_in_whatever_order_they_are_heard_of():
    policies = Policies()
    for sequence in (7, 3, 5):
        policies.take(policy_record(sequence, ContextPolicy(name=str(sequence))))
    assert policies.of("acme", "s1")[1].name == "7"


def test_what_holds_at_a_sequence_stays_what_it_was():
    policies = Policies()
    for sequence, session in ((3, None), (9, "s1"), (5, None)):
        policy = ContextPolicy(name=str(sequence), session=session)
        policies.take(policy_record(sequence, policy))
    assert [policies.of("acme", "s1", at)[0] for at in (2, 3, 4, 5, 8, 9, 20)] == [
        0, 3, 3, 5, 5, 9, 9,
    ]  # fmt: skip
    assert policies.of("acme", "s2", 20)[0] == 5


def test_a_malformed_policy_changes_nothing():
    policies = Policies()
    policies.take(LogRecord(4, "w.out.0.acme.@tenant.context_policy", 0, b'{"type":"context_po'))
    policies.take(LogRecord(5, "w.out.0.ac~me.@tenant.context_policy", 0, b"{}"))
    assert policies.of("acme", "s1")[0] == 0
