"""The firewall alone: what its envelopes keep, what its guards find, and how fast it is.

`python -m tests.bench.firewall` prints all of it; `… kept`, `… guards` and `… speed` one part.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence

from tests.bench.table import quantile, show
from tests.data import DATA
from tests.firewall_cases import PERSONAL, SECRETS, personal_cases, plain_sentence, secret_case
from tests.firewall_texts import FORMS, made_text
from tests.guard_quality import PersonalSpan, measure_injection, measure_spans
from weft import tokens
from weft.adapters.formats import read_transcripts
from weft.bodies.clean import clean
from weft.firewall.derive import envelope_for
from weft.firewall.guards import scan
from weft.prompt_injection.detection import THRESHOLD, suspicion_score
from weft.secrets.masking import without_overlaps
from weft.secrets.personal import find_personal
from weft.tokens import DEFAULT_ENCODING
from weft_eval.envelope import evaluate
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=500)
SEED = 20_260_101
"""Another than the tests' seeds: what is measured here was not looked at while writing rules."""
SETS = ("taubench", "livemcpbench", "openhands")
SIZES = {"1 KB": (1_000, 200), "20 KB": (20_000, 20), "1 MB": (1_000_000, 3)}
"""Bytes and rounds."""
PRESIDIO = {
    "PHONE_NUMBER": "phone",
    "EMAIL_ADDRESS": "email",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "IP_ADDRESS": "ip_address",
}


def envelope_of(item: ContextItem) -> ResultEnvelope:
    event = envelope_for(
        item,
        item.text,
        origin=Origin(1, item.id, "firewall", "1"),
        rules=RULES,
        fingerprint_key=b"bench",
        encoding=DEFAULT_ENCODING,
        tenant="bench",
        session="bench",
    )
    return event.envelope


def sessions(name: str) -> list[tuple[ContextItem, ...]]:
    """The sessions of a data set, items in order."""
    found: list[tuple[ContextItem, ...]] = []
    for path in sorted((DATA / name).glob("*.json*")):
        transcripts = read_transcripts(path.read_bytes(), file=path.name)
        found += [transcript.items for transcript in transcripts]
    return found


def kept() -> None:
    rows = []
    for name in SETS:
        report = evaluate(
            sessions(name),
            envelope_of,
            threshold=RULES.threshold,
            cap=RULES.summary_tokens,
            encoding=DEFAULT_ENCODING,
        )
        rows.append(
            [
                name,
                report.results,
                report.values,
                report.kept,
                report.kept_in_summary,
                report.head_and_tail,
                report.head_and_tail_same_tokens,
                round(report.mean_summary_tokens),
                round(report.mean_total_tokens),
                report.over_cap,
            ]
        )
    show(
        "Of the values that later calls take from a result above the threshold, the share kept",
        [
            "set",
            "results",
            "values",
            "summary + facts",
            "summary",
            "head+tail 300",
            "head+tail same",
            "tokens",
            "with facts",
            "over cap",
        ],
        rows,
    )


def guards() -> None:
    _injection()
    _personal()
    _secrets()


def _injection() -> None:
    benign = [
        item.text
        for name in SETS
        for items in sessions(name)
        for item in items
        if item.kind is ItemKind.TOOL_RESULT and item.text
    ]
    rows = []
    for name in ("enhanced", "base"):
        cases = json.loads((DATA / "injecagent" / f"test_cases_dh_{name}.json").read_text())
        hostile = [case["Tool Response"] for case in cases]
        report = measure_injection(benign, hostile, suspicion_score, THRESHOLD)
        points = [point.recall for point in report.points]
        rows.append(
            [name, report.injected, report.recall, report.benign, report.flagged_benign, *points]
        )
    show(
        "Injected instructions: recall at the firewall's threshold, and at given false positives",
        ["injecagent", "n", "recall", "benign n", "flagged", "at .5 %", "at 1 %", "at 5 %"],
        rows,
    )


def _personal() -> None:
    rows = []
    for name in PERSONAL:
        (report,) = measure_spans(personal_cases(name, 400, SEED), _persons_in, [name])
        rows.append(["generated", name, report.cases, report.recall, report.precision])
    cases = json.loads((DATA / "presidio_research" / "generated_small.json").read_text())
    gold = [(case["full_text"], _gold(case["spans"])) for case in cases]
    for report in measure_spans(gold, _persons_in, PERSONAL):
        rows.append(["presidio", report.name, report.cases, report.recall, report.precision])
    show("Personal data", ["set", "type", "n", "recall", "precision"], rows)


def _gold(spans: list[dict[str, object]]) -> list[PersonalSpan]:
    return [
        PersonalSpan(
            int(str(s["start_position"])),
            int(str(s["end_position"])),
            PRESIDIO[str(s["entity_type"])],
        )
        for s in spans
        if s["entity_type"] in PRESIDIO
    ]


def _persons_in(text: str) -> Sequence[PersonalSpan]:
    data = text.encode()

    def characters(offset: int) -> int:
        return len(data[:offset].decode("utf-8", "replace"))

    return [
        PersonalSpan(characters(found.start), characters(found.end), found.name)
        for found in without_overlaps(find_personal(data, 10_000))
    ]


def _secrets() -> None:
    rng = random.Random(SEED)
    rows, missed = [], 0
    for kind in SECRETS:
        cases = [secret_case(rng, kind) for _ in range(100)]
        found = sum(hidden not in scan(text, RULES, b"k", 10_000).text for text, hidden in cases)
        missed += 100 - found
        rows.append([kind, 100, found / 100])
    plain = [plain_sentence(rng) for _ in range(3_000)]
    wrong = sum(scan(text, RULES, b"k", 10_000).text != text for text in plain)
    rows += [["all kinds", 100 * len(SECRETS), 1 - missed / (100 * len(SECRETS))]]
    rows += [["benign sentences masked", 3_000, wrong / 3_000]]
    show("Credentials made in the published formats", ["kind", "n", "recall"], rows)


def speed() -> None:
    rows = []
    for form in FORMS:
        for label, (size, rounds) in SIZES.items():
            text = made_text(form, size)
            item = ContextItem("bench", ItemKind.TOOL_RESULT, text)
            data = text.encode()
            event = _wrapped(envelope_of(item))
            whole = _seconds(lambda item=item: envelope_of(item), rounds)
            parts = [
                _seconds(lambda data=data: clean(data), rounds),
                _seconds(lambda text=text: scan(text, RULES, b"k", 10_000), rounds),
                _seconds(lambda text=text: tokens.count(text[: 64 << 10]), rounds),
                _seconds(lambda event=event: encode_event(event), rounds),
            ]
            shares = [part / whole for part in parts]
            rest = max(0.0, 1 - sum(shares[:3]))
            rows.append(
                [
                    form,
                    label,
                    whole * 1e3,
                    1 / whole,
                    len(data) / whole / 1e6,
                    *(f"{share:.0%}" for share in (*shares[:3], rest)),
                    f"{shares[3]:.1%}",
                ]
            )
    show(
        "One process, CPU time of one envelope (median) and where it goes",
        [
            "form",
            "size",
            "ms",
            "events/s",
            "MB/s",
            "decode",
            "scan",
            "tokenise",
            "summarise, facts",
            "encode",
        ],
        rows,
    )


def _wrapped(envelope: ResultEnvelope) -> EnvelopeEvent:
    return EnvelopeEvent(Origin(1, "bench", "firewall", "1"), envelope)


def _seconds(work: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds of one round."""
    work()
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return max(quantile(spent, 0.5), 1e-9)


PARTS = {"kept": kept, "guards": guards, "speed": speed}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        if name != "speed" and not DATA.is_dir():
            print(f"{name}: no sessions to measure on here")
            continue
        PARTS[name]()


if __name__ == "__main__":
    main()
