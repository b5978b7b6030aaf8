"""A worker of one's own: raises what speaks of salaries.

`weft work examples.classifier:salaries` runs it.
"""

from typing import Annotated

from faststream import Depends

from weft.workers import Source, derives
from weft_schemas.events import SensitivityEvent


def words() -> frozenset[str]:
    """What gives it away; a real one would load its model here."""
    return frozenset({"salary", "payroll"})


@derives("user_turn", "agent_msg", "doc_snippet", version="1")
def salaries(
    source: Source, telling: Annotated[frozenset[str], Depends(words)]
) -> SensitivityEvent | None:
    is_told = telling & set(source.text.lower().split())
    return source.sensitivity("confidential") if is_told else None
