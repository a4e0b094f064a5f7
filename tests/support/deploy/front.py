"""Envoy as docker-compose.yml starts it: the same two files, but for the addresses, which are loopback's."""

import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.deploy.programs import Running, free, running
from tests.support.deploy.replica import Replica
from tests.support.paths import ROOT

FILES = ROOT / "serving/deploy/envoy"
NAMES = ("envoy.yaml", "clusters.yaml")
ADMIN = ("127.0.0.1", 9901)
LISTENERS = {"grpc": 50051, "http": 8080, "telemetry": 9902}

Config = dict[str, Any]
Change = Callable[[Config, Config], None]  # of envoy.yaml and of clusters.yaml
Places = Mapping[tuple[str, int], tuple[str, int]]


class Front:
    """Where it listens, and what it knows of the replicas."""

    program: Running

    def __init__(self, admin: int) -> None:
        self.admin = admin
        self.grpc = self.http = self.telemetry = ""

    def asked(self, path: str) -> Any:
        """What the administration says."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=10) as answer:
            return json.load(answer)

    def alive(self) -> bool:
        try:
            return bool(self.asked("/server_info")["state"] == "LIVE")
        except OSError:
            return False

    def look(self) -> None:
        """Which ports it was given."""
        for each in self.asked("/listeners?format=json")["listener_statuses"]:
            setattr(self, each["name"], f"127.0.0.1:{each['local_address']['socket_address']['port_value']}")

    def healthy(self) -> int:
        """Replicas that get requests of both kinds."""
        states = [[each["health_status"] for each in self._hosts(cluster)] for cluster in ("grpc", "http")]
        return min(each.count({"eds_health_status": "HEALTHY"}) for each in states)

    def busy(self, cluster: str) -> list[int]:
        """The ports of those who have one."""
        return [
            each["address"]["socket_address"]["port_value"]
            for each in self._hosts(cluster)
            if any(one["name"] == "rq_active" and int(one.get("value", 0)) for one in each["stats"])
        ]

    def _hosts(self, cluster: str) -> list[Config]:
        clusters = self.asked("/clusters?format=json")["cluster_statuses"]
        (hosts,) = (each["host_statuses"] for each in clusters if each["name"] == cluster)
        return list(hosts)

    def count(self, name: str) -> int:
        """One of its statistics."""
        return sum(each["value"] for each in self.asked(f"/stats?format=json&filter=^{name}$")["stats"])


def unchanged(bootstrap: Config, clusters: Config) -> None:
    """As they are."""


@contextmanager
def front(
    envoy: str,
    directory: Path,
    replicas: Sequence[Replica],
    change: Change = unchanged,
    there: int | None = None,
    warnings: Sequence[str] = (),
) -> Iterator[Front]:
    """Once it holds so many replicas for healthy, or all. If it warns of anything else, that is an error."""
    places = Front(free())
    ours = {("0.0.0.0", port): ("127.0.0.1", 0) for port in LISTENERS.values()}
    ours[ADMIN] = ("127.0.0.1", places.admin)
    theirs = {}
    for number, each in enumerate(replicas, 1):
        theirs[f"server-{number}", 50051] = ("127.0.0.1", each.port)
        theirs[f"server-{number}", 8080] = ("127.0.0.1", each.http_port)
    bootstrap, clusters = (yaml.safe_load((FILES / name).read_text("utf-8")) for name in NAMES)
    _move(bootstrap, ours)
    _move(clusters, theirs)
    change(bootstrap, clusters)
    for name, content in zip(NAMES, (bootstrap, clusters), strict=True):
        (directory / name).write_text(yaml.safe_dump(content), "utf-8")
    command = [envoy, "-c", NAMES[0], "--disable-hot-restart", "--concurrency", "1", "-l", "warning"]
    log = directory / "envoy.log"
    with running(command, directory, log) as places.program:
        places.program.wait(places.alive)
        places.look()
        places.program.wait(lambda: places.healthy() == (there or len(replicas)))
        yield places
    expected = ("caught ENVOY_SIGTERM", *warnings)
    lines = log.read_text().splitlines()
    assert [line for line in lines if not any(each in line for each in expected)] == []


def _move(config: Any, places: Places) -> None:
    """Every address of the file is one that is to be moved."""
    if isinstance(config, list):
        for each in config:
            _move(each, places)
    elif isinstance(config, dict):
        for key, each in config.items():
            if key == "socket_address":
                each["address"], each["port_value"] = places[each["address"], each["port_value"]]
            else:
                _move(each, places)
