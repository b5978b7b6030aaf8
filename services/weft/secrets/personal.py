"""Personal data in a text. RE2 finds candidates by their shape in linear time; a candidate counts
only if it passes its own check (Luhn, mod 97, ranges). Python's `re` is used on candidates only:
they are short, and there it is faster."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from itertools import islice

import re2

from weft.prefilter import Prefilter
from weft.secrets.masking import Finding

_EMAIL = re2.compile(
    rb"[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
    rb"[A-Za-z]{2,24}\b"
)
_DIGIT_RUN = re2.compile(
    rb"(?:\+|\(|\b)[0-9](?:[ .()/-]{0,2}[0-9]){6,24}(?: ?(?:x|ext\.? ?)[0-9]{1,6})?\b"
)
_IBAN = re2.compile(rb"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")
_IP4 = re2.compile(rb"\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b")
_IP6 = re2.compile(
    rb"(?i)(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"
    rb"|[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?"
    rb"|::[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}"
)
SHAPES = Prefilter(
    {
        "email": r"@",
        "iban": r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2}",
        "number": r"[0-9](?:[ .()/-]{0,2}[0-9]){6}",
        "ip6": r"[0-9a-fA-F]::|::[0-9a-fA-F]|:[0-9a-fA-F]{1,4}:",
        "ip4": r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
    }
)
"""Text that each of `PATTERNS` requires and that most texts lack."""
PATTERNS = {"email": _EMAIL, "iban": _IBAN, "number": _DIGIT_RUN, "ip6": _IP6, "ip4": _IP4}
_PHONE_WORD = re.compile(
    rb"(?i)\b(?:phone|tel|telephone|mobile|cell|call|fax|desk|office|sms|whatsapp|contact|dial"
    rb"|number is|reach (?:me|us|him|her|them)|home|work|hotline|helpline)\b"
)
_SSN_WORD = re.compile(rb"(?i)\b(?:ssn|social security|taxpayer)\b")
_DATE_LIKE = re.compile(
    rb"\A(?:(?:19|20)[0-9]{2}[-/.][01]?[0-9][-/.][0-3]?[0-9]|[0-3]?[0-9][-/.][0-3]?[0-9][-/.]"
    rb"(?:19|20)?[0-9]{2})(?:[^0-9]|\Z)"
)
_GROUPS = re.compile(rb"[0-9]+")
_IBAN_COUNTRIES = """
15 NO
16 BE
18 DK FI FO GL NL SD
19 MK SI
20 AT BA EE KZ LT LU XK MN
21 CH HR LI LV
22 BG BH CR DE GB GE IE ME RS VA
23 AE GI IL IQ OM SO TL
24 AD CZ ES MD PK RO SA SE SK TN VG
25 LY PT ST
26 IS TR
27 BI DJ FR GR IT MC MR SM
28 AL AZ BY CY DO GT HU LB NI PL SV
29 BR EG PS QA UA
30 JO KW MU YE
31 MT SC
32 LC
33 RU
"""
_IBAN_LENGTHS = {
    code: int(length)
    for length, *codes in map(str.split, _IBAN_COUNTRIES.strip().splitlines())
    for code in codes
}
"""Length of an IBAN by country, in characters: the SWIFT IBAN registry."""
_NEAR = 32
"""How many bytes before a number the word that says what it is may stand, in the same sentence."""
_CARD_LENGTHS = {"3": (14, 15, 16), "4": (13, 16, 19), "5": (16,), "6": (16, 19), "2": (16,)}
"""Digits of a card by its first digit: Diners, Amex and JCB; Visa; Mastercard; Discover and
UnionPay; Mastercard's second range."""


def find_personal(data: bytes, limit: int | None = None) -> list[Finding]:
    """Spans of `data` that contain personal data. If two overlap, the more certain kind comes
    first.

    At most `limit` candidates per shape are examined, if it is given: then they are only counted.
    Linear in the length of `data`.
    """
    shapes = SHAPES.present(data)
    found: list[Finding] = []
    if "email" in shapes:
        found += (_span(m, "email") for m in islice(_EMAIL.finditer(data), limit))
    if "iban" in shapes:
        found += _ibans(data, limit)
    if "number" in shapes:
        found += _numbers(data, limit)
    if "ip6" in shapes:
        found += _addresses(_IP6, data, limit)
    if "ip4" in shapes:
        found += _addresses(_IP4, data, limit)
    return found


def _span(match: object, name: str) -> Finding:
    start, end = match.span()  # type: ignore[attr-defined]
    return Finding(start, end, "pii", name)


def _ibans(data: bytes, limit: int | None) -> Iterator[Finding]:
    for match in islice(_IBAN.finditer(data), limit):
        text = match.group().translate(None, b" -").decode()
        length = _IBAN_LENGTHS.get(text[:2])
        if length is not None and len(text) >= length and is_iban(text[:length]):
            end = match.start() + _length_with_gaps(match.group(), length)
            yield Finding(match.start(), end, "pii", "iban")


def _length_with_gaps(raw: bytes, characters: int) -> int:
    seen = 0
    for at, byte in enumerate(raw):
        seen += byte not in b" -"
        if seen == characters:
            return at + 1
    return len(raw)


def is_iban(text: str) -> bool:
    """ISO 13616: move the first four characters to the end, read letters as 10..35; the result must
    be 1 modulo 97."""
    turned = text[4:] + text[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


def _addresses(pattern: object, data: bytes, limit: int | None) -> Iterator[Finding]:
    for match in islice(pattern.finditer(data), limit):  # type: ignore[attr-defined]
        start, end = match.span()
        raw = data[start:end]
        if data[start - 1 : start] in _IP_NEIGHBOURS or data[end : end + 1] in _IP_NEIGHBOURS:
            continue
        try:
            address = ipaddress.ip_address(raw.decode())
        except ValueError:
            continue
        if not (address.is_loopback or address.is_unspecified or int(address) < 1 << 16):
            yield Finding(start, end, "pii", "ip_address")


_IP_NEIGHBOURS = frozenset(
    bytes([b]) for b in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"
)


def _numbers(data: bytes, limit: int | None) -> Iterator[Finding]:
    """Cards, social security numbers and phone numbers: runs of digits with a few separators."""
    for match in islice(_DIGIT_RUN.finditer(data), limit):
        start, end = match.span()
        if end - start < 7 or data[start - 1 : start] in _TIES or _TIE_BEHIND.match(data, end):
            continue
        raw = data[start:end]
        name = "" if _DATE_LIKE.match(raw) else _number_type(raw, data, start)
        if name:
            yield Finding(_with_sign(data, start), end, "pii", name)


def _with_sign(data: bytes, start: int) -> int:
    """A sign right before a number of JSON belongs to it: a mark behind one would be none."""
    return start - 1 if _SIGN.search(data[max(0, start - 24) : start]) else start


_SIGN = re.compile(rb"[\[,:](?:\s|\\{1,8}[nrt]?)*-\Z")
_TIES = frozenset(bytes([b]) for b in b"_#$%@=&\\/")
"""Next to one of these a number is part of something else: a path, an amount, an identifier."""
_TIE_BEHIND = re.compile(rb"[_#$%@=&/]|\\(?!\\{0,8} )")
"""The same behind it, except for the rest of an escaped end of the line."""


def _number_type(raw: bytes, data: bytes, start: int) -> str:
    groups = [len(group) for group in _GROUPS.findall(raw)]
    total = sum(groups)
    if total < 7:
        return ""
    digits = b"".join(_GROUPS.findall(raw)).decode()
    if is_card(digits) and len(groups) <= 5:
        return "card"
    if groups == [3, 2, 4] or (groups == [9] and total == 9):
        before = _said_before(data, start)
        written = groups != [9] and raw[3:4] == raw[6:7] and raw[3:4] in (b"-", b" ")
        if is_ssn(digits) and (written or _SSN_WORD.search(before)):
            return "ssn"
    return "phone" if _is_phone(raw, groups, digits, data, start) else ""


def _said_before(data: bytes, start: int) -> bytes:
    before = data[max(0, start - _NEAR) : start]
    for end in (b". ", b"\n", b"; ", b", "):
        before = before.rpartition(end)[2]
    return before


def is_card(digits: str) -> bool:
    """A length that its issuer uses, and Luhn's sum (ISO/IEC 7812). Two digits are enough, as in
    the issuers' own test numbers (4111 1111 1111 1111); a single repeated one is a filler."""
    if len(digits) not in _CARD_LENGTHS.get(digits[0], ()) or len(set(digits)) < 2:
        return False
    total = 0
    for index, character in enumerate(reversed(digits)):
        doubled = int(character) * (1 + index % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def is_ssn(digits: str) -> bool:
    """Nine digits in the ranges that the Social Security Administration issues."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_phone(raw: bytes, groups: list[int], digits: str, data: bytes, start: int) -> bool:
    """The international form, the North American form, or a grouped number next to a word for
    it."""
    if not 7 <= len(digits) <= 21:
        return False
    extension = groups[-1] if b"x" in raw else 0
    length = len(digits) - extension
    if not 7 <= length <= 15:
        return False
    if raw[:1] == b"+":
        return length >= 8
    main = groups[:-1] if extension else groups
    if main in ([3, 3, 4], [1, 3, 3, 4], [3, 3, 3, 4]) and digits.lstrip("0")[:1] not in ("", "0"):
        return main[0] != 1 or digits[0] == "1"
    has_word = _PHONE_WORD.search(_said_before(data, start)) is not None
    if raw[:1] == b"(" and len(main) >= 2:
        return True
    if b"." in raw and len(main) <= 2 and b"-" not in raw:
        return False
    if len(main) >= 3 and max(main) <= 5 and length >= 8:
        return has_word or raw[:1] == b"0"
    return has_word and (len(main) > 1 or length >= 9)
