"""What is wrong with a policy, as far as that can be seen before it is published. In the log it
would be in force: its faults would be told with each compile, or not at all."""

from __future__ import annotations

from weft.redaction import installed_hooks
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import TENANT_SESSION, encode_token
from weft_schemas.policy import ContextPolicy
from weft_schemas.ranges import check_ranges


def check_policy(policy: ContextPolicy, *, hook_elsewhere: bool = False) -> None:
    """Raises `InvalidInput` for values out of range, a session's name that none can have, a phase
    that shows no kind, a redaction hook that is not installed here (unless `hook_elsewhere`), and a
    secret pattern that cannot be run.

    Without the packages of the workers there is nothing to run patterns with; the firewall then
    logs the fault.
    """
    source = f"policy {policy.name!r}"
    check_ranges(policy, source)
    if policy.session is not None:
        _check_session(policy.session, source)
    for phase, rule in policy.phases.items():
        if not rule.kinds:
            raise InvalidInput(
                f"{source}: $.phases.{phase}.kinds is empty, and prompts of this phase would show "
                "nothing; name the kinds that they may show, or leave the phase out"
            )
    if not hook_elsewhere:
        check_hook(policy.redaction_hook, source)
    if policy.firewall.secret_patterns:
        try:
            from weft.secrets.deployment_rules import check_patterns
        except ImportError:
            return
        check_patterns(policy.firewall, source)


def _check_session(session: str, source: str) -> None:
    try:
        encode_token(session, "session")
    except InvalidInput as error:
        raise InvalidInput(f"{source}: $.session: {error}") from None
    if session == TENANT_SESSION:
        raise InvalidInput(
            f"{source}: $.session is {TENANT_SESSION}, which has no prompts; leave it out for the "
            "tenant's policy"
        )


def check_hook(hook: str, source: str, waiver: str = "hook_elsewhere=True") -> None:
    """Raises `InvalidInput` for a redaction hook that is not installed here. `waiver` is how to say
    that it is installed where compiles run."""
    known = installed_hooks()
    if hook not in known:
        raise InvalidInput(
            f"{source}: redaction_hook {hook!r} is not installed here; use one of "
            f"{', '.join(known)}, install the package that offers it, or say {waiver} if it is "
            "installed where compiles run"
        )
