"""Prometheus reads every replica and Envoy, and the dashboard asks it for what there is."""

import json
import math
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from serving import Client
from tests.support.deploy.front import Front, front
from tests.support.deploy.programs import free, running
from tests.support.deploy.replica import COMPOSE, replicas
from tests.support.paths import ROOT

Program = Callable[[str], str]

FILES = ROOT / "serving/deploy/prometheus"
GRAFANA = ROOT / "serving/deploy/grafana"
DASHBOARD = json.loads((GRAFANA / "dashboards/translation.json").read_text("utf-8"))
PANELS = [each for each in DASHBOARD["panels"] if each["type"] != "row"]


class Prometheus:
    """What it answers."""

    def __init__(self, port: int) -> None:
        self.port = port

    def asked(self, path: str, **parameters: str) -> Any:
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def ready(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=10).close()
        except OSError:
            return False
        return True

    def values(self, query: str) -> list[float]:
        return [float(each["value"][1]) for each in self.asked("/api/v1/query", query=query)["result"]]


@contextmanager
def prometheus(program: str, directory: Path, targets: dict[str, list[str]]) -> Iterator[Prometheus]:
    """With the file that docker-compose.yml gives it, and targets of this machine."""
    shutil.copy(FILES / "prometheus.yml", directory)
    (directory / "targets").mkdir()
    for job, addresses in targets.items():
        assert (FILES / f"targets/{job}.yml").exists()
        (directory / f"targets/{job}.yml").write_text(yaml.safe_dump([{"targets": addresses}]))
    found = Prometheus(free())
    command = [program, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]
    log = directory / "prometheus.log"
    with running([*command, f"--web.listen-address=127.0.0.1:{found.port}"], directory, log) as started:
        started.wait(found.ready)
        started.wait(lambda: found.values("up") == [1.0] * sum(map(len, targets.values())))
        yield found
    assert [line for line in log.read_text().splitlines() if "Received SIGTERM" not in line] == []


@pytest.fixture(scope="module")
def models(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version that serves, and one that is refused."""
    root = tmp_path_factory.mktemp("models")
    for version in ("1", "2"):
        shutil.copytree(exported, root / "fr-en" / version)
    (root / "fr-en/2/golden.jsonl").unlink()
    return root


def test_the_configuration_is_one_that_promtool_finds_nothing_wrong_with(program: Program) -> None:
    command = [program("promtool"), "check", "config", "--lint-fatal", str(FILES / "prometheus.yml")]
    subprocess.run(command, check=True, timeout=60, capture_output=True)


def test_all_are_reached_and_every_question_of_the_dashboard_has_an_answer(
    program: Program, models: Path, tmp_path: Path
) -> None:
    for name in ("envoy", "prometheus"):
        (tmp_path / name).mkdir()
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    with replicas(models) as two, front(program("envoy"), tmp_path / "envoy", two) as places:
        targets = {"server": [f"127.0.0.1:{each.http_port}" for each in two], "envoy": [places.telemetry]}
        with prometheus(program("prometheus"), tmp_path / "prometheus", targets) as measured:
            until = time.monotonic() + 60
            while unanswered := [each for each in expressions if not answered(measured, each)]:
                assert time.monotonic() < until, unanswered
                ask(places)
            assert measured.values("translation_version_refused") == [1.0, 1.0]
            assert measured.values("sum(envoy_cluster_membership_healthy)") == [5.0]  # and its own


def ask(places: Front) -> None:
    with Client(places.grpc) as client:
        client.translate(["Bonjour.", "Où est la gare ?"] * 20)
        list(client.stream("Bonjour."))


def answered(measured: Prometheus, expression: str) -> bool:
    """It is a question, and numbers come back."""
    values = measured.values(expression.replace("$__rate_interval", "20s"))  # four times the interval
    return bool(values) and not any(map(math.isnan, values))


def test_the_dashboard_is_one_that_grafana_finds_with_the_source_that_it_asks() -> None:
    (source,) = _yaml("datasources/prometheus.yaml")["datasources"]
    for panel in PANELS:
        assert panel["title"]
        assert {each["uid"] for each in (panel["datasource"], *_sources(panel))} == {source["uid"]}
    (provider,) = _yaml("dashboards/dashboards.yaml")["providers"]
    grafana = COMPOSE["services"]["grafana"]
    (mounted,) = (each["target"] for each in grafana["volumes"])
    assert provider["options"]["path"] == f"{mounted}/dashboards"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (GRAFANA / Path(home).relative_to(mounted)).exists()
    assert source["url"] == "http://prometheus:9090"
    assert source["jsonData"]["timeInterval"] == _scraped()


def test_no_panel_lies_over_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        places = {
            (x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in places) < 24
        assert not places & taken, panel["title"]
        taken |= places


def _yaml(name: str) -> Any:
    return yaml.safe_load((GRAFANA / name).read_text("utf-8"))


def _sources(panel: dict[str, Any]) -> list[dict[str, str]]:
    return [each["datasource"] for each in panel["targets"]]


def _scraped() -> str:
    return str(yaml.safe_load((FILES / "prometheus.yml").read_text("utf-8"))["global"]["scrape_interval"])
