"""ContextPolicy: every choice of a compile and of the workers, as data in the log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from weft_schemas.envelope import Signal
from weft_schemas.errors import InvalidInput
from weft_schemas.items import LEVELS, ItemKind, Sensitivity


class Phase(StrEnum):
    """The step of the agent's loop that a prompt is for."""

    ROUTE = "route"
    CALL = "call"
    INTERPRET = "interpret"
    ANSWER = "answer"


class SensitivityAction(StrEnum):
    DROP = "drop"
    REDACT = "redact"


class ContextBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens per phase."""

    route: int = 2_000
    call: int = 3_000
    interpret: int = 4_000
    answer: int = 6_000

    def of(self, phase: Phase) -> int:
        value: int = getattr(self, phase.value)
        return value


class PhaseRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for one phase."""

    kinds: tuple[ItemKind, ...]
    """Kinds that may be in the prompt at all."""
    weights: dict[ItemKind, float] = {}
    """Weight of a kind in a tie for the budget; 1.0 by default."""
    limits: dict[ItemKind, int] = {}
    """Most items of a kind; no limit by default."""


_ALL = tuple(ItemKind)


def _phases() -> dict[Phase, PhaseRule]:
    kind = ItemKind
    return {
        Phase.ROUTE: PhaseRule(
            _ALL,
            {kind.USER_TURN: 2.0, kind.PLAN_STATE: 2.0, kind.POLICY: 2.0, kind.TOOL_RESULT: 0.6},
        ),
        Phase.CALL: PhaseRule(
            _ALL,
            {kind.USER_TURN: 1.5, kind.TOOL_CALL: 1.2, kind.TOOL_RESULT: 1.5, kind.AGENT_MSG: 0.8},
        ),
        Phase.INTERPRET: PhaseRule(
            _ALL, {kind.TOOL_RESULT: 2.0, kind.TOOL_CALL: 1.5, kind.AGENT_MSG: 0.7}
        ),
        Phase.ANSWER: PhaseRule(
            _ALL, {kind.USER_TURN: 2.0, kind.TOOL_RESULT: 1.5, kind.DOC_SNIPPET: 1.2}
        ),
    }


class InvalidRule(InvalidInput, ValueError):
    """For a rule that says nothing or two things. A ValueError gets its path when it is decoded."""


_UP_TO = re.compile(r"up_to:([1-9][0-9]{0,8})\Z")
Show = str | msgspec.UnsetType
"""How much of a result prompts may show: `fit`, `up_to:N` or `always_summary`."""


def _tokens_shown(show: Show, whose: str = "") -> int | None:
    if show in (msgspec.UNSET, "fit"):
        return None
    if show == "always_summary":
        return 0
    match = _UP_TO.match(str(show))
    if match is None:
        raise InvalidRule(
            f"show {whose}is {show!r}; write 'fit', 'up_to:N' with N tokens, such as "
            "'up_to:4000', or 'always_summary'"
        )
    return int(match.group(1))


class ToolRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the firewall treats the results of tools whose name matches `tool` (a glob)."""

    tool: str
    keep: tuple[str, ...] = ()
    """Paths whose values are kept exact, such as `invoices[].number`."""
    threshold: int | None = None
    """A result with more tokens is summarised; replaces the policy's threshold."""
    passthrough: bool = False
    """Never summarise (still scanned and bounded)."""
    always_store: bool | msgspec.UnsetType = msgspec.UNSET
    """Has no effect, and is left out of new policies. It is read because released policies contain
    it (docs/decisions/contract.md)."""
    sensitivity: Sensitivity | None = None
    """Raise results at least to this level."""
    show: Show = msgspec.UNSET
    """How results may be shown in a prompt: `fit` (whole if they fit, otherwise in passages or as
    their summary), `up_to:N` (those of more than N tokens only as their summary) or
    `always_summary` (only as their summary, however small). If it is not set, `threshold` acts as
    `up_to` if that is set; otherwise the policy's rule for all tools applies."""

    def __post_init__(self) -> None:
        most = _tokens_shown(self.show, f"of the rule for {self.tool!r} ")
        if self.passthrough and most is not None:
            raise InvalidRule(
                f"the rule for {self.tool!r} says passthrough, never summarise, and show "
                f"{self.show!r}, which needs a summary; leave one of them out"
            )


class PiiAction(StrEnum):
    FLAG = "flag"
    MASK = "mask"
    RAISE = "raise"


_THRESHOLD = 1_500


class SignalAction(StrEnum):
    """What happens to an item because of what the guards found in it, from the mildest on."""

    FENCE = "fence"
    """It is shown as data, with a line that says why it is flagged."""
    REDACT = "redact"
    DROP = "drop"


class SignalRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to items with a signal of the guards."""

    signal: str
    """A glob over `kind:name`, such as `injection:*` or `secret:private_key`."""
    action: SignalAction
    min_score: float = 0.0
    """The lowest score of a signal that counts; scores of injections go from 2 to 4."""


class SecretPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of this deployment's own secrets."""

    name: str
    """Part of the mark: `[secret:name]`."""
    pattern: str
    """For RE2, over the text in UTF-8. The match of its first group is masked, or the whole match
    if it has no group."""

    def __post_init__(self) -> None:
        if not _MARK_NAME.match(self.name):
            raise InvalidRule(
                f"the secret pattern's name {self.name!r} stands in marks; give 1 to 40 letters, "
                "digits, '_' or '-'"
            )
        try:
            matches_nothing = re.compile(self.pattern).match("") is not None
        except (re.error, OverflowError, RecursionError):
            return  # of another grammar: RE2 judges it when the policy is published
        if matches_nothing:
            raise InvalidRule(
                f"the secret pattern {self.name!r} matches the empty text; say what a secret holds"
            )


_MARK_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")


class KnownSecrets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values that are masked wherever they occur, by their hashes; `weft policy known` makes it."""

    key: str
    """Hex of 16 random bytes, so that the same values have other hashes in every list."""
    hashes: tuple[str, ...]
    """`LENGTH:CHECK:HASH`: the length of the value in bytes, and in hex 16 bits of its CRC-32,
    started with the key's, and its BLAKE2b hash of 16 bytes under the key."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9a-f]{32}", self.key):
            raise InvalidRule(
                "known_secrets: the key is no 32 hex digits; let `weft policy known` make it"
            )
        wrong = next((one for one in self.hashes if not _KNOWN.fullmatch(one)), None)
        if wrong is not None:
            raise InvalidRule(
                f"known_secrets: {wrong[:60]!r} is no LENGTH:CHECK:HASH of at least 4 bytes, "
                "with 4 and 32 hex digits; let `weft policy known` make it"
            )
        lengths = {one.partition(":")[0] for one in self.hashes}
        if len(lengths) > MAX_LENGTHS:
            raise InvalidRule(
                f"known_secrets: the values have {len(lengths)} different lengths, and each "
                f"is looked for at every word; give at most {MAX_LENGTHS}"
            )


MAX_LENGTHS = 16
_KNOWN = re.compile(r"(?:[4-9]|[1-9][0-9]{1,3}):[0-9a-f]{4}:[0-9a-f]{32}")


class FirewallRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How results and other untrusted items are shortened, scanned and shown."""

    threshold: int = _THRESHOLD
    """A result of at most this many tokens passes whole. The compile shortens it for each prompt
    anew and knows the query, which a summary does not. Values kept at 4,000 tokens on LiveMCPBench:
    .96 with 500, .99 with 1,500."""
    summary_tokens: int = 300
    """Most tokens of a summary."""
    max_facts: int = 40
    untrusted_kinds: tuple[ItemKind, ...] = (ItemKind.TOOL_RESULT,)
    """Kinds that are never in a prompt before their envelope exists."""
    pii: PiiAction = PiiAction.FLAG
    pii_sensitivity: Sensitivity = Sensitivity.CONFIDENTIAL
    """The level that `raise` sets."""
    tools: tuple[ToolRule, ...] = ()
    """The first match counts."""
    show: Show = msgspec.UNSET
    """Like `ToolRule.show`, for tools whose rule does not set it. If it is not set, a `threshold`
    other than the default acts as `up_to`; otherwise it is `fit`."""
    masked_kinds: tuple[ItemKind, ...] | msgspec.UnsetType = msgspec.UNSET
    """Kinds of trusted items whose credentials are masked before anything is shown or derived from
    them: all kinds if it is not set. Untrusted items are always masked."""
    secret_patterns: tuple[SecretPattern, ...] | msgspec.UnsetType = msgspec.UNSET
    """Forms of credentials in addition to those that weft knows."""
    known_secrets: KnownSecrets | msgspec.UnsetType = msgspec.UNSET
    """Values that are credentials."""
    harmless_names: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Globs for names, such as `confirmation_token` or `*_ticket`, whose values are no secrets
    although their names look so. Values in the known format of a credential, `secret_patterns` and
    `known_secrets` stay masked."""
    actions: tuple[SignalRule, ...] | msgspec.UnsetType = msgspec.UNSET
    """What happens to items because of their signals: for each signal the first rule counts, for an
    item the strictest of its signals' rules. Without any rule it is fenced."""

    def __post_init__(self) -> None:
        _tokens_shown(self.show, "of the firewall ")
        wrong = next((one for one in self.harmless_names or () if not _NAMES_GLOB.match(one)), None)
        if wrong is not None:
            raise InvalidRule(
                f"harmless_names: {wrong!r} names no field; give the field's name, such as "
                "confirmation_token, or a glob with three or more of its letters, such as *_ticket"
            )


_NAMES_GLOB = re.compile(r"(?=.*[A-Za-z0-9]{3})[\w.?*-]{3,80}\Z", re.ASCII)
"""`*` would show every password."""


def rule_for(rules: FirewallRules, tool_name: str | None) -> ToolRule | None:
    """The first rule whose glob matches the tool's name."""
    return next((rule for rule in rules.tools if fnmatchcase(tool_name or "", rule.tool)), None)


def rule_of_result(rules: FirewallRules, own: str | None, of_call: str | None) -> ToolRule | None:
    """The rule for a result that names the tool `own`, or else has a call that names the tool
    `of_call`. If neither names one, the strictest of all rules, since any may be meant."""
    name = own or of_call
    return rule_for(rules, name) if name else strictest_rule(rules)


def strictest_rule(rules: FirewallRules) -> ToolRule | None:
    """A rule for any tool that is as strict as every rule; None if no rule is about a tool."""
    if not rules.tools:
        return None
    levels = [rule.sensitivity for rule in rules.tools if rule.sensitivity is not None]
    most = lowest_limit(most_shown(rules, rule) for rule in (None, *rules.tools))
    level = max(levels, key=LEVELS.index, default=None)
    return ToolRule("*", sensitivity=level, show=show_up_to(most))


def lowest_limit(limits: Iterable[int | None]) -> int | None:
    """The lowest of limits in tokens, of which None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def show_up_to(most: int | None) -> str:
    """How a rule says this limit, see `ToolRule.show`."""
    return "fit" if most is None else f"up_to:{most}" if most else "always_summary"


def teaches(rules: MemoryRules, tool_name: str | None) -> bool:
    """Whether results of this tool may become facts."""
    return any(fnmatchcase(tool_name or "", glob) for glob in rules.results or ())


def action_on(rules: FirewallRules, signals: Iterable[Signal]) -> SignalAction:
    """What happens to an item with these signals."""
    if isinstance(rules.actions, msgspec.UnsetType):
        return SignalAction.FENCE
    order, strictest = list(SignalAction), SignalAction.FENCE
    for signal in signals:
        for rule in rules.actions:
            if signal.score >= rule.min_score and fnmatchcase(
                f"{signal.kind}:{signal.name}", rule.signal
            ):
                strictest = max(strictest, rule.action, key=order.index)
                break
    return strictest


def is_masked(rules: FirewallRules, kind: ItemKind) -> bool:
    """Whether credentials in trusted items of this kind are masked."""
    return isinstance(rules.masked_kinds, msgspec.UnsetType) or kind in rules.masked_kinds


def shown_up_to(rules: FirewallRules, tool_name: str | None) -> int | None:
    """A result of this tool with at most this many tokens may be in a prompt as more than its
    summary: no limit if None, only the summary if 0."""
    return most_shown(rules, rule_for(rules, tool_name))


def most_shown(rules: FirewallRules, rule: ToolRule | None) -> int | None:
    """The same for tools of one rule, or of none."""
    if rule is not None:
        if rule.show is not msgspec.UNSET:
            return _tokens_shown(rule.show)
        if rule.passthrough:
            return None
        if rule.threshold is not None:
            return max(0, rule.threshold)
    if rules.show is msgspec.UNSET and rules.threshold != _THRESHOLD:
        return max(0, rules.threshold)
    return _tokens_shown(rules.show)


class SummaryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items and sessions get a summary, and how long it may be."""

    item_threshold: int = 400
    """A trusted item with more tokens gets a summary."""
    item_tokens: int = 120
    """Most tokens of an item's summary."""
    session_tokens: int = 200
    """Most tokens of a closed session's summary."""


class MemoryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What memory takes of a prompt, and which results may teach it."""

    fact_tokens: int = 120
    """Most tokens of the facts in the header."""
    episode_tokens: int = 160
    """Most tokens of the episodes in the header."""
    header_share: float = 0.15
    """The largest share of a budget for the header, facts and episodes together."""
    results: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Tools, as globs, whose results may teach facts: attributes of a profile, under the tool's
    name. By default no result does."""


class SelectionRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items of a session a compile considers."""

    recent: int = 200
    """How many of the newest items are candidates without a match. The default sets no limit: as
    many are examined as could fill the budget."""
    matches: int = 200
    """How many passages are candidates because they answer the query; the default sets no limit."""
    neighbours: int = 2
    """How many items on each side of a match come with it."""
    duplicate_threshold: float | msgspec.UnsetType = msgspec.UNSET
    """Has no effect since weft drops no similar items, and is left out of new policies. It is read
    because released policies contain it (docs/decisions/contract.md)."""


class ContextPolicy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="context_policy", tag_field="type"
):
    """A versioned event under the tenant's reserved session. Its version is its log sequence; 0 is
    this default. `session` restricts it to one session, where it replaces the tenant's, except that
    it conceals no less (docs/concepts.md)."""

    name: str = "default"
    session: str | None = None
    budgets: ContextBudget = ContextBudget()
    phases: dict[Phase, PhaseRule] = msgspec.field(default_factory=_phases)
    sensitivity_floor: Sensitivity = Sensitivity.CONFIDENTIAL
    sensitivity_action: SensitivityAction = SensitivityAction.DROP
    redaction_hook: str = "mask"
    selection: SelectionRules = SelectionRules()
    memory: MemoryRules = MemoryRules()
    firewall: FirewallRules = FirewallRules()
    summaries: SummaryRules = SummaryRules()
    v: int = 1


def phase_rule(policy: ContextPolicy, phase: Phase) -> PhaseRule:
    """The policy's rule for a phase, or the default's if the policy has none."""
    return policy.phases.get(phase) or _DEFAULT_PHASES[phase]


_DEFAULT_PHASES = _phases()
