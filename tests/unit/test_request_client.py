"""Requests are checked before they are sent."""

from math import inf, nan
from typing import Any

import pytest

from weft.runtime.request_client import ask
from weft_schemas.compile import CompileRequest, ContextPack, ExplainRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import Phase

NOT_CONNECTED: Any = None


@pytest.mark.parametrize(("timeout", "said"), [(nan, "nan"), (inf, "inf"), (-inf, "-inf")])
async def test_a_time_that_is_no_number_is_refused_by_its_name(timeout: float, said: str) -> None:
    compiled = CompileRequest(Phase.ANSWER, timeout=timeout)
    for request in (compiled, ExplainRequest("m1", compiled)):
        with pytest.raises(InvalidInput, match=f"^timeout is {said}; give seconds, 0 to 60$"):
            await ask(NOT_CONNECTED, ("t", "s", "compile"), request, ContextPack, timeout)
