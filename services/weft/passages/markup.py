"""Splits XML and HTML on long lines at their elements. What is shown of an element stands between
its tags, so that its attributes and those of the elements around it tell what it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from weft.passages.identifying_names import NAMES
from weft.passages.outliers import MIN_COMPARED, max_rare
from weft.passages.part import Part
from weft.passages.sentences import MIN_LEAF_LENGTH, sentence_ends, sentence_runs, sentences

MIN_ELEMENTS = 6
"""Fewer elements are no markup."""
WHOLE = 480
"""Most characters of an element that is not split."""
GROUP = 320
"""Most characters of small neighbours in one part."""
IDENTIFIER = 120
"""Most characters of an element that identifies the one around it."""
MAX_IDENTIFIERS = 3
"""Of one element."""
MAX_TAG_LENGTH = 320
"""Characters of a start tag that are shown with anything in its element."""
MAX_KINDS = 4
"""Most kinds of elements in a list for which a rare kind stands out; among more kinds, none
does."""
DEEPEST = 40
"""Most levels of nesting that are split."""

_TAG = re.compile(
    r"<(?:(/)?([A-Za-z_][\w:.-]*+)(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+>"
    r"|(!--)|(!\[CDATA\[)|(\?)|(!)(?=[A-Za-z]))"
)
_ENDS = {"!--": "-->", "![CDATA[": "]]>", "?": "?>", "!": ">"}
"""How comments, quoted text, instructions and declarations end."""
_ASIDE = re.compile(
    r"(?:nav|footer|aside|form|dialog|menu|button|script|style|noscript|template|svg|iframe)\Z",
    re.IGNORECASE,
)
"""Elements of HTML that are no part of what a page says."""
_FRAME = re.compile(r"(?:head|header)\Z", re.IGNORECASE)
"""Elements that are none either if they hold one of these: navigation, scripts, styles."""
MAX_ASIDE = 3
"""An element that has at least one in this many characters of a page is never an aside."""
_PAGE = re.compile(r"<(?:!doctype html|html|body)\b", re.IGNORECASE)
_BEGINNING = 1_000
"""Characters in which a page of HTML says that it is one."""
_HEADING = re.compile(r"h[1-6]\Z", re.IGNORECASE)


class _Element(msgspec.Struct, gc=False):
    """An element while it is read, in characters of the text."""

    name: str
    start: int
    inner: int
    """The end of its start tag."""
    close: int = -1
    """The start of its end tag, or its end if it has none."""
    end: int = -1
    children: list[_Element] = msgspec.field(default_factory=list)


def split_markup(text: str, start: int, end: int) -> list[Part]:
    """The parts of markup between two positions; none if most of the text is not in elements.
    Linear in the text."""
    if text.count("</", start, end) + text.count("/>", start, end) < MIN_ELEMENTS:
        return []
    root = _read(text, start, end)
    if 2 * sum(one.end - one.start for one in root.children if one.end > one.inner) < end - start:
        return []
    is_page = _PAGE.search(text, start, min(start + _BEGINNING, end)) is not None
    return _Splitting(text, end - start if is_page else 0).parts(root, 0)


class _Tag(msgspec.Struct, frozen=True, gc=False):
    name: str
    start: int
    end: int
    opens: bool
    """It is no `<br/>`, either."""
    closes: bool


def _tags(text: str, start: int, end: int) -> Iterator[_Tag]:
    """The tags outside of comments and quoted text."""
    unended: set[str] = set()
    while (found := _TAG.search(text, start, end)) is not None:
        start = found.end()
        if found[2]:
            closes = bool(found[1])
            opens = not closes and text[start - 2] != "/"
            yield _Tag(found[2], found.start(), start, opens, closes)
            continue
        kind = found[0][1:]
        last = -1 if kind in unended else text.find(_ENDS[kind], start, end)
        if last < 0:
            unended.add(kind)
        else:
            start = last + len(_ENDS[kind])


def _read(text: str, start: int, end: int) -> _Element:
    """The elements between two positions. One that lacks its end tag ends with the element around
    it; an end tag of no element is text."""
    tags = list(_tags(text, start, end))
    closed = Counter(tag.name for tag in tags if tag.closes)
    begun = Counter(tag.name for tag in tags if tag.opens)
    root = _Element("", start, start, end, end)
    opened = [root]
    open_counts: Counter[str] = Counter()
    for tag in tags:
        if tag.closes:
            if open_counts[tag.name]:
                _close(opened, open_counts, tag)
            continue
        one = _Element(tag.name, tag.start, tag.end, tag.end, tag.end)
        opened[-1].children.append(one)
        # Names that are seldom closed are those whose end HTML leaves out.
        if tag.opens and 2 * closed[tag.name] >= begun[tag.name]:
            opened.append(one)
            open_counts[tag.name] += 1
    for one in opened[1:]:
        one.close = one.end = end
    return root


def _close(opened: list[_Element], open_counts: Counter[str], tag: _Tag) -> None:
    """End the innermost open element of a name, and those in it that lack their end."""
    while True:
        one = opened.pop()
        open_counts[one.name] -= 1
        one.close = tag.start
        one.end = tag.end if one.name == tag.name else tag.start
        if one.name == tag.name:
            return


class _Splitting:
    def __init__(self, text: str, page: int) -> None:
        """`page` is the size of a page of HTML, 0 for other markup."""
        self._text = text
        self._page = page

    def _is_aside(self, one: _Element) -> bool:
        """Whether an element stands beside what a page says. One that has much of the page is the
        page: some are one form."""
        if MAX_ASIDE * (one.end - one.start) >= self._page:
            return False
        if _FRAME.match(one.name):
            return any(_ASIDE.match(inner.name) for inner in one.children)
        return _ASIDE.match(one.name) is not None

    def parts(self, holder: _Element, depth: int) -> list[Part]:
        """What is in an element: sections under their headings, elements and text."""
        start, end = holder.inner, holder.close
        if depth == DEEPEST or not holder.children:
            return list(sentences(self._text, start, end))
        if 2 * self._inside(holder) < end - start:
            return list(sentence_runs(self._text, start, end, self._ends(holder)))
        found = [at for at, one in enumerate(holder.children) if _HEADING.match(one.name)]
        if not found:
            return self._stretch(start, end, holder.children, depth)
        starts = [holder.children[at].start for at in found]
        parts = self._stretch(start, starts[0], holder.children[: found[0]], depth)
        for first, last in zip(found, [*found[1:], len(holder.children)], strict=True):
            until = holder.children[last].start if last < len(holder.children) else end
            parts += self._section(holder.children[first:last], until, depth)
        return parts

    def _inside(self, holder: _Element) -> int:
        """Characters of its elements."""
        return sum(one.end - one.start for one in holder.children)

    def _ends(self, holder: _Element) -> list[int]:
        """Where sentences end in the text between an element's elements."""
        ends: list[int] = []
        at = holder.inner
        for one in holder.children:
            ends += sentence_ends(self._text, at, one.start)
            at = one.end
        return ends + sentence_ends(self._text, at, holder.close)

    def _section(self, elements: Sequence[_Element], until: int, depth: int) -> list[Part]:
        """A heading with what is below it."""
        heading = elements[0]
        below = self._stretch(heading.end, until, elements[1:], depth)
        if (
            not below
            or until - heading.start <= WHOLE
            or heading.end - heading.start > MAX_TAG_LENGTH
        ):
            return self._stretch(heading.start, until, elements, depth)
        opening = heading.end - heading.start
        return [Part(heading.start, until, "section", 1, opening, 0, False, tuple(below))]

    def _stretch(
        self, start: int, end: int, elements: Sequence[_Element], depth: int
    ) -> list[Part]:
        """Elements and the text between them; small neighbours share a part."""
        parts: list[Part] = []
        identifying = _identifying(self._text, elements)
        outliers = _outlier_elements(elements) - identifying
        for number, one in enumerate(elements):
            self._add_text(parts, start, one.start)
            begin = parts[-1].end if parts and parts[-1].end > start else start
            if number in outliers:
                parts.append(self._outlier_part(one, begin, depth))
            else:
                self._add(parts, one, begin, number in identifying, depth)
            start = one.end
        self._add_text(parts, start, end)
        return parts

    def _add_text(self, parts: list[Part], start: int, end: int) -> None:
        """Text between elements; a little belongs to the element before it, and a declaration to
        the one behind it."""
        said = self._text[start:end].strip()
        if not said or (said.startswith(("<!", "<?")) and len(said) <= MAX_TAG_LENGTH):
            return
        if end - start <= GROUP // 4 and parts and not parts[-1].children:
            last = parts[-1]
            if last.unit == "node" and not last.identifies:
                parts[-1] = msgspec.structs.replace(last, end=end)
                return
        parts += sentences(self._text, start, end)

    def _add(
        self, parts: list[Part], one: _Element, start: int, identifies: bool, depth: int
    ) -> None:
        """An element, from the end of what is before it."""
        if one.end - one.start > WHOLE:
            parts.append(self._split(one, start, depth))
            return
        last = parts[-1] if parts else None
        is_aside = self._is_aside(one)
        if (
            last is not None
            and not last.children
            and last.unit == "node"
            and (last.identifies, last.is_aside) == (identifies, is_aside)
            and max(last.size // last.count, one.end - start) <= MIN_LEAF_LENGTH
            and one.end - last.start <= GROUP
        ):
            parts[-1] = msgspec.structs.replace(last, end=one.end, count=last.count + 1)
        else:
            parts.append(Part(start, one.end, "node", identifies=identifies, is_aside=is_aside))

    def _outlier_part(self, one: _Element, start: int, depth: int) -> Part:
        """An element that differs from the others of its list: it shares no part with them."""
        is_small = one.end - one.start <= WHOLE
        made = Part(start, one.end, "node") if is_small else self._split(one, start, depth)
        return msgspec.structs.replace(made, is_outlier=True)

    def _split(self, one: _Element, start: int, depth: int) -> Part:
        """A large element: its start tag is shown with anything in it."""
        shown = one.inner
        before: list[Part] = []
        if shown - one.start > MAX_TAG_LENGTH:
            cut = self._text.rfind(" ", one.start, one.start + MAX_TAG_LENGTH) + 1
            shown = cut or one.start + MAX_TAG_LENGTH
            before = list(sentences(self._text, shown, one.inner))
        children = [*before, *self.parts(one, depth + 1)]
        return Part(
            start, one.end, "node", 1, shown - start, one.end - one.close, False, tuple(children),
            is_aside=self._is_aside(one),
        )  # fmt: skip


def _identifying(text: str, elements: Sequence[_Element]) -> frozenset[int]:
    """Positions of the elements that say which thing the one around them is, or what the columns
    of a table are."""
    named = [
        place
        for place, one in enumerate(elements)
        if not one.children
        and one.end - one.start <= IDENTIFIER
        and NAMES.search(one.name)
        and text[one.inner : one.close].strip()
    ]
    heads = [
        place
        for place, one in enumerate(elements[:2])
        if one.end - one.start <= MAX_TAG_LENGTH and _heads_table(one)
    ]
    return frozenset([*heads, *named[:MAX_IDENTIFIERS]])


def _outlier_elements(elements: Sequence[_Element]) -> frozenset[int]:
    """Positions of the few elements of a list that hold other elements than most do: of many test
    cases, the one with a failure."""
    if len(elements) < MIN_COMPARED:
        return frozenset()
    held = [(one.name, *dict.fromkeys(child.name for child in one.children)) for one in elements]
    counts = Counter(held)
    few = max_rare(len(elements))
    if 2 * max(counts.values()) < len(elements) or len(counts) > MAX_KINDS:
        return frozenset()
    return frozenset(place for place, kind in enumerate(held) if counts[kind] <= few)


def _heads_table(one: _Element) -> bool:
    """Whether an element at the beginning of a table says what its columns are."""
    if one.name.lower() in ("thead", "caption"):
        return True
    return one.name.lower() == "tr" and any(cell.name.lower() == "th" for cell in one.children[1:2])
