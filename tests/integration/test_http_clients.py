"""HTTP by what nobody here wrote: curl, a TypeScript program with generated types, a fuzzer."""

import asyncio
import json
import os
import re
import shutil
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio
import schemathesis
from schemathesis.checks import CHECKS
from tests.data import ROOT
from tests.integration.serving import everything, serving

from weft.client import Client
from weft.http.openapi import document, paths
from weft.runtime.settings import Settings
from weft_schemas.items import ContextItem, ItemKind

PATIENCE = 120
SHOWN = "http://127.0.0.1:8080"
BLOCKS = [
    (name, block)
    for name in ("README.md", "docs/http.md")
    for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / name).read_text(), re.S | re.M)
    if "curl" in block
]
EXAMPLES = int(os.environ.get("WEFT_FUZZ_EXAMPLES", "5"))
"""Requests of the fuzzer for each operation."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with everything(tmp_path_factory.mktemp("clients")) as url:
        async with Client(Settings(nats_url=url)) as client:
            await client.publish("fuzzed", ContextItem("m1", ItemKind.USER_TURN, "Hello?"))
        async with serving(url, "--rate", "100000") as running:
            yield running


async def ran(command: list[str], folder: Path, **environ: str) -> tuple[int, str]:
    """Exit code and everything that was said."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=os.environ | environ,
        stdout=PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, said.decode()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_curl_lines_of_the_documents_are_answered(address: str, tmp_path: Path) -> None:
    """In the order in which they stand; what follows the log for ever is ended after a while."""
    assert len(BLOCKS) >= 6
    for name, block in BLOCKS:
        script = block.replace(SHOWN, address)
        follows = "curl -sN" in script
        script = script.replace("curl -sN", "curl -sN --max-time 2")
        script = script.replace("curl -s ", "curl -s --fail-with-body ")
        code, said = await ran(["bash", "-ec", script], tmp_path)
        assert code == (28 if follows else 0), (name, block, said)
        if "/compile" in block:
            assert "Which order was the largest?" in said
        if follows:
            assert "event: tool_call" in said


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_a_typescript_program_is_checked_against_the_document_and_runs(
    address: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Packages are kept from run to run, as long as package.json is the same."""
    example = ROOT / "examples" / "typescript"
    kept = request.config.cache.mkdir("typescript")
    wanted = (example / "package.json").read_text()
    is_kept = (kept / "done").exists() and (kept / "package.json").read_text() == wanted
    for name in ("package.json", "tsconfig.json", "agent.ts"):
        shutil.copy(example / name, kept)
    if not is_kept:
        code, said = await ran(["npm", "install", "--no-package-lock", "--no-audit"], kept)
        if code:
            pytest.skip(f"npm cannot install the packages: {said[-300:]}")
        (kept / "done").touch()
    environ = {"WEFT_HTTP": address}
    for step in ("types", "build", "start"):
        code, said = await ran(["npm", "run", "--silent", step], kept, **environ)
        assert code == 0, said
    assert "user: Which order was the largest?" in said
    assert "m1 included: true" in said
    assert "refused: not_found" in said
    assert "events: tool_call, tool_result" in said


CHECKED = [
    check
    for check in CHECKS.get_all()
    # What types cannot say (ranges, nesting, one of text and body) is refused all the same.
    if check.__name__ not in ("positive_data_acceptance", "unsupported_method", "ignored_auth")
]


TELEMETRY = ("/v1/traces", "/v1/logs")
"""OpenTelemetry's forms, of which the document says nothing."""
PATHS = [path for path in sorted(paths()) if path not in TELEMETRY]


@pytest.mark.parametrize("name", PATHS)
def test_a_fuzzer_finds_no_answer_that_the_document_does_not_know(address: str, name: str) -> None:
    """Valid and invalid requests made of the document, the same every time."""
    schema = schemathesis.openapi.from_dict(document())
    schema.config.update(base_url=address)
    for found in schema.include(path=name).get_all_operations():
        operation = found.ok()
        fuzz(operation, schemathesis.GenerationMode.POSITIVE)
        if {one["name"] for one in operation.definition.raw["parameters"]} != {"session"}:
            fuzz(operation, schemathesis.GenerationMode.NEGATIVE)


def fuzz(operation: schemathesis.APIOperation, mode: schemathesis.GenerationMode) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate,),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def asked(case: schemathesis.Case) -> None:
        if mode is schemathesis.GenerationMode.POSITIVE and "session" in case.path_parameters:
            case.path_parameters["session"] = "fuzzed"
        case.call_and_validate(checks=CHECKED, timeout=PATIENCE)

    asked()


def test_the_fuzzer_would_find_an_answer_that_is_not_in_the_document(address: str) -> None:
    broken = document()
    reply = broken["paths"]["/v1/status"]["get"]["responses"]["200"]["content"]
    reply["application/json"] = {"schema": {"type": "array"}}
    schema = schemathesis.openapi.from_dict(broken)
    schema.config.update(base_url=address)
    case = schema["/v1/status"]["GET"].Case()
    with pytest.raises(BaseExceptionGroup) as found:
        case.call_and_validate()
    assert "is not of type" in str(found.value.exceptions[0])
    assert json.loads(case.call().content)["tenant"] == "default"
