"""docker-compose.yml: what it says is possible, what it names is there, nobody has more than is needed."""

import argparse
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from keras_transformer.cli.serve import configure
from tests.support.deploy.front import FILES, LISTENERS
from tests.support.deploy.replica import COMPOSE
from tests.support.paths import ROOT

Program = Callable[[str], str]

SERVICES: dict[str, Any] = COMPOSE["services"]
SERVERS = [name for name in SERVICES if name.startswith("server-")]
SCHEMA = json.loads(Path(__file__).with_name("compose.schema.json").read_text("utf-8"))


def test_it_is_what_the_specification_knows() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(COMPOSE)


@pytest.mark.parametrize(
    ("service", "change"),
    [
        ("envoy", {"volume": []}),
        ("envoy", {"ports": ["50051:50051"]}),
        ("server-1", {"stop_grace_period": 45}),
        ("server-1", {"privileged": True}),
        ("server-1", {"read_only": False}),
        ("grafana", {"image": "grafana/grafana:latest"}),
    ],
)
def test_a_slip_would_be_found(service: str, change: dict[str, Any]) -> None:
    services = {**SERVICES, service: {**SERVICES[service], **change}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate({**COMPOSE, "services": services})


def test_whatever_it_names_is_there() -> None:
    for name, service in SERVICES.items():
        for volume in service["volumes"]:
            source = volume["source"]
            if volume["type"] == "volume":
                assert source in COMPOSE["volumes"]
            elif not source.startswith("${MODELS:-"):
                assert (ROOT / source).is_dir(), (name, source)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        if "build" in service:
            assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_the_models_that_make_demo_leaves_are_served_unless_others_are_named() -> None:
    made = re.search(r"^VERSION := (.*)/fr-en/1$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert made
    for name in SERVERS:
        (volume,) = SERVICES[name]["volumes"]
        assert volume["source"] == f"${{MODELS:-./{made[1]}}}"


def test_the_replicas_are_alike_and_each_is_known_to_envoy_and_to_prometheus() -> None:
    first, *others = (SERVICES[name] for name in SERVERS)
    assert others == [first]
    clusters = yaml.safe_load((FILES / "clusters.yaml").read_text("utf-8"))["resources"]
    for cluster in clusters:
        (endpoints,) = cluster["load_assignment"]["endpoints"]
        hosts = [
            each["endpoint"]["address"]["socket_address"]["address"] for each in endpoints["lb_endpoints"]
        ]
        assert hosts == SERVERS
    directory = ROOT / "serving/deploy/prometheus/targets"
    (server,), (envoy,) = (
        yaml.safe_load((directory / f"{name}.yml").read_text()) for name in ("server", "envoy")
    )
    assert server["targets"] == [f"{name}:8080" for name in SERVERS]
    assert envoy["targets"] == [f"envoy:{LISTENERS['telemetry']}"]


def test_a_replica_that_goes_has_time_to_be_noticed_and_to_finish() -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    for name in SERVERS:
        options = parser.parse_args(SERVICES[name]["command"])
        assert options.host == "0.0.0.0"
        assert options.directory == Path(SERVICES[name]["volumes"][0]["target"])
        assert _seconds(SERVICES[name]["stop_grace_period"]) >= options.notice + options.grace + 5
        for cluster in yaml.safe_load((FILES / "clusters.yaml").read_text("utf-8"))["resources"]:
            (check,) = cluster["health_checks"]
            seen = check["unhealthy_threshold"] * (_seconds(check["interval"]) + _seconds(check["timeout"]))
            assert options.notice > seen


def test_only_envoy_is_for_others_than_this_machine() -> None:
    published = {name: service.get("ports", []) for name, service in SERVICES.items()}
    assert [port.rpartition(":")[2] for port in published["envoy"]] == ["50051", "8080"]
    assert all(not published[name] and SERVICES[name]["networks"] == ["inside"] for name in SERVERS)
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_hadolint_and_compose_lint_find_nothing(program: Program) -> None:
    for command in (
        [program("hadolint"), "serving/deploy/Dockerfile"],
        [program("compose-lint"), "check", "--strict-config", "--fail-on", "low", "docker-compose.yml"],
    ):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))
