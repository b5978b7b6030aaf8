"""The envelope of what a worker is given. It stands apart from the worker, so that the subprocess
for huge results imports neither a broker nor a web server: it starts in two thirds of the time."""

from __future__ import annotations

from weft.firewall.derive import envelope_for
from weft.workers.source import Source
from weft_schemas.events import EnvelopeEvent


def envelope_of(source: Source, *, fingerprint_key: bytes, encoding: str) -> EnvelopeEvent:
    """Of the source's item, under the source's policy. Raises what `envelope_for` does."""
    return envelope_for(
        source.item,
        source.body,
        origin=source.origin,
        rules=source.policy.firewall,
        fingerprint_key=fingerprint_key,
        encoding=encoding,
        tenant=source.tenant,
        session=source.session,
    )
