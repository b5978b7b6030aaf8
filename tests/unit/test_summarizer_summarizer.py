"""Summaries by a model behind HTTP, against a server on the loopback."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.json_server import JsonServer

from weft import tokens
from weft.summarizer.summarizer import (
    ExtractiveSummarizer,
    OpenAICompatibleSummarizer,
    configured,
)
from weft_schemas.errors import ConfigurationError, Unavailable

ENCODING = "cl100k_base"


class Endpoint(JsonServer):
    """An OpenAI-compatible server that answers what it is told to and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.reply: Any = {"choices": [{"message": {"content": "A short summary."}}]}
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []

    def reply_to(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        self.requests.append(body)
        self.authorization.append(headers.get("Authorization"))
        return self.status, self.reply


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


def test_the_model_is_asked_with_the_cap_and_its_key(endpoint: Endpoint) -> None:
    summarizer = configured(endpoint.url, "tiny", "k1")
    assert summarizer.summarise("A long text.", 30, ENCODING) == "A short summary."
    assert summarizer.name == "tiny"
    assert endpoint.authorization == ["Bearer k1"]
    asked = endpoint.requests[0]
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("tiny", 30, 0)
    assert "A long text." in asked["messages"][1]["content"]


def test_an_answer_over_the_cap_is_cut(endpoint: Endpoint) -> None:
    endpoint.reply = {"choices": [{"message": {"content": "word " * 500}}]}
    summary = configured(endpoint.url, "tiny").summarise("text", 10, ENCODING)
    assert 0 < tokens.count(summary, ENCODING) <= 10


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_may_be_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.status = status
    with pytest.raises(Unavailable, match=str(status)):
        configured(endpoint.url, "tiny").summarise("text", 10, ENCODING)


def test_a_refusal_names_what_to_check(endpoint: Endpoint) -> None:
    endpoint.status = 401
    with pytest.raises(ConfigurationError, match="401; check its address, key"):
        configured(endpoint.url, "tiny").summarise("text", 10, ENCODING)


@pytest.mark.parametrize("reply", [[], {"choices": []}, {"choices": [{"text": "old"}]}])
def test_another_reply_is_no_summary(endpoint: Endpoint, reply: Any) -> None:
    endpoint.reply = reply
    with pytest.raises(ConfigurationError, match="model endpoint"):
        configured(endpoint.url, "tiny").summarise("text", 10, ENCODING)


def test_no_endpoint_at_all_is_unavailable() -> None:
    with Endpoint() as gone:
        pass
    with pytest.raises(Unavailable, match="does not answer"):
        configured(gone.url, "tiny").summarise("text", 10, ENCODING)


def test_without_configuration_no_model_is_asked() -> None:
    assert isinstance(configured(), ExtractiveSummarizer)
    assert isinstance(configured("http://localhost/v1", "m"), OpenAICompatibleSummarizer)
    with pytest.raises(ConfigurationError, match="name the model too"):
        configured("http://localhost/v1")
