"""What users say about themselves, as key and value: `my timezone is UTC` → `user_timezone=UTC`.

Only plain statements about oneself count. Words that may be somebody else's teach nothing:
quotations in the marks of any script, reports, whatever follows a colon, and text of several
lines, which was probably pasted. Questions, suppositions and orders teach nothing either. To have
something remembered all the same, publish it as a `memory_fact`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.facts.keys import MAX_VALUE, is_secret, key_from, note_key
from weft.memory.languages import words_of


class WordedPattern:
    """A pattern that ignores case, and words: each match contains at least one of them."""

    def __init__(self, pattern: str, words: str) -> None:
        self.pattern = re.compile(pattern, re.I)
        self.words = words_of(words)

    def search(self, sentence: str, words: frozenset[str]) -> re.Match[str] | None:
        """The first match in a sentence of a text with these words. Most texts have none of the
        pattern's words, and looking for words costs a fraction of a search."""
        return None if self.words.isdisjoint(words) else self.pattern.search(sentence)


_MAX_TEXT = 1_000
"""Longest turn, in characters. People state facts briefly; a longer text was pasted."""
_MAX_WORDS = 8
"""Longest value, in words: anything longer is a sentence."""

_NOT_TYPED = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|```|^\s*(?:[>|{\[<]|\s{4})|<[/\w]")
"""Several lines, code, quotations, markup, tables and JSON: nothing that somebody just typed."""
_OPENING = "“”„«»‹「『《〈〝\"‘‚'"  # noqa: RUF001
_CLOSED = ("”", "”", "“”", "»", "«", "›", "」", "』", "》", "〉", "〞〟", '"', "’", "‘’", "'")  # noqa: RUF001
_CLOSING = dict(zip(_OPENING, _CLOSED, strict=True))
"""Opening quotation mark → the marks that close it."""
_QUOTE = re.compile(r"[“”„«»‹「『《〈〝\"‚]|(?<!\w)[‘'](?=\w)")  # noqa: RUF001
"""A single mark opens a quotation only before a word. Within a word it is an apostrophe."""
_SENTENCE = re.compile(r"(?<=[.!?;。！？؟])\s+")  # noqa: RUF001
_IMAGINED = WordedPattern(
    r"\b(if|whether|unless|suppose|assuming|imagine|pretend|wish|example(?!\.\w))\b",
    "if whether unless suppose assuming imagine pretend wish example",
)
"""These words turn their whole sentence into a supposition. At the beginning of a sentence they do
the same to everything after it."""
_HANDED_WORDS = (
    "email emails mail mails message messages letter letters text texts note notes sms transcript"
    " transcripts article articles page pages document documents review reviews post posts comment"
    " comments paragraph paragraphs sentence sentences conversation conversations chat chats story"
    " stories novel novels poem poems script scripts character characters replies quote quotes"
    " report reports form forms ticket tickets"
)
_HANDED = "|".join(["e-mails?", *_HANDED_WORDS.split()])
_HANDS_OVER = re.compile(
    r"\W*(?:(?:please|now|then|and|ok(?:ay)?|(?:can|could|would|will) you|i want you to|let's)\W+)*"
    r"(?:summari[sz]e|translate|rewrite|rephrase|paraphrase|proofread|reply|respond|draft|write"
    r"|compose|repeat|recite|read|quote|type|act|play|role-?play|speak|answer|classify|extract"
    r"|analy[sz]e|check|review|edit|shorten|improve|continue|complete|process)\b"
    r"|\W*(?:from|to|subject|sent|date|cc)\s*:",
    re.I,
)
_HANDED_OVER = WordedPattern(
    rf"\b(?:(?:this|these|following|below|her|his|their)\s+(?:[\w-]+\s+){{0,2}}(?:{_HANDED})\b"
    rf"|(?:the|an?)\s+(?:[\w-]+\s+){{0,2}}(?:{_HANDED})\s+"
    r"(?:I|we|from|that|which|by|says?|said|reads?|speaks?|writes?|goes)\b"
    r"|(?:dear|to whom it may concern)\b"
    r"|(?:sehr geehrte[rs]?|liebe[rs]?|estimad[oa]s?|cher|chère|gentile|egregio|prezad[oa]"
    r"|geachte|beste|kära?|kjære)\s+\w+\s*,)",
    f"{_HANDED_WORDS} dear concern sehr liebe lieber liebes estimado estimada estimados estimadas"
    " cher chère gentile egregio prezado prezada geachte beste kär kära kjære",
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
_VALUE_END = re.compile(
    r"[,;!?？؟。]|\.\s|\.?\Z|\s[-—–]\s"  # noqa: RUF001
    r"|\s(?:and|but|so|because|since|which|who|if|when|please|can|could|would|thanks?)\s"
    r"|\s(?:too|as well|actually|anymore|any more)\b(?=\W*\Z)|\sas\s(?:an?|the)\s",
    re.I,
)
_HEDGE = re.compile(r"^(?:(?:now|actually|currently|still|just|also|simply|set to)\s+)+", re.I)
_NO_VALUE = re.compile(
    r"(?:not|n't|no|never|wrong|incorrect|missing|unknown|the same|same|that|this|it|how|why|what"
    r"|being|going|very|too|broken|different|required|needed|already|in|on|there|here)\b",
    re.I,
)

_ATTRIBUTE = re.compile(
    r"name|nickname|username|login|handle|id|e?mail|phone|mobile|number|address|location|city|town"
    r"|country|state|region|timezone|zone|language|locale|birthday|birthdate|birth|age|pronouns|job"
    r"|role|title|occupation|profession|company|employer|team|manager|boss|department|office|budget"
    r"|currency|size|diet|allergy|airline|airport|seat|editor|shell|os|platform|branch|repo"
    r"|repository|project|region|zip|zipcode|postcode|code|membership|tier|deadline|plan|hotel|wife"
    r"|husband|partner|spouse|daughter|son|dog|cat"
)
_QUALIFIER = re.compile(r"favou?rite|preferred|default|usual|native|home")
_IDENTIFIER = re.compile(r"id|number|code|username|login|handle|zip|zipcode|postcode")

_NAMED_THING = re.compile(
    r"phone|mobile|state|country|region|company|employer|team|manager|boss|department|office|home"
    r"|platform|branch|repo|repository|project|deadline|plan|hotel|wife|husband|partner|spouse"
    r"|daughter|son|dog|cat"
)
"""People say all kinds of things about these: only a name or a number counts as their value."""
_SPECIFIC = re.compile(r"[A-Z\d_@]|\w[.-]\w")

_MINE = re.compile(
    r"\bmy\s+(?P<attribute>(?:[\w'-]+\s+){0,3}[\w-]+)\s*(?:\bis\b|\bare\b|=|:)\s*(?=\S)", re.I
)
_NAMED = r"(?P<value>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2})"
_ZONE = r"(?P<value>(?:UTC|GMT)(?:\s?[+-]\s?\d{1,2}(?::\d\d)?)?|[A-Z]{2,4}T|[A-Z]\w+/[A-Z]\w+)\b"
_EMAIL = r"(?P<value>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
REST = r"(?P<value>\S.*)"
PROPER = r"(?P<value>(?:the )?[A-Z\d].*)"
"""A place or a company; `fear of deadlines` and `night` are neither."""
PATTERNS = [
    (key, needle, re.compile(pattern))
    for key, needle, pattern in (
        (
            "name",
            "",
            rf"^(?:(?:[Hh]i|[Hh]ello|[Hh]ey)\W+)?(?:I'm|I am|[Tt]his is) {_NAMED}"
            r"(?=[,.!]|\sand\s|$)",
        ),
        ("name", "all me ", rf"\b(?:[Pp]lease )?[Cc]all me {_NAMED}"),
        ("timezone", "I", rf"\bI(?:'m| am) (?:in|on) (?:the )?{_ZONE}"),
        (
            "email",
            " me ",
            rf"\b(?:[Rr]each|[Ee]-?mail|[Cc]ontact|[Ww]rite to) me (?:at|on|via) {_EMAIL}",
        ),
        (
            "location",
            " in ",
            rf"\bI(?:'m| am)? (?:live|based|located|reside|residing|living) in {PROPER}",
        ),
        ("location", "moved to ", rf"\bI (?:have |just )?moved to {PROPER}"),
        ("employer", "I work ", rf"\bI work (?:at|for) {PROPER}"),
        ("job", "I work as ", rf"\bI work as (?:an? )?{REST}"),
        ("allergy", "allergic to ", rf"\bI(?:'m| am) allergic to {REST}"),
        ("diet", "an", r"\bI(?:'m| am) (?:an? )?(?P<value>vegan|vegetarian|pescatarian)\b"),
        ("birth_date", "I was born ", rf"\bI was born (?:on|in) {REST}"),
        (
            "preference",
            "prefer ",
            rf"\bI(?:'d| would)?(?: really| strongly| always| usually)? prefer {REST}",
        ),
    )
]
"""Key, text that every matching sentence contains, and the pattern."""
REMEMBER = re.compile(
    r"^(?:\w+,\s|please\s|and\s|also\s)*(?:remember|note|keep in mind|don't forget)(?:\s+that)?\s+"
    r"(?P<value>(?:my|I|I'm|I'd)\s\S.*)",
    re.I,
)
"""Only statements about oneself: an order to remember anything else may come from anybody."""

_MY = re.compile(r"my\s(?P<key>[\w' -]{2,50}?)\s*(?:\bis\b|\bare\b|=|:)\s+(?P<value>\S.*)", re.I)
DENIED = re.compile(
    r"\bI(?P<am>'m| am) (?:not|no longer) "
    r"|\bI (?:no longer|do not|don't) (?P<be>am )?"
    r"|\bI(?:'ve| have)? (?:just )?(?:stopped|quit) (?P<stopped>work|liv|resid|be|preferr)ing "
    r"|\b(?:[Pp]lease )?(?:[Dd]on't|[Dd]o not|[Ss]top) (?P<call>call)(?:ing)? (?=me )"
)
"""How a negated statement of `PATTERNS` begins."""
_ANOTHERS = re.compile(r"\w['’]s\b", re.I)  # noqa: RUF001
"""What is remembered of oneself is not `my bank's new account`."""


def typed_text(text: str) -> str:
    """The text of a turn without line breaks around it; empty if it was probably pasted."""
    typed = text.strip("\r\n") if len(text) < 2 * _MAX_TEXT else ""
    return "" if len(typed) > _MAX_TEXT or _NOT_TYPED.search(typed) else typed


def own_sentences(typed: str, words: frozenset[str]) -> Iterator[tuple[str, Spans]]:
    """The sentences that are the speaker's own and indicative, each with its quotations."""
    spans, start = list(_quoted(typed)), 0
    is_imagined = is_anothers = False
    for end in [*(match.end() for match in _SENTENCE.finditer(typed)), len(typed)]:
        sentence, at, start = typed[start:end].rstrip(), start, end
        imagined = _IMAGINED.search(sentence, words)
        is_imagined = is_imagined or (
            imagined is not None and not sentence[: imagined.start()].strip()
        )
        is_anothers = is_anothers or _hands_over(sentence, words)
        if is_imagined or is_anothers or imagined:
            continue
        if not _SAID_AFTER.search(sentence, words):
            yield sentence, [(first - at, last - at) for first, last in spans]


def _hands_over(sentence: str, words: frozenset[str]) -> bool:
    return (
        _HANDS_OVER.match(sentence) is not None or _HANDED_OVER.search(sentence, words) is not None
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


def facts_of(sentence: str, quoted: Spans, who: str) -> Iterator[tuple[str, str]]:
    """Key and value of each affirmative statement about the speaker."""
    remark = REMEMBER.match(sentence)
    if remark:
        if not sentence.endswith(QUESTION_MARKS) and not is_within(remark.start("value"), quoted):
            yield _remembered(remark["value"], who)
        return
    for key, needle, pattern in PATTERNS:
        for match in pattern.finditer(sentence) if needle in sentence else ():
            if is_plain(sentence, match, quoted, match.start("value")):
                yield key_and_value(key, value_at_start(match["value"]), who)
    for match in _MINE.finditer(sentence):
        value = value_at_start(sentence[match.end() :])
        if value and is_plain(sentence, match, quoted, match.end()):
            yield attribute_fact(match["attribute"], value, who)


def after_value(rest: str) -> str:
    """What follows the value at the start of `rest`, with the sign or word that ends it."""
    end = _VALUE_END.search(rest)
    return "" if end is None else rest[end.start() :]


def is_named(value: str) -> bool:
    """Whether each of its words may be part of a name or of a number."""
    words = value.removeprefix("the ").split()
    return bool(words) and all(_SPECIFIC.search(word) for word in words)


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


def key_and_value(key: str, value: str, who: str) -> tuple[str, str]:
    """The key of a preference names its topic, so that window seats replace aisle seats. The key of
    an allergy names what it is to, since people may have several."""
    if key == "preference" and value:
        topic = re.split(r"\s(?:over|to|rather|than|instead)\s", value)[0]
        return f"{who}_{key}_{key_from(topic).split('_')[-1]}", value
    if key == "allergy" and value:
        return f"{who}_{key}_{key_from(value).split('_')[-1]}", value
    return f"{who}_{key}", value


def attribute_fact(attribute: str, value: str, who: str) -> tuple[str, str]:
    """`my home time zone` → `user_home_timezone`; an empty key if the attribute is unknown."""
    words = key_from(attribute.replace("'s", "")).replace("time_zone", "timezone")
    words = words.replace("e_mail", "email").removesuffix("_address" if "mail" in words else "")
    parts = words.split("_")
    known = _ATTRIBUTE.fullmatch(parts[-1]) or any(map(_QUALIFIER.fullmatch, parts[:-1]))
    if not known or is_secret(words):
        return "", ""
    if _NAMED_THING.fullmatch(parts[-1]) and not _SPECIFIC.search(value):
        return "", ""
    if parts[-1] == "name" and " " in value and not _SPECIFIC.search(value):
        return "", ""
    if _IDENTIFIER.fullmatch(parts[-1]):
        value = _identifier(value)
    return (f"{who}_" if parts[0] != who else "") + words, value


def _identifier(value: str) -> str:
    """The part of the value that can be an identifier: words with digits, or a single word."""
    if " " not in value:
        return value
    telling = [word for word in value.split() if any(letter.isdigit() for letter in word)]
    return " ".join(telling)


def _remembered(remark: str, who: str) -> tuple[str, str]:
    """Something that the speaker wants remembered about himself."""
    clause = _MY.match(remark)
    if _ANOTHERS.search(remark if clause is None else clause["key"]):
        return "", ""
    value = remark.strip(" .!\"'`*")[:MAX_VALUE]
    if clause is None or _NO_VALUE.match(clause["value"]):
        return ("", "") if is_secret(key_from(remark)) else (note_key(remark), value)
    return attribute_key(clause["key"], who), clause["value"].strip(" .!\"'`*")[:MAX_VALUE]


def attribute_key(attribute: str, who: str) -> str:
    """Also for attributes that only an order to remember them makes facts."""
    return f"{who}_{key_from(attribute).replace('time_zone', 'timezone')}"


def value_at_start(rest: str) -> str:
    """The value at the start of `rest`, empty if there is none."""
    rest = _HEDGE.sub("", rest.strip())
    end = _VALUE_END.search(rest)
    value = rest[: end.start() if end else MAX_VALUE].strip(" .!\"'`*()")
    if not value or _NO_VALUE.match(value) or len(value.split()) > _MAX_WORDS:
        return ""
    return value[:MAX_VALUE]


QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001


def _is_asked(sentence: str, start: int) -> bool:
    """Whether the value runs up to a question mark: `so my timezone is UTC?`"""
    end = _VALUE_END.search(sentence, start)
    return end is not None and end.group() in QUESTION_MARKS
