"""One summariser per form of text, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.firewall.detect import Detected
from weft.firewall.form import Form
from weft.firewall.json_leaves import LeafPath
from weft.firewall.summarise.aligned import summarise_aligned
from weft.firewall.summarise.budget import Budget, shorten
from weft.firewall.summarise.code import summarise_code
from weft.firewall.summarise.compared import Compared, compared
from weft.firewall.summarise.diff import summarise_diff
from weft.firewall.summarise.html import summarise_html
from weft.firewall.summarise.json import summarise_json
from weft.firewall.summarise.keyed import summarise_keyed, summarise_xml
from weft.firewall.summarise.listing import summarise_listing
from weft.firewall.summarise.log import summarise_log
from weft.firewall.summarise.markdown import summarise_markdown
from weft.firewall.summarise.prose import summarise_prose
from weft.firewall.summarise.stanzas import stanzas_of, summarise_stanzas
from weft.firewall.summarise.table import summarise_table
from weft.firewall.summarise.test_run import summarise_tests
from weft.firewall.summarise.traceback import summarise_traceback

_BY_FORM: dict[Form, Callable[[str, Budget], str]] = {
    Form.LOG: summarise_log,
    Form.TRACEBACK: summarise_traceback,
    Form.DIFF: summarise_diff,
    Form.TESTS: summarise_tests,
    Form.HTML: summarise_html,
    Form.MARKDOWN: summarise_markdown,
    Form.CODE: summarise_code,
    Form.XML: summarise_xml,
    Form.YAML: summarise_keyed,
    Form.ALIGNED: summarise_aligned,
    Form.LISTING: summarise_listing,
    Form.PROSE: summarise_prose,
}

_OF_LINES = (Form.LOG, Form.LISTING, Form.MARKDOWN, Form.PROSE)
"""Forms whose texts may be records between blank lines."""


def summarise(
    text: str,
    detected: Detected,
    budget: Budget,
    keep: Sequence[LeafPath] = (),
    unread: str = "",
    found: Compared | None = None,
) -> str:
    """A summary of `text` in at most `budget.limit` tokens. `unread` is what a summary of JSON says
    of a text that was not read to its end; `found` what comparing its records found, if they were
    compared already."""
    form = detected.form
    found = compared(text, detected, keep) if found is None else found
    if form in (Form.JSON, Form.NDJSON):
        return _among_words(detected, budget, keep, unread, found)
    if found.table is not None:
        return summarise_table(found.table, budget)
    stanzas = stanzas_of(text) if form in _OF_LINES else None
    return summarise_stanzas(stanzas, budget) if stanzas else _BY_FORM[form](text, budget)


def _among_words(
    detected: Detected, budget: Budget, keep: Sequence[LeafPath], unread: str, found: Compared
) -> str:
    """JSON, together with the words above and below it."""
    words = [text for text in (detected.preface, detected.after) if text]
    if not words:
        return summarise_json(detected.value, budget, keep, unread, found.collections)
    above, below = (
        shorten(text, 2 * budget.limit // 3 // len(words))
        for text in (detected.preface, detected.after)
    )
    taken = budget.count(above) + budget.count(below) + 2 * len(words)
    rest = Budget(max(0, budget.limit - taken), budget.encoding)
    lines = (above, summarise_json(detected.value, rest, keep, unread, found.collections), below)
    return "\n".join(line for line in lines if line)
