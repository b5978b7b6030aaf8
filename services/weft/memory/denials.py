"""Finds the facts that negated statements about oneself withdraw: `I no longer live in Rome` →
`user_location` is not `Rome`.

A negated statement is read like the affirmative one, `I live in Rome`, and withdraws that value
alone. If it adds what is true instead, as in `not in Rome but in Milan`, that is read as the
affirmative statement with the other value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.facts.keys import MAX_VALUE
from weft.memory.languages import SelfStatement, words_of
from weft.memory.statements import (
    DENIED,
    PATTERNS,
    PROPER,
    QUESTION_MARKS,
    REMEMBER,
    REST,
    Spans,
    after_value,
    attribute_fact,
    attribute_key,
    is_named,
    is_plain,
    is_within,
    key_and_value,
    value_at_start,
)

_STOPPED = {
    "work": "I work", "liv": "I live", "resid": "I reside", "be": "I'm", "preferr": "I prefer",
}  # fmt: skip
"""A participle without its ending → how the affirmative statement begins."""
_NOT_MINE = re.compile(
    r"\bmy\s+(?P<attribute>(?:[\w'-]+\s+){0,3}[\w-]+)\s+"
    r"(?:is|are)(?:n't|\s+not|\s+no\s+longer)\s+(?=\S)",
    re.I,
)
_NOT_SO = re.compile(r"\b(?P<opening>I(?: am|'m)? (?!am\b|do\b)\w+|[Cc]all me) not (?=\S)")
"""A negation before the value alone, `I live not in …`: only what is so instead tells it apart from
`I prefer not to say`."""
_INSTEAD = re.compile(
    r"(?:\s*[,;]|\s[-—–](?=\s))?\s*\b(?P<but>but\s+(?:rather\s+)?)?(?P<said>\S.*)",  # noqa: RUF001
    re.I,
)
"""What follows a denied value, and whether `but` says that it is so instead."""
_IT_IS = re.compile(r"it(?:['’]s|\s+is)\s+(?:now\s+)?", re.I)  # noqa: RUF001
_REPEATED = 3
"""Most words of a statement that are repeated with its other value: `but as a nurse`."""
_NO_MORE = re.compile(r"\s\(?(?:any\s?more|any longer|either|at all)\b\)?", re.I)


_NEGATIONS = words_of("not no don isn aren stopped quit stop")
"""Each negated statement has one of these words; of `don't`, `don` is one."""


def denials_of(
    sentence: str, quoted: Spans, who: str, words: frozenset[str]
) -> Iterator[SelfStatement]:
    """What negated statements about the speaker withdraw, in a sentence of a text with these
    words."""
    if _NEGATIONS.isdisjoint(words) or sentence.endswith(QUESTION_MARKS):
        return
    remark = REMEMBER.match(sentence)
    for match in DENIED.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark) and not _is_hedged(sentence, match):
            yield from _denied(_affirmative(match) + _rest(sentence, match), who)
    for match in _NOT_SO.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark) and not _is_hedged(sentence, match):
            found = list(_denied(f"{match['opening']} {_rest(sentence, match)}", who))
            yield from found if any(one.value for one in found) else ()
    for match in _NOT_MINE.finditer(sentence):
        rest = _rest(sentence, match)
        value = value_at_start(rest)
        is_denied = _is_denied(sentence, match, quoted, remark)
        if value and is_denied and not _is_hedged(sentence, match):
            key, named = attribute_fact(match["attribute"], value, who)
            yield SelfStatement(
                key or attribute_key(match["attribute"], who), "", (named or value,)
            )
            other = _other_value(rest) if is_named(value) else ""
            if key and other:
                yield SelfStatement(*attribute_fact(match["attribute"], other, who))


def _is_denied(
    sentence: str, match: re.Match[str], quoted: Spans, remark: re.Match[str] | None
) -> bool:
    if remark is not None and remark.start("value") == match.start():
        return not is_within(match.start(), quoted)
    return is_plain(sentence, match, quoted, match.end())


def _is_hedged(sentence: str, match: re.Match[str]) -> bool:
    """Whether it only denies that the statement is complete: `isn't just`, `not only`."""
    following = sentence[match.end() : match.end() + 2 * MAX_VALUE]
    return bool(_NOT_ALL.search(match[0]) or _NOT_ALL.match(following.lstrip()))


_NOT_ALL = re.compile(r"\b(?:just|only|always|merely|simply|necessarily|exactly)\b", re.IGNORECASE)


def _rest(sentence: str, match: re.Match[str]) -> str:
    """What follows, as far as a value can reach, without `any more` and its like."""
    return _NO_MORE.sub("", sentence[match.end() : match.end() + 2 * MAX_VALUE])


def _affirmative(match: re.Match[str]) -> str:
    """The beginning of the statement without its negation."""
    if match["call"]:
        return "Call "
    if match["stopped"]:
        return f"{_STOPPED[match['stopped']]} "
    return f"I{match['am']} " if match["am"] else f"I {match['be'] or ''}"


def _denied(statement: str, who: str) -> Iterator[SelfStatement]:
    """The value that a negated statement withdraws, and the value that it gives instead.
    `statement` begins with its affirmative."""
    for key, _, pattern in PATTERNS:
        match = pattern.match(statement)
        if match is None or not (value := value_at_start(match["value"])):
            continue
        key_denied, value = key_and_value(key, value, who)
        yield SelfStatement(key_denied, "", (value,))
        for said in _said_instead(pattern, statement, match.start("value")):
            yield SelfStatement(*key_and_value(key, said, who))
            break


def _said_instead(pattern: re.Pattern[str], statement: str, start: int) -> Iterator[str]:
    """The values of the same statement that may follow the denied one, which starts at `start`.

    It is stated anew (`I'm Eva`), or follows a `but` from a word on that the statement has (`in
    Milan`). Without any, it must have the form of the statement's values: `but love it` has not.
    """
    following = _INSTEAD.match(after_value(statement[start:]))
    if following is None:
        return
    said, opening = following["said"], statement[:start].split()
    readings = [said]
    if following["but"]:
        first = said.split()[0].casefold()
        for count in range(1, min(_REPEATED, len(opening) - 1) + 1):
            if opening[-count].casefold() == first:
                readings.append(" ".join([*opening[:-count], said]))
        if not pattern.pattern.endswith(REST):
            readings.append(" ".join([*opening, said]))
    for reading in readings:
        match = pattern.match(reading)
        value = "" if match is None else value_at_start(reading[match.start("value") :])
        if match is None or not value or value != value_at_start(match["value"]):
            continue
        if not pattern.pattern.endswith(PROPER) or is_named(value):
            yield value


def _other_value(rest: str) -> str:
    """What an attribute is instead of the value that `rest` begins with: `Ada, it's Eva`. Only a
    name or a number counts, since `it` may be anything."""
    following = _INSTEAD.match(after_value(rest))
    if following is None:
        return ""
    said = following["said"]
    it_is = _IT_IS.match(said)
    if it_is is None and not following["but"]:
        return ""
    value = value_at_start(said[it_is.end() :] if it_is else said)
    return value if is_named(value) else ""
