"""Compiles without services: a session is folded once with its envelopes, and read at any step."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft import tokens
from weft.compiler.compile import compile_pack
from weft.firewall.derive import envelope_for
from weft.readmodel.model import ReadModel, records_of
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack
from weft_schemas.events import EnvelopeEvent, Event, Origin
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy

TENANT = "eval"


class FoldedSession(msgspec.Struct):
    """A session's read model, and for each number of items the sequence up to which they are
    folded."""

    model: ReadModel
    sequences: list[int]


class InProcess:
    """Compiles as the services would, but without events of the memory and the summarizer. One
    session is held at a time."""

    def __init__(self, policy: ContextPolicy | None = None) -> None:
        self._policy = policy or ContextPolicy()
        self._held: tuple[str, FoldedSession] | None = None
        self._audits: dict[str, CompileAudit] = {}

    def __call__(
        self, transcript: LabelledTranscript, position: int, request: CompileRequest
    ) -> ContextPack:
        folded = self.folded(transcript)
        view = folded.model.view(TENANT, transcript.name, folded.sequences[position])
        base = self._audits.get(request.stable_from or "")
        made = compile_pack(view, request, base=base)
        self._audits[made.pack.id] = made.audit
        return made.pack

    def folded(self, transcript: LabelledTranscript) -> FoldedSession:
        """The session with all its items; only the one used last is kept."""
        if self._held is None or self._held[0] != transcript.name:
            if self._held is not None:
                self._held[1].model.close()
            self._audits.clear()
            self._held = (transcript.name, self._fold(transcript))
        return self._held[1]

    def clean_texts(self, transcript: LabelledTranscript) -> dict[str, str]:
        """The clean text of each item, by its id, as the log and its envelopes give it."""
        folded = self.folded(transcript)
        view = folded.model.view(TENANT, transcript.name, folded.sequences[-1])
        return {row.id: row.whole for row in view.rows(range(folded.sequences[-1] + 1))}

    def _fold(self, transcript: LabelledTranscript) -> FoldedSession:
        events, sequences = self._events(transcript.name, transcript.items)
        model = ReadModel.in_memory(records_of(events, TENANT, transcript.name))
        return FoldedSession(model, sequences)

    def _events(self, name: str, items: Sequence[ContextItem]) -> tuple[list[Event], list[int]]:
        """Each item, followed by its envelope if it gets one."""
        events: list[Event] = []
        sequences = [0]
        for item in items:
            events.append(item)
            if item.kind in self._policy.firewall.untrusted_kinds:
                events.append(self._envelope(name, item, len(events)))
            sequences.append(len(events))
        return events, sequences

    def _envelope(self, name: str, item: ContextItem, sequence: int) -> EnvelopeEvent:
        return envelope_for(
            item,
            item.text,
            origin=Origin(sequence, item.id, "firewall"),
            rules=self._policy.firewall,
            fingerprint_key=b"weft",
            encoding=tokens.DEFAULT_ENCODING,
            tenant=TENANT,
            session=name,
        )
