"""Signs of text that gives a model instructions: families of phrases with a reason each, and the
words that distinguish a request to act from a description."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import re2


class Phrase(msgspec.Struct, frozen=True):
    name: str
    reason: str
    needles: tuple[bytes, ...]
    """A text without any of them cannot match."""
    pattern: Any
    """Over bytes in lower case."""
    weight: float


def _phrase(name: str, reason: str, needles: str, pattern: str, weight: float) -> Phrase:
    words = tuple(needle.encode() for needle in needles.split("|"))
    return Phrase(name, reason, words, re2.compile(pattern.encode()), weight)


_BEFORE = r"(?:previous|prior|above|earlier|preceding|former|past|existing|original|initial|other)"
_ORDERS = (
    r"(?:instruction|prompt|rule|directive|guideline|command|order|message|constraint|restriction"
    r"|training|programming|safeguard|polic(?:y|ie))s?"
)

PHRASES = (
    _phrase(
        "instruction_override",
        "tells the reader to drop what it was told before",
        "ignor|disregard|forget|overrid|bypass|neglect|do not follow|don't follow|stop following"
        "|set aside|discard|drop ",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass|neglect|discard|drop"
        r"|set aside|do(?: not|n't) follow|stop following)\b[^.\n()]{0,30}\b(?:"
        rf"{_BEFORE}\b[^.\n]{{0,20}}\b{_ORDERS}|(?:all|any|every|your|the|these|those)(?: of)?"
        rf"(?: (?:the|your|my|its))?(?: (?:system|developer|safety|security))? {_ORDERS}\b"
        r"|(?:everything|anything|all)(?: that)?(?: (?:was|is|you(?:'ve| have| were)?))?"
        r"(?: been)? (?:said|told|written|above|before))",
        4.0,
    ),
    _phrase(
        "new_instructions",
        "announces instructions of its own",
        "instruction|task is|objective is|instead of|from now on",
        r"\b(?:(?:follow|obey|adhere to|comply with|execute|carry out|here are|these are)\b"
        r"[^.\n]{0,30}\b(?:(?:the|this|these|my|your)\s)?"
        r"(?:following|new|updated|next|real|actual|only)(?: \w+)?"
        r" (?:instruction|command|order|directive)s?\b"
        r"|(?:new|updated|revised|real|actual|important) (?:system )?"
        r"(?:instruction|directive)s?\s?:"
        r"|your (?:new|real|actual|only|true) (?:task|goal|objective|instructions?|role)"
        r" (?:is|are)\b|from now on,? you (?:are|will|must|should|shall))",
        3.0,
    ),
    _phrase(
        "role_change",
        "gives the reader another role",
        "you are|you're|pretend|act as|roleplay|developer mode|jailbreak",
        r"\b(?:you are (?:now|no longer)\b|pretend (?:to be|you are|that you)\b"
        r"|act as (?:if|though|an? (?:unrestricted|different|evil))\b"
        r"|(?:developer|debug|god|admin|dan|unrestricted) mode (?:is )?(?:enabled|activated|on\b)"
        r"|enter (?:developer|debug|god|admin) mode|jailbreak(?:ed|ing)? (?:mode|prompt|yourself))",
        2.5,
    ),
    _phrase(
        "prompt_request",
        "asks for the reader's own instructions",
        "prompt|instructions",
        r"\b(?:reveal|show|print|output|repeat|display|leak|disclose|expose|send|tell me|give me)\b"
        r"[^.\n]{0,30}\b(?:your|the) (?:(?:system|initial|hidden|secret|original|full|developer) )"
        r"(?:prompt|instructions|message|rules)",
        3.0,
    ),
    _phrase(
        "concealment",
        "asks to hide something from the user",
        "user|human|anyone|secretly|silently|without",
        r"\b(?:do not|don't|never|without)\b[^.\n]{0,20}\b(?:tell|telling|inform|informing|notify"
        r"|notifying|alert|alerting|mention|mentioning|reveal|show|ask|asking)\b[^.\n]{0,24}"
        r"\b(?:the )?(?:user|human|owner|customer|anyone|operator)\b",
        2.2,
    ),
    _phrase(
        "addressed_to_model",
        "addresses an assistant by name",
        "assistant|ai |llm|language model|chatgpt|claude|gpt|agent",
        r"\b(?:(?:attention|dear|hey|hello|hi|note to|message (?:for|to)|instructions? (?:for|to)"
        r"|important for)[ ,:]{0,3}(?:the |any |all )?"
        r"(?:ai|llm|language model|chatgpt|claude|gpt|gemini|copilot|ai agent|assistant|bot"
        r"|model)s?\b"
        r"|(?:if you are|as) an? (?:ai|llm|language model)\b[^.\n]{0,40}"
        r"\b(?:must|should|please|you|reading)\b)",
        2.5,
    ),
    _phrase(
        "chat_markup",
        "holds the marks that separate roles in a chat",
        "<|im_|<|system|<|user|<|assistant|<|end|[inst]|<<sys>>|<|start_header|<system>|</system>"
        "|### instruction|### system|<|begin_of|[system]|system:|<start_of_turn>|<|eot",
        r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|start_header_id|eot_id"
        r"|begin_of_text|end_header_id)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>"
        r"|(?:^|\n)\s{0,4}###\s?(?:system|instruction)s?\s?:|(?:^|\n)\s{0,4}\[system\]"
        r"|</?system>[^<]{0,200}\b(?:you|ignore|must)\b",
        2.5,
    ),
    _phrase(
        "exfiltration",
        "asks to send what the session knows to an address",
        "http|@|webhook",
        r"\b(?:send|post|forward|upload|exfiltrate|transmit|leak|email|append|encode)\b[^.\n]{0,60}"
        r"\b(?:conversation|chat history|system prompt|api keys?|credentials?|passwords?|secrets?"
        r"|tokens?|private keys?|env(?:ironment)? (?:variables?|file)|session)\b[^\n]{0,60}"
        r"(?:https?://|@[a-z0-9-]+\.|webhook)",
        3.0,
    ),
    _phrase(
        "tool_order",
        "orders a tool to be called",
        "tool|function|command",
        r"\b(?:you (?:must|should|need to|have to)|immediately|now|first)\b[^.\n]{0,30}"
        r"\b(?:call|invoke|use|run|execute|trigger)\b[^.\n]{0,20}\b(?:the )?[`'\"]?\w{2,40}[`'\"]? "
        r"(?:tool|function|api|command)\b[^.\n]{0,40}\b(?:to|with|and)\b[^.\n]{0,40}"
        r"\b(?:send|transfer|delete|email|upload|grant|forward|pay|purchase)\b",
        2.2,
    ),
)


@cache
def any_phrase() -> Any:
    """Matches wherever one of the phrases does, and is searched for as fast as a single one."""
    options = re2.Options()
    options.max_mem = 32 << 20
    return re2.compile(b"|".join(b"(?:%b)" % one.pattern.pattern for one in PHRASES), options)


_STRONG = """
grant give allow authorise authorize approve permit unlock lock disarm open disable enable
deactivate activate turn switch set reset adjust change modify update edit alter replace rename
remove delete erase wipe clear cancel revoke block unblock unfollow subscribe unsubscribe transfer
move withdraw deposit pay initiate process refund buy purchase sell trade invest donate book reserve
schedule reschedule invite register sign enrol enroll submit apply dispatch ship redirect reroute
deliver send forward share post publish tweet email dial notify alert upload download export import
install uninstall execute launch stop restart shut control operate play trigger fill log obtain
collect gather extract leak release withhold increase decrease raise lower reduce prescribe assign
arrange connect
"""
_WEAK = """
use get list find check show tell search write make run start call text provide access confirm
verify follow report add create copy save message fetch retrieve order place request link translate
look
"""
_ANSWER = """
tell show say explain describe report confirm verify check find look list search provide let reply
answer respond inform advise remind ask review suggest recommend contact call read see note ignore
"""
STRONG_VERBS = frozenset(_STRONG.encode().split())
"""Verbs for acts that change something outside the conversation."""
WEAK_VERBS = frozenset(_WEAK.encode().split())
"""Verbs that documents use as often as people who give orders."""
ANSWER_VERBS = frozenset(_ANSWER.encode().split())
"""Verbs that ask the reader for words or for a look, as letters do, and change nothing."""
OFFERS = frozenset((b"like", b"be", b"prefer"))
"""Behind "would you", which then asks what somebody wants."""
_VERBS = "|".join([*_STRONG.split(), *_WEAK.split()])
_OPENER = (
    r"please|kindly|(?:could|can|would|will) you(?: please| kindly)?"
    r"|i (?:need|want|order|ask|request|command|(?:would|'d) like) you to|i'd like you to"
    r"|go ahead and|make sure (?:to|that you|you)|be sure to"
    r"|you (?:must|should|need to|have to)(?: now| immediately)?|your task is to"
)
_FILLER = r"(?:,? (?:also|now|immediately|just|quickly|then|help me|\w{3,12}ly))?[ ,:]{1,3}"
_START = r"(?:^|[\"'\n>:;,.!?)\]] ?|\b(?:and|then) )(?:now |then |immediately |quickly )?"
REQUEST = re2.compile(
    rf"\b({_OPENER}){_FILLER}([a-z-]{{2,14}})\b|{_START}({_VERBS})(?:[^\w\"'`]|\z)".encode()
)
"""A request: an opener and a word (groups 1 and 2), or a verb at the start of a sentence or of a
value (group 3). A quoted verb by itself is a key or a name."""

FOR_WRITER = re2.compile(rb"\b(?:my|mine|for me)\b")
"""The writer speaks as the user. "Our" is a firm's word."""
TO_WRITER = re2.compile(rb"\s+(?:to |with |from )?(?:me|us)\b")
"""The writer receives something."""
YOURS = re2.compile(rb"\byours?\b")
ACT_FOLLOWS = re2.compile(
    rf"(?:,|\band|\bthen)(?: then| also| immediately)? (?:{'|'.join(_STRONG.split())})\b".encode()
)
"""An act behind the first verb: "find my files and send them …"."""
POWERS = re2.compile(
    rb"\b(?:passwords?|credentials?|passcodes?|pin|(?:api|private|access|ssh) keys?|tokens?|2fa"
    rb"|(?:verification|security|recovery|backup|one-time) codes?|permissions|privileges|access"
    rb"|admin(?:istrator)?|owner|collaborator)\b"
)
"""Credentials and rights: who asks for them for himself wants to act as the user."""
OBJECTS = re2.compile(
    rb"\b(?:accounts?|bank|wallet|bitcoin|crypto\w*|funds?|money|balance|payments?|payee|card"
    rb"|stock|shares|investments?|insurance|loan|passwords?|credentials?|passcode|pin|keys?|tokens?|door|locks?"
    rb"|alarm|camera|thermostat|lights?|devices?|robot|vehicle|car|drone"
    rb"|e-?mails?|inbox|contacts?|calendar|messages?|address(?:es)?|location|phone|photos?|files?|documents?"
    rb"|folders?|notes?|records?|history|data|information|profile|settings?|permissions?|privileges|access|polic(?:y|ies)"
    rb"|subscription|appointments?|prescriptions?|medications?|medical|clinical|patient|health|genetic"
    rb"|shipments?|package|deliver(?:y|ies)|flights?|tickets?|reservations?|orders?|home|house"
    rb"|residence|office|repositor(?:y|ies)|server|database|firewall|whitelist|dose|smart)\b"
)
DETAILS = re2.compile(
    rb"[a-z0-9._%+-]+@[a-z0-9-]+\.|https?://|www\.|\b[a-z]+\.com\b|[$\xe2]\s?[0-9]"
    rb"|\b[0-9]{3,}\b|\bid\b|'[^']{2,60}'|\b(?:named|titled|called|immediately|tomorrow|tonight|permanent(?:ly)?|now)\b"
)
ADDRESS = re2.compile(rb"[a-z0-9._%+-]+@[a-z0-9-]+\.|https?://|www\.")
HARMLESS = re2.compile(
    rb"\b(?:see|refer|note|documentation|docs|example|e\.g\.|issue|pull request|pr\b|readme|guide"
    rb"|button|menu|page|click|optional|default|parameter|returns?|npm|pip|cargo|brew|sudo"
    rb"|try again|support team|customer service|if you|let us know|feel free|in order to|allows?"
    rb"|you can)\b"
)
"""Words of documents and of help pages."""
