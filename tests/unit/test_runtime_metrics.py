"""Metrics: counted by closed labels, whatever subjects and error codes come."""

from weft.runtime.metrics import Metrics


def series(metrics: Metrics) -> list[str]:
    return [line for line in metrics.text().decode().splitlines() if not line.startswith("#")]


def test_unknown_events_and_codes_share_one_label():
    metrics = Metrics("firewall")
    for number in range(50):
        metrics.event(f"kind-{number}", "derived", 0.001)
        with metrics.request("compile") as answer:
            answer.code = f"code-{number}"
    text = metrics.text().decode()
    assert 'weft_events_total{event="other",outcome="derived",process="firewall"} 50.0' in text
    assert 'weft_requests_total{code="other",process="firewall",service="compile"} 50.0' in text
    assert len(series(metrics)) < 80


def test_a_known_event_and_code_keep_their_names():
    metrics = Metrics("firewall")
    metrics.event("tool_result", "parked", 0.5)
    with metrics.request("compile"):
        pass
    with metrics.request("compile") as answer:
        answer.code = "not_found"
    text = metrics.text().decode()
    assert 'event="tool_result",outcome="parked"' in text
    assert 'weft_parked_total{process="firewall"} 1.0' in text
    assert 'code="ok"' in text
    assert 'code="not_found"' in text
