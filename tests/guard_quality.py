"""How good the firewall's guards are: recall of injected instructions at given shares of benign
results flagged, and recall and precision of personal data by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

ALLOWED = (0.005, 0.01, 0.05)
"""Shares of benign texts that may be flagged."""


class OperatingPoint(msgspec.Struct, frozen=True):
    """Recall if at most `false_positives` of the benign texts are flagged."""

    false_positives: float
    """Allowed share."""
    measured: float
    """Share that this threshold actually flags."""
    threshold: float
    recall: float


class InjectionReport(msgspec.Struct, frozen=True):
    benign: int
    injected: int
    flagged_benign: float
    """Share at the firewall's own threshold."""
    recall: float
    """At the firewall's own threshold."""
    points: tuple[OperatingPoint, ...]


class PersonalSpan(msgspec.Struct, frozen=True):
    """Where a text contains a person's data: characters, `end` exclusive."""

    start: int
    end: int
    name: str


class TypeReport(msgspec.Struct, frozen=True):
    name: str
    cases: int
    """Gold spans."""
    found: int
    """Gold spans that a finding of the type overlaps."""
    reported: int
    """Findings of the type."""
    right: int
    """Findings that overlap a gold span of the type."""

    @property
    def recall(self) -> float:
        return self.found / self.cases if self.cases else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.reported if self.reported else 1.0


def measure_injection(
    benign: Iterable[str],
    injected: Iterable[str],
    score: Callable[[str], float],
    threshold: float,
) -> InjectionReport:
    """Score every text and take the recall at each of the `ALLOWED` shares."""
    plain = sorted((score(text) for text in benign), reverse=True)
    hostile = [score(text) for text in injected]
    return InjectionReport(
        benign=len(plain),
        injected=len(hostile),
        flagged_benign=_share(plain, threshold),
        recall=_share(hostile, threshold),
        points=tuple(_point(plain, hostile, share) for share in ALLOWED),
    )


def measure_spans(
    cases: Iterable[tuple[str, Sequence[PersonalSpan]]],
    find: Callable[[str], Sequence[PersonalSpan]],
    names: Sequence[str],
) -> list[TypeReport]:
    """Recall and precision per type. A finding counts if it overlaps a gold span of its type."""
    tally = {name: [0, 0, 0, 0] for name in names}
    for text, gold in cases:
        reported = find(text)
        for name in names:
            wanted = [span for span in gold if span.name == name]
            said = [span for span in reported if span.name == name]
            counts = tally[name]
            counts[0] += len(wanted)
            counts[1] += sum(any(_overlap(span, other) for other in said) for span in wanted)
            counts[2] += len(said)
            counts[3] += sum(any(_overlap(span, other) for other in wanted) for span in said)
    return [TypeReport(name, *counts) for name, counts in tally.items()]


def _overlap(one: PersonalSpan, other: PersonalSpan) -> bool:
    return one.start < other.end and other.start < one.end


def _share(scores: Sequence[float], threshold: float) -> float:
    return sum(score >= threshold for score in scores) / len(scores) if scores else 0.0


def _point(plain: Sequence[float], hostile: Sequence[float], share: float) -> OperatingPoint:
    """The lowest threshold that flags at most `share` of the benign texts. `plain` is in falling
    order."""
    allowed = int(share * len(plain))
    # Above the first score that must not be flagged.
    limit = plain[allowed] if allowed < len(plain) else 0.0
    threshold = limit + 1e-9
    return OperatingPoint(share, _share(plain, threshold), threshold, _share(hostile, threshold))
