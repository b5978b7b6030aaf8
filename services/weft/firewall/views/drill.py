"""One drill-down: as many chunks of a view as the tokens allow, and how to request the next
ones."""

from __future__ import annotations

import msgspec

from weft import tokens
from weft.firewall.body import Body
from weft.firewall.bounds import Bounds
from weft.firewall.views.arguments import Value, known
from weft.firewall.views.artifact import Artifact, opened
from weft.firewall.views.installed import registry
from weft.firewall.views.registry import RegisteredView
from weft.secrets.deployment_rules import deployment_rules
from weft_schemas.compile import DrilldownRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import FirewallRules

_TOKEN = 8
"""Characters per token; tokens are rarely longer. A text that is far too long is refused without
counting."""


class Slice(msgspec.Struct, frozen=True):
    """What a drill-down shows."""

    text: str
    tokens: int
    truncated: bool
    """Whether something follows."""
    next: dict[str, Value] | None
    """Arguments for the next slice."""
    views: tuple[str, ...]
    """Names of all views of this content type."""


def drill(
    body: Body,
    request: DrilldownRequest,
    *,
    content_type: str,
    fingerprint_key: bytes,
    encoding: str,
    rules: FirewallRules = FirewallRules(),  # noqa: B008 - an immutable value
) -> Slice:
    """The slice that `request` names, at most `request.max_tokens` tokens, with secrets masked.

    `content_type` is the envelope's, `rules` are the policy's. Raises `InvalidInput` for a view or
    an argument that does not exist, and `NotFound` for a JSON path that leads nowhere.
    """
    views = registry().of(content_type)
    view = views.get(request.view)
    if view is None:
        raise InvalidInput(
            f"drill-down: {content_type} has no view {request.view!r}; use {', '.join(views)}"
        )
    if request.max_tokens < 1:
        raise InvalidInput(f"drill-down: max_tokens is {request.max_tokens}; give at least 1")
    known(request.args, request.view, view.arguments)
    own = deployment_rules(rules)
    with opened(body, fingerprint_key, Bounds(), request.max_tokens, own) as artifact:
        return _slice_within_budget(artifact, view, request, encoding, tuple(views))


def _slice_within_budget(
    artifact: Artifact,
    view: RegisteredView,
    request: DrilldownRequest,
    encoding: str,
    names: tuple[str, ...],
) -> Slice:
    left = request.max_tokens
    texts: list[str] = []
    resume: dict[str, Value] | None = None
    for chunk in view.generate(artifact, request.args):
        cost = tokens.count(chunk.text, encoding) if len(chunk.text) <= _TOKEN * left else left + 1
        # Bytes that leave nothing to show still count, or a slice could go through all of them.
        cost = max(cost, 1)
        if cost > left:
            if texts:
                return _slice(texts, resume, request, encoding, names)
            # Not even one chunk fits: its beginning is better than nothing.
            beginning = tokens.truncate(chunk.text, left, encoding)
            return _slice([beginning], chunk.resume, request, encoding, names, cut=True)
        texts.append(chunk.text)
        left -= cost
        resume = chunk.resume
    return _slice(texts, None if view.to_the_end else resume, request, encoding, names)


def _slice(
    texts: list[str],
    resume: dict[str, Value] | None,
    request: DrilldownRequest,
    encoding: str,
    names: tuple[str, ...],
    cut: bool = False,
) -> Slice:
    text = tokens.truncate("".join(texts), request.max_tokens, encoding)
    count = tokens.count(text, encoding)
    return Slice(text, count, cut or resume is not None, resume, names)
