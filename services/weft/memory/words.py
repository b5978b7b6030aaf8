"""English words that are no names, by class: closed classes, words for a condition, nationalities.

A value that should be a name teaches nothing if it has one of them: `my city is cold`, `I'm Done`.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a list in a text."""
    return frozenset(text.split())


PRONOUNS = word_set("""
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves one oneself who whom whose
which what that this these those there here somebody someone something anybody anyone anything
nobody none nothing everybody everyone everything whatever whichever whoever wherever whenever
i'm i'd i've i'll you're we're they're he's she's it's that's there's what's who's let's
""")
ARTICLES = word_set("a an the")
DETERMINERS = ARTICLES | word_set("""
some any no every each either neither both all most more less much many few several enough such
another other others same own half
""")
PREPOSITIONS = word_set("""
of in on at by for from to with without about above across after against along amid among around
as before behind below beneath beside besides between beyond despite down during except inside into
like near off onto opposite out outside over past per since than through throughout till toward
towards under underneath until unto up upon via within
""")
CONJUNCTIONS = word_set("""
and or but nor so yet because although though while whereas if unless whether when where why how
that lest once plus
""")
AUXILIARIES = word_set("""
am is are was were be been being do does did done doing have has had having will would shall should
can could may might must ought cannot isn't aren't wasn't weren't don't doesn't didn't haven't
hasn't hadn't won't wouldn't can't couldn't shouldn't gonna gotta
""")
VERBS = word_set("""
need needs want wants like likes love loves hate hates think thinks know knows hope hopes say says
said tell tells told ask asks asked get gets got go goes going went gone come comes came make makes
made take takes took see sees saw look looks give gives gave keep keeps kept let feel feels felt try
tries tried use uses used find finds found seem seems work works run runs call calls mean means help
stop wait write eat drink live lives send show buy pay book cancel change guess believe wonder wish
prefer please sleep talk speak play sit stand stay leave
""")
ADVERBS = word_set("""
not never always often sometimes usually rarely seldom now then today tonight tomorrow yesterday
soon later early late already still just only also too very quite rather really almost nearly even
ever again maybe perhaps probably possibly indeed anyway otherwise instead together apart away back
forward ahead abroad elsewhere everywhere nowhere somewhere anywhere fast hard well badly somehow
somewhat likely unlikely kind sort asap currently actually honestly obviously literally basically
""")
INTERJECTIONS = word_set("""
yes yeah yep no nope ok okay oh ah hey hi hello bye goodbye thanks thank cheers sorry please welcome
wow ugh oops congratulations lol haha hm hmm huh damn nevermind whatever right sure exactly
""")
TIMES = word_set("""
monday tuesday wednesday thursday friday saturday sunday weekday weekdays weekend weekends morning
noon afternoon evening night nights midnight day days week weeks month months year years hour hours
minute minutes moment times daytime nighttime
""")
FUNCTION_WORDS = (
    PRONOUNS | DETERMINERS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | ADVERBS | INTERJECTIONS
)
"""The closed classes."""

CONDITIONS = word_set("""
able absent abroad active afraid alive alone amazing angry annoyed anonymous anxious ashamed asleep
available awake aware awesome awful awkward bad bankrupt beautiful best better big bored boring
brave brief bright brilliant broke broken busy calm careful certain cheap cheerful clean clear
clever cold comfortable common complete complex complicated confidential confused constant cool
correct crap crazy critical cruel curious current cute dangerous dark dead deaf dear deep different
difficult dirty disabled dizzy done double dry due dull dumb dynamic eager easy effective electric
empty enabled endless enough equal essential evil exact excellent excited exciting exhausted
expensive external extinct extra fair fake false familiar famous fantastic fat few final fine finite
finished first fit flat flexible foggy free fresh friendly frozen full fun funny furious future
gentle glad global good gorgeous great green greedy grey grim gross grumpy guilty half handy happy
hard harsh healthy heavy helpful hidden high homeless honest hopeless horrible hot huge humid hungry
hurt icy ideal identical idle ill illegal immediate important impossible inaccurate inactive
incomplete incorrect independent inner innocent insane intact internal invalid irrelevant itchy
jealous jobless joint kind lame large last late lazy legal less light limited little live local
locked lonely long loose lost loud lovely low lucky mad main major mandatory manual married massive
maximum mean messy mild minimal minimum minor miserable missing mixed moderate moist moody mute
mysterious nasty negative nervous neutral new next nice noisy normal numb obsolete obvious odd off
offline okay old on online open optional ordinary outdated outstanding over overdue own painful pale
partial past patient peaceful pending perfect permanent pink plain pleasant pointless poor popular
positive possible precious pregnant present pretty previous private probable professional proud
public pure puzzled quick quiet random rare raw ready real reasonable recent redundant relevant
reliable remote ridiculous right rigid risky rough round rubbish rude ruined sad safe same satisfied
scary secret secure selfish separate serious severe shallow sharp shiny short shut shy sick silent
silly similar simple single sleepy slim slow small smart smooth soft sold solid sore sorry special
specific stable stale standard static steady steep sticky stiff still stolen strange strict strong
stuck stupid subject successful sudden sufficient sunny super sure suspect sweet swollen taken tall
tedious temporary terrible terrific thick thin thirsty tidy tight tiny tired tough toxic trivial
true typical ugly unable unclear unhappy unique universal unknown unsafe unstable unusual up upset
urgent useful useless usual vacant vague valid valuable various vast visible vital void vulnerable
warm weak weird wet whole wicked wide wild windy wise wonderful worse worst worth wrong young
blocked closed corrupt down gone torn worn won spent split bust
error errors failure trouble danger doubt fear denial chaos hell heaven panic peace pain poverty
luxury debt shock misery despair limbo silence darkness isolation exile hope love sin theory
practice general particular public private trouble spam garbage trash junk nonsense crap bullshit
vegan vegetarian pescatarian kosher halal
nightmare mess disaster joke shame pity mystery problem issue bug crash fail
""")
"""Predicative adjectives, participles without a regular ending, and nouns for a condition."""
_BASES = frozenset(word for word in CONDITIONS if len(word) > 2)

NATIONALITIES = word_set("""
afghan african albanian algerian american angolan arab argentinian argentine armenian asian
australian austrian azerbaijani bangladeshi basque belarusian belgian bolivian bosnian brazilian
british bulgarian burmese cambodian cameroonian canadian catalan chilean chinese colombian
congolese croatian cuban cypriot czech danish dane dutch ecuadorian egyptian english eritrean
estonian ethiopian european filipino finnish finn french georgian german ghanaian greek guatemalan
haitian honduran hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican
japanese jordanian kazakh kenyan korean kurdish kuwaiti kyrgyz laotian latvian lebanese libyan
lithuanian macedonian malaysian maltese mexican moldovan mongolian moroccan mozambican namibian
nepalese nepali nigerian norwegian pakistani palestinian panamanian paraguayan persian peruvian
polish pole portuguese puertorican romanian russian rwandan salvadoran saudi scottish scot
senegalese serbian singaporean slovak slovenian somali spanish spaniard sudanese swedish swede
swiss syrian
taiwanese tajik tamil tanzanian thai tibetan tunisian turkish turk
ugandan ukrainian uruguayan uzbek venezuelan vietnamese welsh yemeni zambian zimbabwean
agnostic anglican atheist baptist buddhist catholic christian evangelical hindu jew jewish lutheran
mormon muslim orthodox presbyterian protestant quaker shia sikh sunni
""")
"""And religions: `I'm German`."""

_TOO_NAMES = word_set("may will art hope joy sunny kind love frank rich christian brave guy my")
"""Words of these classes that are also given names: after `my name is` they count."""

_STATE_ENDING = ("ed", "ing", "able", "ible", "ful", "less", "ous", "ish", "ly")
_LONG = 5
"""Letters of a word that may have such an ending; `Fred`, `Ming` and `Joly` are shorter."""


def is_state(word: str) -> bool:
    """Whether a word tells a condition and is no name: an adjective, a participle, an adverb."""
    word = word.casefold()
    if word in CONDITIONS or word in FUNCTION_WORDS or word in TIMES:
        return True
    if len(word) > _LONG and word.endswith(_STATE_ENDING):
        return True
    for ending in ("er", "est", "y"):  # harder, hardest
        stem = word.removesuffix(ending)
        if stem != word and (stem in _BASES or f"{stem}e" in _BASES):
            return ending != "y"
        if stem != word and stem.endswith("i") and f"{stem[:-1]}y" in _BASES:
            return True
    parts = word.split("-")
    return len(parts) > 1 and any(is_state(part) for part in parts if part)


def is_other_than_name(word: str) -> bool:
    """Whether a word after `my name is` is no name."""
    word = word.casefold()
    if word in _TOO_NAMES:
        return False
    return word in FUNCTION_WORDS or word in TIMES or word in CONDITIONS
