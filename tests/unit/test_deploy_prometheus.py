"""The scrape configuration finds what `weft up` and compose.yaml run."""

from __future__ import annotations

from typing import Any

import yaml
from tests.data import ROOT

from weft.cli.up import TARGETS
from weft.runtime.settings import Settings


def jobs() -> dict[str, Any]:
    scraped = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    return {job["job_name"]: job for job in scraped["scrape_configs"]}


def test_it_reads_the_file_that_up_keeps() -> None:
    (found,) = jobs()["weft-up"]["file_sd_configs"]
    (file,) = found["files"]
    kept = ROOT / Settings().data_dir / TARGETS
    assert (ROOT / "deploy" / file).resolve() == kept.resolve()


def test_it_names_every_service_of_compose_that_has_metrics() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    first, replicas = jobs()["weft-compose"]["dns_sd_configs"]
    assert set(first["names"]) == services.keys() - {"nats", "provision"}
    assert set(replicas["names"]) == {name for name in services if name.startswith("replica")}
    assert (first["port"], replicas["port"]) == (8080, 8081)
