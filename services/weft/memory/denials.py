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
from weft.memory.extent import after_value, is_named, text_value
from weft.memory.languages import SelfStatement, words_of
from weft.memory.statements import (
    DENIED,
    HAD_ALLERGY,
    INTRODUCED,
    PATTERNS,
    QUESTION_MARKS,
    REMEMBER,
    Pattern,
    Spans,
    attribute_facts,
    attribute_form,
    attribute_key,
    is_plain,
    is_within,
    keys_and_values,
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
_NO_MORE = re.compile(
    r",?\s\(?(?:any\s?more|any longer|either|at all|after all|now(?:adays)?|these days|currently"
    r"|at the moment|right now|at present|today)\b\)?",
    re.I,
)


_ALLERGY_IS_OVER = re.compile(
    r"\bmy (?P<things>(?:[\w'-]+ ){1,3}allerg(?:y|ies)) (?:is|are|has|have|went) (?:now |finally )?"
    r"(?:gone|over|cured|disappeared|away)\b",
    re.I,
)
_NEGATIONS = words_of(
    "not no don isn aren stopped quit stop used moved outgrown outgrew gone over cured disappeared"
    " away"
)
"""Each negated statement has one of these words; of `don't`, `don` is one."""


def may_deny(words: frozenset[str]) -> bool:
    """Whether a text with these words may have a negated statement."""
    return not _NEGATIONS.isdisjoint(words)


def denials_of(
    sentence: str, quoted: Spans, who: str, words: frozenset[str]
) -> Iterator[SelfStatement]:
    """What negated statements about the speaker withdraw, in a sentence of a text with these
    words."""
    if not may_deny(words) or sentence.endswith(QUESTION_MARKS):
        return
    remark = REMEMBER.match(sentence, words)
    for match in DENIED.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark) and not _is_hedged(sentence, match):
            yield from _denied(_affirmative(match) + _rest(sentence, match), who)
    for match in _NOT_SO.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark) and not _is_hedged(sentence, match):
            found = list(_denied(f"{match['opening']} {_rest(sentence, match)}", who))
            yield from found if any(one.value for one in found) else ()
    for match in _ALLERGY_IS_OVER.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark):
            yield from _denied(f"I have {match['things']}", who)
    for match in _NOT_MINE.finditer(sentence):
        if _is_denied(sentence, match, quoted, remark) and not _is_hedged(sentence, match):
            yield from _denied_attribute(match["attribute"], _rest(sentence, match), who)


def _denied_attribute(attribute: str, rest: str, who: str) -> Iterator[SelfStatement]:
    """The value of an attribute that is withdrawn, and the value that it has instead."""
    _, form = attribute_form(attribute, who)
    for key, value in attribute_facts(attribute, rest, who):
        yield SelfStatement(key, "", (value,))
        for named, other in attribute_facts(attribute, _other_value(rest), who):
            yield SelfStatement(named, other)
    if form is None and is_named(value := text_value(rest)):
        yield SelfStatement(attribute_key(attribute, who), "", (value,))


def _is_denied(
    sentence: str, match: re.Match[str], quoted: Spans, remark: re.Match[str] | None
) -> bool:
    if remark is not None and remark.start("value") == match.start():
        return not is_within(match.start(), quoted)
    return is_plain(sentence, match, quoted, match.end())


def _is_hedged(sentence: str, match: re.Match[str]) -> bool:
    """Whether it only denies that the statement is complete: `isn't just`, `not only`. In `I have
    just stopped`, it does not."""
    following = sentence[match.end() : match.end() + 2 * MAX_VALUE]
    is_partial = match.re is not DENIED and _NOT_ALL.search(match[0]) is not None
    return is_partial or _NOT_ALL.match(following.lstrip()) is not None


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
    if match["away"]:
        return "I live in "
    if match["had"] or match["outgrown"]:
        return "I have "
    if match["was"]:
        return "I am "
    return f"I{match['am']} " if match["am"] else f"I {match['be'] or ''}"


def _denied(statement: str, who: str) -> Iterator[SelfStatement]:
    """The value that a negated statement withdraws, and the value that it gives instead.
    `statement` begins with its affirmative."""
    for one in (INTRODUCED, HAD_ALLERGY, *PATTERNS):
        match = one.pattern.match(statement)
        if match is None:
            continue
        for key, value in keys_and_values(one.key, one.form(match["value"]), who):
            yield SelfStatement(key, "", (value,))
        for said in _said_instead(one, statement, match.start("value")):
            yield from (SelfStatement(*pair) for pair in keys_and_values(one.key, [said], who))
            break


def _said_instead(one: Pattern, statement: str, start: int) -> Iterator[str]:
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
        if not one.is_free:
            readings.append(" ".join([*opening, said]))
    for reading in readings:
        match = one.pattern.match(reading)
        yield from () if match is None else one.form(match["value"])[:1]


def _other_value(rest: str) -> str:
    """What is said to be so instead of the value that `rest` begins with: `Ada, it's Eva`."""
    following = _INSTEAD.match(after_value(rest))
    if following is None:
        return ""
    said = following["said"]
    it_is = _IT_IS.match(said)
    if it_is is None and not following["but"]:
        return ""
    return said[it_is.end() :] if it_is else said
