"""Envoy before one server, with the files of serving/deploy/envoy, on the server's core.

FRONTS are ways to limit what reaches the server: that of those files, and those that it was compared with.
"""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from served.processes import SERVER_CORE, megabytes, seconds

FILES = Path(__file__).parents[2] / "serving/deploy/envoy"
STARTED = 30.0  # seconds that Envoy may take until its server is healthy
UNLIMITED = 2**20
TYPES = "type.googleapis.com/envoy.extensions.filters.http"

Config = dict[str, Any]
Change = Callable[[Config, Config], None]  # of the listener's connection manager, and of the cluster


def program() -> str | None:
    """The path of Envoy, where it is installed."""
    return shutil.which("envoy", path=str(Path(sys.executable).parent)) or shutil.which("envoy")


class Envoy:
    """A process; its `port` forwards to the server at `upstream`."""

    def __init__(self, front: str, upstream: int, directory: Path) -> None:
        """Start it with the change of FRONTS, and wait until the server is healthy."""
        self.name = front
        self.port, admin = _free(), _free()
        bootstrap, clusters = (
            yaml.safe_load((FILES / name).read_text("utf-8")) for name in ("envoy.yaml", "clusters.yaml")
        )
        _address(bootstrap["admin"], admin)
        (listener,) = (each for each in bootstrap["static_resources"]["listeners"] if each["name"] == "grpc")
        bootstrap["static_resources"]["listeners"] = [listener]
        _address(listener, self.port)
        (cluster,) = (each for each in clusters["resources"] if each["name"] == "grpc")
        clusters["resources"] = [cluster]
        (endpoints,) = cluster["load_assignment"]["endpoints"]
        for threshold in cluster["circuit_breakers"]["thresholds"]:  # the files have one for all replicas
            threshold["max_requests"] //= len(endpoints["lb_endpoints"])
        del endpoints["lb_endpoints"][1:]
        _address(endpoints["lb_endpoints"][0]["endpoint"], upstream)
        FRONTS[front](listener["filter_chains"][0]["filters"][0]["typed_config"], cluster)
        directory.mkdir()
        for name, content in (("envoy.yaml", bootstrap), ("clusters.yaml", clusters)):
            (directory / name).write_text(yaml.safe_dump(content), "utf-8")
        pinned = ["taskset", "--cpu-list", str(SERVER_CORE), program() or "envoy"]
        options = ["-c", "envoy.yaml", "--disable-hot-restart", "--concurrency", "1", "-l", "error"]
        self._process = subprocess.Popen([*pinned, *options], cwd=directory)
        until = time.monotonic() + STARTED
        while not _healthy(admin):
            if self._process.poll() is not None or time.monotonic() > until:
                self.close()
                raise SystemExit(f"Envoy ({front}) has not come up: see its error above.")
            time.sleep(0.05)

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        return seconds(self._process.pid)

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        return megabytes(self._process.pid)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def _unlimited(manager: Config, cluster: Config) -> None:
    for threshold in cluster["circuit_breakers"]["thresholds"]:
        threshold["max_requests"] = UNLIMITED


def _filtered(name: str, version: str, **options: Any) -> Change:
    """The filter `name` before the others, and no other limit."""

    def change(manager: Config, cluster: Config) -> None:
        _unlimited(manager, cluster)
        kind = "".join(each.title() for each in name.split("_")).replace("Ratelimit", "RateLimit")
        config = {"@type": f"{TYPES}.{name}.{version}.{kind}", **options}
        manager["http_filters"].insert(0, {"name": f"envoy.filters.http.{name}", "typed_config": config})

    return change


def _concurrency(requests: int) -> Change:
    def change(manager: Config, cluster: Config) -> None:
        cluster["circuit_breakers"]["thresholds"][0]["max_requests"] = requests

    return change


_WHOLE = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
FRONTS: Mapping[str, Change] = {
    "envoy": lambda manager, cluster: None,
    "unlimited": _unlimited,
    "adaptive_concurrency": _filtered(
        "adaptive_concurrency",
        "v3",
        gradient_controller_config={
            "sample_aggregate_percentile": {"value": 90},
            "concurrency_limit_params": {"concurrency_update_interval": "0.1s"},
            "min_rtt_calc_params": {"interval": "60s", "request_count": 50, "min_concurrency": 32},
        },
    ),
    "admission_control": _filtered(
        "admission_control",
        "v3",
        enabled={"default_value": True, "runtime_key": "admission"},
        sampling_window="2s",
        sr_threshold={"default_value": {"value": 95}, "runtime_key": "threshold"},
        aggression={"default_value": 2.0, "runtime_key": "aggression"},
        max_rejection_probability={"default_value": {"value": 95}, "runtime_key": "most"},
        success_criteria={"grpc_criteria": {"grpc_success_status": [0]}},
    ),
    "local_ratelimit": _filtered(
        "local_ratelimit",
        "v3",
        stat_prefix="local",
        token_bucket={"max_tokens": 45, "tokens_per_fill": 45, "fill_interval": "0.1s"},  # 450 a second
        filter_enabled=_WHOLE,
        filter_enforced=_WHOLE,
        rate_limited_as_resource_exhausted=True,
    ),
    **{f"max_requests {number}": _concurrency(number) for number in (24, 32, 40, 48, 64)},
}


def _address(holder: Config, port: int) -> None:
    holder["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}


def _healthy(admin: int) -> bool:
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{admin}/clusters?format=json", timeout=10) as answer,
    ):
        for cluster in json.load(answer)["cluster_statuses"]:
            if cluster["name"] == "grpc":
                hosts = cluster.get("host_statuses", [])
                return [each["health_status"] for each in hosts] == [{"eds_health_status": "HEALTHY"}]
    return False


def _free() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
