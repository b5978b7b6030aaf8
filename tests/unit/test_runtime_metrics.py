"""Metrics: counted by closed labels, whatever subjects come."""

from prometheus_client import generate_latest

from weft.runtime.metrics import Metrics


def series(metrics: Metrics) -> list[str]:
    return [
        line
        for line in generate_latest(metrics.registry).decode().splitlines()
        if not line.startswith("#")
    ]


def test_unknown_events_share_one_label():
    metrics = Metrics("firewall")
    for number in range(50):
        metrics.event(f"kind-{number}", "derived", 0.001)
    text = generate_latest(metrics.registry).decode()
    assert 'weft_events_total{event="other",outcome="derived",process="firewall"} 50.0' in text
    assert len(series(metrics)) < 40


def test_a_known_event_keeps_its_name():
    metrics = Metrics("firewall")
    metrics.event("tool_result", "parked", 0.5)
    text = generate_latest(metrics.registry).decode()
    assert 'event="tool_result",outcome="parked"' in text
    assert 'weft_parked_total{process="firewall"} 1.0' in text


def test_a_process_has_no_series_that_means_nothing_of_it() -> None:
    metrics = Metrics("router")
    of_some = ("weft_lag_events", "weft_in_flight_events", "weft_watermark_sequence")
    assert [line for line in series(metrics) if line.startswith(of_some)] == []
    metrics.lag(0)
    metrics.watermark(7)
    metrics.in_flight(lambda: 3)
    assert [line for line in series(metrics) if line.startswith(of_some)] == [
        'weft_lag_events{process="router"} 0.0',
        'weft_in_flight_events{process="router"} 3.0',
        'weft_watermark_sequence{process="router"} 7.0',
    ]
