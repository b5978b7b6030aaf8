"""Which values an attribute can have: `my email is down` gives no e-mail address.

A value teaches only if it has the form of its attribute: a number has digits, a place is a proper
name, a plan one of those that are sold. What is recognised by no form is not learned, since a wrong
fact stands in every later prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.memory.extent import MARKS, VALUE_IS_OVER, text_value, without_hedge
from weft.memory.names import address, name_of_a_being, own_name, proper_name
from weft.memory.phrases import allergies, occupation
from weft.memory.words import FUNCTION_WORDS, is_state

Form = Callable[[str], list[str]]
"""A text that begins with a value → the value, or none if it has not the form. Only a list of
things has several."""


def _shaped(pattern: str, flags: int = 0) -> Form:
    """Values that match a pattern, with nothing behind but the end of the statement."""
    shape = re.compile(f"(?:{pattern})(?=(?i:{VALUE_IS_OVER.pattern}))", flags)

    def values(rest: str) -> list[str]:
        found = shape.match(without_hedge(rest))
        if found is None:
            return []
        return [(found["value"] if "value" in shape.groupindex else found.group()).strip(MARKS)]

    return values


def _either(*forms: Form) -> Form:
    def values(rest: str) -> list[str]:
        return next((found for form in forms if (found := form(rest))), [])

    return values


_EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
email = _shaped(_EMAIL)
_AREAS = (
    "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian"
    "|Mexico|Pacific|US"
)
_ABBREVIATIONS = (
    "ACDT ACST ADT AEDT AEST AKDT AKST ART AST AWST BRT BST CAT CDT CEST CET CLT COT CST EAT"
    " ECT EDT EEST EET EST GMT GST HKT HST ICT IDT IRST IST JST KST MDT MSK MST MYT NDT NPT NST"
    " NZDT NZST PDT PET PHT PKT PST SAST SGT SST TRT UTC UYT VET WAT WEST WET WIB WIT WITA"
)
_OFFSET = r"[+−–-]\s?\d{1,2}(?::?[0-5]\d)?"  # noqa: RUF001
timezone = _either(
    _shaped(rf"(?:{_AREAS})/[A-Za-z]\w+(?:[/-][A-Z]\w+){{0,2}}", re.I),
    _shaped(rf"(?:(?:UTC|GMT)\s?)?{_OFFSET}", re.I),
    _shaped("|".join(sorted(_ABBREVIATIONS.split(), key=len, reverse=True)), re.I),
    _shaped(
        r"(?:(?:the\s)?(?:US\s)?(?:Eastern|Central|Mountain|Pacific|Atlantic|Alaska|Hawaii)"
        r"|(?:Central|Eastern|Western)\sEuropean|Greenwich Mean|Moscow|India|Japan|Korea|China)"
        r"(?:\s(?:Standard|Daylight|Summer))?(?:\sTime)?",
        re.I,
    ),
)
_CURRENCIES = (
    "euros?|(?:us |canadian |australian )?dollars?|bucks|pounds?(?: sterling)?|quid"
    "|(?:swiss )?francs?|yen|yuan|renminbi|rupees?|rupiah|won|pesos?|reais|real|rand|rubles?"
    "|roubles?|zloty|złoty|kron(?:a|or|e|er)|crowns?|forints?|lira|shekels?|dirhams?|riyals?"
    "|baht|dong|naira|shillings?"
)
_NUMBER = r"\d+(?:[.,'’ ]\d+)*(?:\s?(?:k|m|mio|bn|thousand|million|billion|grand)\b)?"  # noqa: RUF001
_MONEY = (
    rf"(?:[$€£¥₹]\s?|[A-Z]{{2,3}}\$?\s)?{_NUMBER}"
    rf"(?:\s?(?:[$€£¥₹%]|[A-Z]{{3}}\b|(?:{_CURRENCIES})\b))?"
)
amount = _shaped(
    r"(?:(?:about|around|roughly|approximately|some|ca\.?)\s+)?"
    rf"(?P<value>(?:(?:up to|at most|under|below|over|at least|between|max(?:imum)?)\s+)?{_MONEY}"
    rf"(?:\s?(?:-|–|to|and)\s?{_MONEY})?"  # noqa: RUF001
    r"(?:\s?(?:per|a|an|each|every|/)\s?\w+|\s(?:daily|weekly|monthly|yearly))?)",
    re.I,
)
currency = _either(_shaped(r"[A-Z]{3}|[$€£¥₹]"), _shaped(_CURRENCIES, re.I))
phone = _shaped(r"\+?\(?\d[\d\s()./-]{3,24}\d(?:\s?(?:x|ext\.?)\s?\d{1,6})?", re.I)
_DIGITS = re.compile(r"\d")
_SHORT = re.compile(r"[A-Z]{1,4}|#|No\.?")


def number(rest: str) -> list[str]:
    """An identifier with digits: all its words have some, but for short ones in capitals."""
    words = without_hedge(text_value(rest)).split()
    is_number = all(_DIGITS.search(word) or _SHORT.fullmatch(word) for word in words)
    return [" ".join(words).strip(MARKS)] if is_number and _DIGITS.search(" ".join(words)) else []


login = _shaped(r"@?(?=\w*[\d_@.-]\w|[a-z]+[A-Z])[A-Za-z\d][\w.-]{1,40}(?:@[\w.-]{3,80})?")
age = _shaped(r"\d{1,3}(?:\s(?:years?|yrs?)(?:\sold)?)?", re.I)
size = _shaped(
    r"(?:size\s)?(?:(?:EU|US|UK)\s)?(?:\d{1,3}(?:[.,]\d)?(?:\s?(?:EU|US|UK|cm|in|inch(?:es)?))?"
    r"|x{0,4}[sml]|\d?xl|small|medium|(?:extra[- ])?large)",
    re.I,
)
pronouns = _shaped(
    r"(?:she|he|they|it|xe|ze|ey|fae|any|all)(?:\s?/\s?[a-z]+){0,3}(?:\spronouns)?", re.I
)
_DIETS = (
    r"vegan|vegetarian|pescatarian|flexitarian|omnivore|carnivore|kosher|halal|keto(?:genic)?|paleo"
    r"|mediterranean|jain|(?:gluten|lactose|dairy|nut|sugar|grain|meat|egg|soy)[- ]free"
    r"|low[- ](?:carb|fat|salt|sodium|fodmap)|plant[- ]based"
)
diet = _shaped(_DIETS, re.I)
DIET_WORDS = (
    "vegan vegetarian pescatarian flexitarian omnivore carnivore kosher halal keto ketogenic paleo"
    " mediterranean jain free low plant"
)
"""Each name of a diet has one of these words."""
seat = _shaped(
    r"(?:seat\s)?(?:\d{1,3}\s?[A-L]|[A-L]\s?\d{1,3}|\d{1,3}|(?:an?\s|the\s)?"
    r"(?:window|aisle|middle|front|back|exit row)(?:\sseat|\srow)?)",
    re.I,
)
_TIERS = (
    "free|basic|standard|plus|premium|pro|professional|gold|silver|bronze|platinum|diamond|ruby"
    "|sapphire|titanium|elite|enterprise|business|starter|team|teams|family|trial|student"
    "|individual|personal|annual|monthly|yearly|prepaid|unlimited|lifetime|economy|first class"
    "|vip"
)
tier = _either(
    _shaped(
        rf"(?:(?:the|an?)\s)?(?P<value>(?:{_TIERS})(?:\s(?:{_TIERS}|\d+))?)"
        r"(?:\s(?:one|plan|tier|level|member(?:ship)?))?",
        re.I,
    ),
    lambda rest: [one for one in proper_name(rest) if text_value(rest) == one],
)


def locale(rest: str) -> list[str]:
    """A code such as `pt-BR` or `de`."""
    return [one for one in _code(rest) if one not in FUNCTION_WORDS]


_code = _shaped(r"[a-z]{2,3}[-_][A-Za-z]{2,4}|[a-z]{2}\b")
_LANGUAGES = (
    "arabic bengali bulgarian cantonese catalan chinese croatian czech danish dutch english"
    " esperanto estonian farsi finnish french galician georgian german greek gujarati hebrew"
    " hindi hungarian icelandic igbo indonesian irish italian japanese kannada khmer korean"
    " kurdish latvian lithuanian malay malayalam maltese mandarin marathi mongolian nepali"
    " norwegian pashto persian polish portuguese punjabi romanian russian serbian slovak"
    " slovenian somali spanish swahili swedish tagalog tamil telugu thai tibetan turkish"
    " ukrainian urdu uzbek vietnamese welsh yoruba zulu armenian basque bosnian albanian"
    " afrikaans amharic"
)
language = _either(
    _shaped(
        r"(?:(?:american|british|brazilian|mexican|simplified|traditional|swiss)\s)?"
        rf"(?:{'|'.join(_LANGUAGES.split())})",
        re.I,
    ),
    locale,
)
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY = r"(?:the\s)?\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s(?:of\s)?(?:19|20)\d\d)?"
date = _shaped(
    rf"(?:(?:on|in)\s)?(?P<value>\d{{4}}-\d\d-\d\d|\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{2,4}})?"
    rf"|{_DAY}\s(?:of\s)?(?:{_MONTHS})\b\.?{_YEAR}|(?:{_MONTHS})\b\.?\s{_DAY}{_YEAR}"
    rf"|(?:(?:{_MONTHS})\s(?:of\s)?)?(?:19|20)\d\d|(?:{_MONTHS})\b(?!\s\w))",
    re.I,
)


_TOOLS = re.compile(
    r"vim|neovim|nvim|emacs|nano|vi|bash|zsh|fish|tcsh|powershell|linux|macos|windows|ubuntu|debian"
    r"|fedora|android|ios|vscode|main|master|prod|production|staging|dev",
    re.I,
)


def tool(rest: str) -> list[str]:
    """A name that may be in small letters, as names of software are."""
    value = text_value(rest)
    is_token = bool(re.fullmatch(r"(?=\w*[\d_./-])[\w./-]+", value)) and not is_state(value)
    return [value] if _TOOLS.fullmatch(value) or is_token else proper_name(rest)


FORMS: dict[str, Form] = {
    **dict.fromkeys(("name", "nickname"), own_name),
    **dict.fromkeys(("username", "login", "handle"), login),
    **dict.fromkeys(("id", "number", "zip", "zipcode", "postcode", "code"), number),
    **dict.fromkeys(("email", "mail"), email),
    **dict.fromkeys(("phone", "mobile"), phone),
    "address": address,
    **dict.fromkeys(
        ("location", "city", "town", "country", "state", "company", "employer", "team",
         "department", "office", "airline", "airport", "hotel", "project", "home"),
        proper_name,
    ),
    **dict.fromkeys(("timezone", "zone"), timezone),
    "language": language,
    "locale": locale,
    **dict.fromkeys(("birthday", "birthdate", "birth", "deadline"), date),
    "age": age,
    "pronouns": pronouns,
    **dict.fromkeys(("job", "role", "title", "occupation", "profession"), occupation),
    "budget": amount,
    "currency": currency,
    "size": size,
    "diet": diet,
    "allergy": allergies,
    "seat": seat,
    **dict.fromkeys(
        ("editor", "shell", "os", "platform", "branch", "repo", "repository", "region"), tool
    ),
    **dict.fromkeys(("membership", "tier", "plan"), tier),
    **dict.fromkeys(
        ("manager", "boss", "wife", "husband", "partner", "spouse", "daughter", "son", "dog",
         "cat"),
        name_of_a_being,
    ),
}  # fmt: skip
"""Last word of an attribute → the form of its values."""
