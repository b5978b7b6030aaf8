"""What users say about themselves, as key and value: `my timezone is UTC` → `user_timezone=UTC`.

Only plain statements about oneself count. Words that may be somebody else's teach nothing:
quotations in the marks of any script, reports, whatever follows a colon, and text of several
lines, which was probably pasted. Questions, suppositions and orders teach nothing either, except
orders to remember or forget something of one's own. To have anything else remembered, publish it as
a `memory_fact`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from weft.facts.keys import MAX_VALUE, is_secret, key_from, note_key
from weft.memory import names, phrases, values
from weft.memory.extent import VALUE_END, text_value
from weft.memory.languages import words_of
from weft.memory.values import FORMS, Form


class WordedPattern:
    """A pattern that ignores case, and words: each match contains at least one of them."""

    def __init__(self, pattern: str, words: str) -> None:
        self.pattern = re.compile(pattern, re.I)
        self.words = words_of(words)

    def search(self, sentence: str, words: frozenset[str]) -> re.Match[str] | None:
        """The first match in a sentence of a text with these words. Most texts have none of the
        pattern's words, and looking for words costs a fraction of a search."""
        return None if self.words.isdisjoint(words) else self.pattern.search(sentence)

    def match(self, sentence: str, words: frozenset[str]) -> re.Match[str] | None:
        """The match at the beginning of a sentence of a text with these words."""
        return None if self.words.isdisjoint(words) else self.pattern.match(sentence)

    def finditer(self, sentence: str, words: frozenset[str]) -> Iterable[re.Match[str]]:
        """All matches in a sentence of a text with these words."""
        return () if self.words.isdisjoint(words) else self.pattern.finditer(sentence)


_MAX_TEXT = 1_000
"""Longest turn, in characters. People state facts briefly; a longer text was pasted."""

_NOT_TYPED = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|```|^\s*(?:[>|{\[<]|\s{4})|<[/\w]")
"""Several lines, code, quotations, markup, tables and JSON: nothing that somebody just typed."""
_OPENING = "“”„«»‹「『《〈〝\"‘‚'"  # noqa: RUF001
_CLOSED = ("”", "”", "“”", "»", "«", "›", "」", "』", "》", "〉", "〞〟", '"', "’", "‘’", "'")  # noqa: RUF001
_CLOSING = dict(zip(_OPENING, _CLOSED, strict=True))
"""Opening quotation mark → the marks that close it."""
_QUOTE = re.compile(f"[{_OPENING}](?:(?<![‘'])|(?<!\\w[‘'])(?=\\w))")  # noqa: RUF001
"""A single mark opens a quotation only before a word. Within a word it is an apostrophe."""
_SENTENCE_END = re.compile(r"[.!?;。！？؟]\s+")  # noqa: RUF001
_IMAGINED = WordedPattern(
    r"\b(if|whether|unless|suppose|assuming|imagine|pretend|wish|(?<![.@-])example(?!\.\w))\b",
    "if whether unless suppose assuming imagine pretend wish example",
)
"""These words turn their whole sentence into a supposition. At the beginning of a sentence they do
the same to everything after it."""
_DOUBTED = WordedPattern(
    r"\b(?:not (?:so |quite |really |entirely )?(?:sure|certain)|unsure|kidding|joking|a joke"
    r"|hypothetically)\b",
    "sure certain unsure kidding joking joke hypothetically",
)
"""These words take their sentence back."""
_HANDED_WORDS = (
    "email emails mail mails message messages letter letters text texts note notes sms transcript"
    " transcripts article articles page pages document documents review reviews post posts comment"
    " comments paragraph paragraphs sentence sentences conversation conversations chat chats story"
    " stories novel novels poem poems script scripts character characters replies quote quotes"
    " report reports form forms ticket tickets"
)
_HANDED = "|".join(["e-mails?", *_HANDED_WORDS.split()])
_HANDS_OVER = WordedPattern(
    r"^\W*"
    r"(?:(?:please|now|then|and|ok(?:ay)?|(?:can|could|would|will) you|i want you to|let's)\W+)*"
    r"(?:summari[sz]e|translate|rewrite|rephrase|paraphrase|proofread|reply|respond|draft|write"
    r"|compose|repeat|recite|read|quote|type|act|play|role-?play|speak|answer|classify|extract"
    r"|analy[sz]e|check|review|edit|shorten|improve|continue|complete|process)\b",
    "summarise summarize translate rewrite rephrase paraphrase proofread reply respond draft write"
    " compose repeat recite read quote type act play roleplay speak answer classify extract analyse"
    " analyze check review edit shorten improve continue complete process",
)
_BEGINS_ANOTHERS = re.compile(
    r"\W*(?:from|to|subject|sent|date|cc)\s*:|you\s+are\s+(?:now\s+)?(?:an?|the|my)\b", re.I
)
"""A line of a mail's head, or the description of a role."""
_HANDED_OVER = WordedPattern(
    rf"\b(?:(?:this|these|following|below|her|his|their)\s+(?:[\w-]+\s+){{0,2}}(?:{_HANDED})\b"
    rf"|(?:the|an?)\s+(?:[\w-]+\s+){{0,2}}(?:{_HANDED})\s+"
    r"(?:I|we|from|that|which|by|says?|said|reads?|speaks?|writes?|goes)\b"
    r"|(?:dear|to whom it may concern|once upon a time)\b"
    r"|(?:my|your)\s+(?:\w+\s+)?characters?\b"
    r"|(?:ignore|forget|disregard)\s+(?:\w+\s+){0,3}instructions\b"
    r"|(?:said|says|sent|wrote|writes|forwarded|received|got)\s+(?:\w+\s+)?"
    r"(?:this|the following)\W*\Z"
    r"|(?:sehr geehrte[rs]?|liebe[rs]?|estimad[oa]s?|cher|chère|gentile|egregio|prezad[oa]"
    r"|geachte|beste|kära?|kjære)\s+\w+\s*,)",
    f"{_HANDED_WORDS} dear concern upon instructions said says sent wrote writes forwarded received"
    " got sehr liebe lieber liebes estimado estimada estimados estimadas cher chère gentile egregio"
    " prezado prezada geachte beste kär kära kjære",
)
"""Sentences that hand over a text, or begin one. What they say, and what follows them in the turn,
may be somebody else's, as in `Summarise this mail. Hi, I'm Eve …`."""
_SAYS = (
    "said says wrote writes replied answered claimed claims told adds added dijo dice escribió"
    " sagte sagt schrieb dit écrit disse diz scrisse scrive escreveu zei zegt schreef sa sade säger"
    " sier skrev"
)
_SAID_AFTER = WordedPattern(
    rf"[,\uff0c;\u2013\u2014-]\s*(?:[\w']+\s+){{0,3}}?(?:{'|'.join(_SAYS.split())})\b"
    r"|\baccording to\b",
    f"{_SAYS} according",
)
"""Words after a sentence that say whose it was: `my name is Eve, she said`."""
_INTRODUCES = re.compile(r"\w\s*[:：](?:\s|$)")  # noqa: RUF001
"""After a colon, somebody else may be speaking."""
_BEFORE = re.compile(
    r"\W*(?:(?:now|actually|currently|still|just|also|simply|I think|you can|please)\s+)*", re.I
)
"""What may come before a statement in its clause. Anything else may make it a report."""
_OWN = re.compile(r"\W*(?:I|my)\b", re.I)
_ASIDE = 3
"""Most words of a clause before a comma that reports nothing, such as `by the way`."""
_CLAUSE = re.compile(r"[,:—–]\s|\s-\s|\b(?P<joined>and|but)\s", re.I)  # noqa: RUF001
_QUALIFIER = re.compile(r"favou?rite|preferred|default|usual|native|home")
_NEW = re.compile(r"(?:new|current|actual|real|correct|updated|present)_(?=\w)")
"""Words for what an attribute is by now: its key is without them."""

_MINE = WordedPattern(
    r"\bmy\s+(?P<attribute>(?:[\w'-]+\s+){0,3}[\w-]+)\s*(?:\bis\b|\bare\b|=|:)\s*(?=\S)", "my"
)
_GREETING = (
    r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))"
    r"(?: there| all| everyone| team)?\W+"
)
_VALUE = r"(?P<value>\S.*)"


class Pattern(NamedTuple):
    """A kind of statement about oneself."""

    key: str
    words: frozenset[str]
    """Every text with such a statement has one of these words."""
    pattern: re.Pattern[str]
    form: Form
    """Of its values."""
    is_free: bool = False
    """Whether a value is known by the words before it alone."""


def _pattern(key: str, words: str, pattern: str, form: Form, is_free: bool = False) -> Pattern:
    return Pattern(key, words_of(words), re.compile(pattern), form, is_free)


PATTERNS = [
    _pattern(
        "name",
        "hi hello hey hiya howdy greetings good",
        rf"^(?i:{_GREETING})(?:[Ii]['’]?m|[Ii] am|[Tt]his is|[Ii]t['’]?s) {_VALUE}",  # noqa: RUF001
        names.introduced_name,
    ),
    _pattern("name", "speaking here calling", rf"^[Tt]his is {_VALUE}", names.speaking_name),
    _pattern("name", "name", rf"\b[Mm]y name['’]s {_VALUE}", names.own_name),  # noqa: RUF001
    _pattern("name", "call", rf"\b(?:[Pp]lease )?[Cc]all me {_VALUE}", names.called_name),
    _pattern("timezone", "m am", rf"\bI(?:'m| am) (?:in|on) (?:the )?{_VALUE}", values.timezone),
    _pattern(
        "email",
        "reach email mail contact write",
        rf"\b(?:[Rr]each|[Ee]-?mail|[Cc]ontact|[Ww]rite to) me (?:at|on|via) {_VALUE}",
        values.email,
    ),
    _pattern(
        "location",
        "live based located reside residing living",
        rf"\bI(?:'m| am)? (?:live|based|located|reside|residing|living) in {_VALUE}",
        names.place,
    ),
    _pattern("location", "moved", rf"\bI (?:have |just )?moved to {_VALUE}", names.place_moved_to),
    _pattern("employer", "work", rf"\bI work (?:at|for) {_VALUE}", names.place),
    _pattern("job", "work", rf"\bI work as {_VALUE}", phrases.occupation_worked_as, is_free=True),
    _pattern(
        "allergy", "allergic", rf"\bI(?:'m| am) allergic to {_VALUE}", phrases.things, is_free=True
    ),
    _pattern(
        "allergy",
        "allergy",
        rf"\bI have (?:an |any )?allergy to {_VALUE}",
        phrases.things,
        is_free=True,
    ),
    _pattern("diet", values.DIET_WORDS, rf"\bI(?:'m| am) (?:an? )?{_VALUE}", values.diet),
    _pattern("birth_date", "born", rf"\bI was born (?:on|in) {_VALUE}", values.date, is_free=True),
    _pattern("birth_place", "born", rf"\bI was born in {_VALUE}", names.place, is_free=True),
    _pattern(
        "preference",
        "prefer",
        rf"\bI(?:'d| would)?(?: really| strongly| always| usually)? prefer {_VALUE}",
        phrases.preference,
        is_free=True,
    ),
]
_STATED_BY = frozenset[str]().union(*(one.words for one in PATTERNS))
"""Every text with one of these statements has one of these words."""
INTRODUCED = _pattern("name", "", rf"^(?:I'm|I am|[Tt]his is) {_VALUE}", names.introduced_name)
"""What may be denied, or said instead of a denied name. By itself it is said of anything."""
HAD_ALLERGY = _pattern(
    "allergy",
    "",
    rf"^I have (?:an? |any |my )?{_VALUE}",
    phrases.things_before_allergy,
)
"""What may be denied alone: the word before `allergy` does not tell in which number the thing was
named when it was stated."""
REMEMBER = WordedPattern(
    r"^(?:\w+,\s|please\s|and\s|also\s)*(?:remember|note|keep in mind|don't forget)(?:\s+that)?\s+"
    r"(?P<value>(?:my|I|I'm|I'd)\s\S.*)",
    "remember note mind forget",
)
"""Only what begins with the speaker or what is his, such as `my wife …`: an order to remember
anything else may come from anybody."""

_MY = re.compile(r"my\s(?P<key>[\w' -]{2,50}?)\s*(?:\bis\b|\bare\b|=|:)\s+(?P<value>\S.*)", re.I)
DENIED = re.compile(
    r"\bI(?P<am>'m| am) (?:not|no longer) "
    r"|\bI (?:no longer|do not|don't) (?P<be>am )?"
    r"|\bI(?:'ve| have)? (?:just )?(?:stopped|quit) (?P<stopped>work|liv|resid|be|preferr)ing "
    r"|\b(?:[Pp]lease )?(?:[Dd]on't|[Dd]o not|[Ss]top) (?P<call>call)(?:ing)? (?=me )"
    r"|\bI used to (?P<was>be )?"
    r"|\bI(?:'ve| have)? (?:just |recently )?moved (?P<away>away from|out of) "
    r"|\bI (?P<had>have no|(?:have )?outgrown|outgrew) |\bI've (?P<outgrown>outgrown) "
)
"""How a negated statement of `PATTERNS` begins."""
_FORGET = WordedPattern(
    r"^\W*(?:please\s+)?forget\s+(?:about\s+)?my\s+(?P<attribute>(?:[\w'-]+\s+){0,3}[\w-]+?)"
    r"(?:,?\s+please)?[.!]*$",
    "forget",
)
_ANOTHERS = re.compile(r"\w['’]s\b", re.I)  # noqa: RUF001
"""What is remembered of oneself is not `my bank's new account`."""


_AFFIRMATIVE = _STATED_BY | _MINE.words | REMEMBER.words
"""Every text with an affirmative statement has one of these words."""


def may_state(words: frozenset[str]) -> bool:
    """Whether a text with these words may have an affirmative statement about the speaker."""
    return not _AFFIRMATIVE.isdisjoint(words)


def typed_text(text: str) -> str:
    """The text of a turn without line breaks around it; empty if it was probably pasted."""
    typed = text.strip("\r\n") if len(text) < 2 * _MAX_TEXT else ""
    return "" if len(typed) > _MAX_TEXT or _NOT_TYPED.search(typed) else typed


def own_sentences(typed: str, words: frozenset[str]) -> Iterator[tuple[str, Spans]]:
    """The sentences that are the speaker's own and indicative, each with its quotations."""
    spans, start = list(_quoted(typed)), 0
    is_imagined = is_anothers = False
    for end in [*(match.end() for match in _SENTENCE_END.finditer(typed)), len(typed)]:
        sentence, at, start = typed[start:end].rstrip(), start, end
        imagined = _IMAGINED.search(sentence, words)
        is_imagined = is_imagined or (
            imagined is not None and not sentence[: imagined.start()].strip()
        )
        is_anothers = is_anothers or _hands_over(sentence, words)
        if is_imagined or is_anothers or imagined or _DOUBTED.search(sentence, words):
            continue
        if not _SAID_AFTER.search(sentence, words):
            yield sentence, [(first - at, last - at) for first, last in spans]


def _hands_over(sentence: str, words: frozenset[str]) -> bool:
    return (
        _HANDS_OVER.match(sentence, words) is not None
        or _BEGINS_ANOTHERS.match(sentence) is not None
        or _HANDED_OVER.search(sentence, words) is not None
    )


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """Stretches within quotation marks of any script. A quotation that is not closed extends to the
    end."""
    start = 0
    while opening := _QUOTE.search(text, start):
        closing = _CLOSING[opening.group()]
        ends = (text.find(mark, opening.end()) for mark in closing)
        start = min((end for end in ends if end >= 0), default=len(text)) + 1
        yield opening.start(), start


Spans = list[tuple[int, int]]


def facts_of(
    sentence: str, quoted: Spans, who: str, words: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Key and value of each affirmative statement about the speaker, in a sentence of a text with
    these words. The value is empty if he asks to forget it."""
    remark = REMEMBER.match(sentence, words)
    if remark:
        if not sentence.endswith(QUESTION_MARKS) and not is_within(remark.start("value"), quoted):
            stated = list(_stated(remark["value"], [], who, words))
            yield from stated or _remembered(remark["value"], who)
        return
    forget = _FORGET.match(sentence, words)
    if forget and not is_within(forget.start("attribute"), quoted):
        key, form = attribute_form(forget["attribute"], who)
        if form is not None:
            yield key, ""
        return
    yield from _stated(sentence, quoted, who, words)
    for match in _MINE.finditer(sentence, words):
        if is_plain(sentence, match, quoted, match.end()):
            yield from attribute_facts(match["attribute"], sentence[match.end() :], who)


def is_plain(sentence: str, match: re.Match[str], quoted: Spans, value: int) -> bool:
    """Whether it is the speaker's own statement, and no question. Its value starts at `value`."""
    return _is_own(sentence, match, quoted) and not _is_asked(sentence, value)


def _is_own(sentence: str, match: re.Match[str], quoted: Spans) -> bool:
    """Whether it is the speaker's own statement: it begins its clause, and no clause before it
    could be reporting it."""
    before = sentence[: match.start()]
    if _INTRODUCES.search(before) or is_within(match.start(), quoted):
        return False
    start = 0
    for cut in _CLAUSE.finditer(before):
        clause = before[start : cut.start()]
        is_own = _OWN.match(clause) or DENIED.match(clause.lstrip())
        if not is_own and (cut["joined"] or len(clause.split()) > _ASIDE):
            return False
        start = cut.end()
    return _BEFORE.fullmatch(before, start) is not None


def is_within(place: int, spans: Spans) -> bool:
    return any(first <= place < last for first, last in spans)


def _stated(
    sentence: str, quoted: Spans, who: str, words: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What the statements of `PATTERNS` in a sentence say."""
    if _STATED_BY.isdisjoint(words):
        return
    for key, own_words, pattern, form, _ in PATTERNS:
        for match in () if own_words.isdisjoint(words) else pattern.finditer(sentence):
            if is_plain(sentence, match, quoted, match.start("value")):
                yield from keys_and_values(key, form(match["value"]), who)


def keys_and_values(key: str, found: list[str], who: str) -> Iterator[tuple[str, str]]:
    """The key of a preference names its topic, so that window seats replace aisle seats. The key of
    an allergy names what it is to, since people may have several."""
    for value in found:
        named = ""
        if key == "preference":
            topic = re.split(r"\s(?:over|to|rather|than|instead)\s", value)[0]
            named = key_from(topic).split("_")[-1]
        if key == "allergy":
            named = key_from(phrases.allergy_name(value))
        yield f"{who}_{key}_{named}" if named else f"{who}_{key}", value


def attribute_facts(attribute: str, rest: str, who: str) -> Iterator[tuple[str, str]]:
    """Key and value of `my <attribute> is <rest>`; none if the attribute is unknown, or the rest
    does not begin with a value in its form."""
    key, form = attribute_form(attribute, who)
    if form is phrases.allergies:
        yield from keys_and_values("allergy", form(rest), who)
    elif form is not None:
        yield from ((key, value[:MAX_VALUE]) for value in form(rest))


@lru_cache(maxsize=4_096)
def attribute_form(attribute: str, who: str) -> tuple[str, Form | None]:
    """`my home time zone` → `user_home_timezone` and the form of its values, None if the attribute
    is unknown."""
    words = key_from(attribute.replace("'s", "")).replace("time_zone", "timezone")
    words = words.replace("e_mail", "email").removesuffix("_address" if "mail" in words else "")
    words = _NEW.sub("", words)
    if is_secret(words):
        return "", None
    parts = words.split("_")
    return (f"{who}_" if parts[0] != who else "") + words, _form(parts[:-1], parts[-1])


def _form(before: list[str], last: str) -> Form | None:
    """Of the values of an attribute with this last word and the words before it."""
    if last in ("allergy", "allergies"):
        return FORMS["allergy"] if _ALL_ALLERGIES.issuperset(before) else None
    if last == "number" and before[-1:] == ["phone"]:
        return FORMS["phone"]
    if last == "name" and not _OWN_NAME.issuperset(before):
        return names.proper_name
    if last not in FORMS and any(map(_QUALIFIER.fullmatch, before)):
        return phrases.phrase
    return FORMS.get(last)


_ALL_ALLERGIES = frozenset(("food", "known", "only", "main"))
_OWN_NAME = frozenset(("first", "last", "full", "middle", "family", "given", "user", "legal"))


def _remembered(remark: str, who: str) -> Iterator[tuple[str, str]]:
    """Something that the speaker wants remembered about himself."""
    clause = _MY.match(remark)
    if _ANOTHERS.search(remark if clause is None else clause["key"]):
        return
    note = remark.strip(" .!\"'`*")[:MAX_VALUE]
    if clause is not None:
        _, form = attribute_form(clause["key"], who)
        if form is not None:
            found = list(attribute_facts(clause["key"], clause["value"], who))
            yield from found or ([] if is_secret(key_from(remark)) else [(note_key(remark), note)])
            return
        if text_value(clause["value"]):
            value = clause["value"].strip(" .!\"'`*")[:MAX_VALUE]
            yield attribute_key(clause["key"], who), value
            return
    if not is_secret(key_from(remark)):
        yield note_key(remark), note


def attribute_key(attribute: str, who: str) -> str:
    """Also for attributes that only an order to remember them makes facts."""
    return f"{who}_{key_from(attribute).replace('time_zone', 'timezone')}"


QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001


def _is_asked(sentence: str, start: int) -> bool:
    """Whether the value runs up to a question mark: `so my timezone is UTC?`"""
    end = VALUE_END.search(sentence, start)
    return end is not None and end.group() in QUESTION_MARKS
