"""A worker of one's own: remembers when somebody was born.

`weft work examples.birthdays:birthdays` runs it.
"""

import re

from weft.workers import Source, derives
from weft_schemas.events import FactsEvent

BORN = re.compile(r"\bborn on (\d{4}-\d\d-\d\d)")


@derives("user_turn", version="1")
def birthdays(source: Source) -> FactsEvent | None:
    found = BORN.search(source.text)
    return source.facts({"user_birthday": found[1]}) if found else None
