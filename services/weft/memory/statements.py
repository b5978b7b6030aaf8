"""What a user says about themselves, as key and value: `my timezone is UTC` → `user_timezone=UTC`.

Fixed patterns over single clauses, made to miss rather than to invent: questions, suppositions,
quotations and code teach nothing, and neither does an attribute outside the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.facts.keys import MAX_VALUE, is_secret, key_from, note_key

_MOST_TEXT = 8_000
"""Characters looked at: people state facts briefly; what is longer was pasted."""
_MOST_FACTS = 20
_MOST_WORDS = 8
"""Of a value. A longer one is a sentence."""

_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|^[^\S\n]*+>.*$", re.DOTALL | re.MULTILINE)
"""Code and quotations."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_SUPPOSED = re.compile(
    r"\b(if|whether|unless|suppose|assuming|imagine|pretend|what|why|how|is|are|does|did|was"
    r"|thought|wish|example)\b",
    re.I,
)
_CLAUSE = re.compile(r"[,:—–]\s|\b(?:and|but)\s", re.I)  # noqa: RUF001
_VALUE_END = re.compile(
    r"[,;!?\n]|\.\s|\.?\Z|\s[-—–]\s"  # noqa: RUF001
    r"|\s(?:and|but|so|because|since|which|who|if|when|please|can|could|would|thanks?)\s",
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
"""Attributes of which people say all kinds of things: only a name or a number is a value."""
_SPECIFIC = re.compile(r"[A-Z\d_@]|\w[.-]\w")

_MINE = re.compile(
    r"\b(?P<change>(?:set|changed?|updated?|switch(?:ed)?)\s+)?(?P<whose>my|our|the)\s+"
    r"(?P<attribute>(?:[\w'-]+\s+){0,3}[\w-]+)\s*"
    r"(?:\bis\b|\bare\b|=|:|(?(change)\bto\b|(?!)))\s*(?=\S)",
    re.I,
)
_NAMED = r"(?P<value>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2})"
_ZONE = r"(?P<value>(?:UTC|GMT)(?:\s?[+-]\s?\d{1,2}(?::\d\d)?)?|[A-Z]{2,4}T|[A-Z]\w+/[A-Z]\w+)\b"
_EMAIL = r"(?P<value>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
_REST = r"(?P<value>\S.*)"
_PATTERNS = [
    (key, re.compile(pattern))
    for key, pattern in (
        (
            "name",
            rf"(?:^|[Hh]i|[Hh]ello|[Hh]ey)\W*(?:I'm|I am|[Tt]his is) {_NAMED}(?=[,.!]|\sand\s|$)",
        ),
        ("name", rf"\b(?:[Pp]lease )?[Cc]all me {_NAMED}"),
        ("timezone", rf"\bI(?:'m| am) (?:in|on) (?:the )?{_ZONE}"),
        ("email", rf"\b(?:[Rr]each|[Ee]-?mail|[Cc]ontact|[Ww]rite to) me (?:at|on|via) {_EMAIL}"),
        ("location", rf"\bI(?:'m| am)? (?:live|based|located|reside|residing|living) in {_REST}"),
        ("location", rf"\bI (?:have |just )?moved to {_REST}"),
        ("employer", rf"\bI work (?:at|for) {_REST}"),
        ("job", rf"\bI work as (?:an? )?{_REST}"),
        ("allergy", rf"\bI(?:'m| am) allergic to {_REST}"),
        ("diet", r"\bI(?:'m| am) (?:an? )?(?P<value>vegan|vegetarian|pescatarian)\b"),
        ("birth_date", rf"\bI was born (?:on|in) {_REST}"),
        ("preference", rf"\bI(?:'d| would)?(?: really| strongly| always| usually)? prefer {_REST}"),
        ("instruction", rf"^[Ff]rom now on,? {_REST}"),
    )
]
_REMEMBER = re.compile(
    r"(?:^|[,:]\s|\bplease\s|\band\s|\balso\s)"
    r"(?:(?:remember|note|keep in mind|don't forget)(?:\s+that\b|:)"
    r"|remember(?=\s+(?:my|our|the|I|we)\b))"
    r"\s+(?!(?:this|why|how|what|when|to)\b)(?P<value>\S.*)",
    re.I,
)


def facts_said(text: str, who: str = "user") -> list[tuple[str, str]]:
    """Keys and values that a user turn states, in order; of one key the last.

    `who` begins the keys of what belongs to the speaker.
    """
    spoken = _NOT_SAID.sub("\n", text[:_MOST_TEXT])
    found: dict[str, str] = {}
    for sentence in _SENTENCE.split(spoken):
        for key, value in _facts_of(" ".join(sentence.split()), who):
            if key and value and not is_secret(key):
                found.pop(key, None)
                found[key] = value
    return list(found.items())[:_MOST_FACTS]


def _facts_of(sentence: str, who: str) -> Iterator[tuple[str, str]]:
    remark = _REMEMBER.search(sentence)
    if remark:
        if not sentence.endswith("?"):
            yield _remembered(remark["value"], who)
        return
    for key, pattern in _PATTERNS:
        for match in pattern.finditer(sentence):
            if not _is_supposed(sentence, match):
                yield _stated(key, _value(match["value"]), who)
    for match in _MINE.finditer(sentence):
        value = _value(sentence[match.end() :])
        if value and not _is_supposed(sentence, match) and not _is_asked(sentence, match.end()):
            yield _attributed(match["whose"].casefold(), match["attribute"], value, who)


def _stated(key: str, value: str, who: str) -> tuple[str, str]:
    """A preference is keyed by what it is about, so that window seats replace aisle seats."""
    if key in ("preference", "instruction") and value:
        topic = re.split(r"\s(?:over|to|rather|than|instead)\s", value)[0]
        return f"{who}_{key}_{key_from(topic).split('_')[-1]}", value
    return f"{who}_{key}", value


def _attributed(whose: str, attribute: str, value: str, who: str) -> tuple[str, str]:
    """`my home time zone` → `user_home_timezone`; an empty key where it is no known attribute."""
    words = key_from(attribute.replace("'s", "")).replace("time_zone", "timezone")
    words = words.replace("e_mail", "email").removesuffix("_address" if "mail" in words else "")
    parts = words.split("_")
    known = _ATTRIBUTE.fullmatch(parts[-1]) or any(map(_QUALIFIER.fullmatch, parts[:-1]))
    if not known or is_secret(words) or (whose == "the" and not _IDENTIFIER.fullmatch(parts[-1])):
        return "", ""
    if (whose == "our" or _NAMED_THING.fullmatch(parts[-1])) and not _SPECIFIC.search(value):
        return "", ""
    if _IDENTIFIER.fullmatch(parts[-1]):
        value = _identifier(value)
    prefix = f"{who}_" if whose == "my" and parts[0] != who else ""
    return prefix + words, value


def _identifier(value: str) -> str:
    """The part of the value that can be one: digits in it, or a single word."""
    if " " not in value:
        return value
    telling = [word for word in value.split() if any(letter.isdigit() for letter in word)]
    return " ".join(telling)


def _remembered(remark: str, who: str) -> tuple[str, str]:
    clause = re.match(r"(?P<key>[\w' -]{2,50}?)\s*(?:\bis\b|\bare\b|=|:)\s+(?P<value>\S.*)", remark)
    value = remark.strip(" .!\"'`*")[:MAX_VALUE]
    if clause is None or _NO_VALUE.match(clause["value"]):
        return ("", "") if is_secret(key_from(remark)) else (note_key(remark), value)
    words = clause["key"].split()
    mine = words[0].casefold() == "my"
    name = key_from(" ".join(words[1:] if words[0].casefold() in _DETERMINERS else words))
    name = name.replace("time_zone", "timezone")
    return (f"{who}_{name}" if mine else name), clause["value"].strip(" .!\"'`*")[:MAX_VALUE]


_DETERMINERS = ("my", "our", "the", "a", "an")


def _value(rest: str) -> str:
    """The value at the start of `rest`, empty where it is none."""
    rest = _HEDGE.sub("", rest.strip())
    end = _VALUE_END.search(rest)
    value = rest[: end.start() if end else MAX_VALUE].strip(" .!\"'`*()")
    if not value or _NO_VALUE.match(value) or len(value.split()) > _MOST_WORDS:
        return ""
    return value[:MAX_VALUE]


def _is_supposed(sentence: str, match: re.Match[str]) -> bool:
    """Whether the words of its clause before the match make it a question or a supposition."""
    clause = _CLAUSE.split(sentence[: match.start()])[-1]
    return _SUPPOSED.search(clause) is not None


def _is_asked(sentence: str, start: int) -> bool:
    """Whether the value runs up to a question mark: `so my timezone is UTC?`"""
    end = _VALUE_END.search(sentence, start)
    return end is not None and end.group() == "?"
