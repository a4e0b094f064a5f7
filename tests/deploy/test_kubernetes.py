"""The manifests for Kubernetes: valid by its schemas, and true for the server and for Envoy."""

import argparse
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from keras_transformer.cli.serve import configure
from serving import Client
from serving.observability.metrics import Metrics
from serving.registry.registry import Registry
from tests.support.deploy.front import front
from tests.support.deploy.replica import COMPOSE, Replica
from tests.support.paths import ROOT

DEPLOY = ROOT / "serving" / "deploy"
FILES = sorted((DEPLOY / "kubernetes").iterdir())
DOCUMENTS: dict[tuple[str, str], dict[str, Any]] = {
    (document["kind"], document["metadata"]["name"]): document
    for file in FILES
    for document in yaml.safe_load_all(file.read_text("utf-8"))
}
OPERATORS = ("keda.sh/v1alpha1", "monitoring.coreos.com/v1")  # whose schemas no package carries
ENVOY = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text("utf-8"))
PAGE = (ROOT / "docs/how-to/deploy.md").read_text("utf-8")


def pod(name: str) -> Any:
    return DOCUMENTS["Deployment", name]["spec"]["template"]["spec"]


def container(name: str) -> Any:
    (only,) = pod(name)["containers"]
    return only


def ports(name: str) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container(name)["ports"]}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    configure(parser)
    return parser.parse_args(container("translation")["args"])


def test_nothing_is_missing() -> None:
    assert [file.name for file in FILES] == [
        "autoscaling.yaml", "front.yaml", "monitoring.yaml", "translation.yaml",
    ]  # fmt: skip
    kinds = ("Deployment", "Service", "PodDisruptionBudget", "PodMonitor")
    both = {(kind, name) for kind in kinds for name in ("translation", "front")}
    assert DOCUMENTS.keys() == {*both, ("ScaledObject", "translation")}


@pytest.mark.parametrize("key", DOCUMENTS, ids=" ".join)
def test_a_manifest_is_valid_by_the_published_schema(key: tuple[str, str]) -> None:
    document = DOCUMENTS[key]
    if document["apiVersion"] in OPERATORS:
        with pytest.raises(kubernetes_validate.SchemaNotFoundError):
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        return
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_a_replica_is_what_a_replica_of_compose_is() -> None:
    replica = COMPOSE["services"]["server-1"]
    translation = pod("translation")
    assert container("translation")["args"] == replica["command"]
    assert f"{translation['terminationGracePeriodSeconds']}s" == replica["stop_grace_period"]
    user = translation["securityContext"]
    assert f"{user['runAsUser']}:{user['runAsGroup']}" == replica["user"]
    assert container("translation")["image"].endswith(f"/{replica['image']}")


def test_ports_and_probes_are_those_of_the_server() -> None:
    assert ports("translation") == {"grpc": options().port, "http": options().http_port}
    probes = [container("translation")[f"{kind}Probe"] for kind in ("startup", "readiness")]
    assert [probe["grpc"]["port"] for probe in probes] == [options().port] * 2
    readiness = container("translation")["readinessProbe"]
    assert options().notice > readiness["periodSeconds"] * (readiness["failureThreshold"] + 1)
    assert pod("translation")["terminationGracePeriodSeconds"] > options().notice + options().grace


def test_envoy_is_the_one_of_compose() -> None:
    envoy = COMPOSE["services"]["envoy"]
    assert container("front")["image"] == envoy["image"]
    assert container("front")["command"] == envoy["command"]
    assert container("front")["workingDir"] == envoy["working_dir"]
    user = pod("front")["securityContext"]
    assert f"{user['runAsUser']}:{user['runAsGroup']}" == envoy["user"]
    assert container("front")["resources"]["limits"]["memory"] == "512Mi"
    assert envoy["mem_limit"] == "512m"


def test_ports_and_paths_of_envoy_are_those_of_its_file() -> None:
    listeners = {
        each["name"]: each["address"]["socket_address"]["port_value"]
        for each in ENVOY["static_resources"]["listeners"]
    }
    assert ports("front") == listeners
    telemetry = yaml.safe_dump(ENVOY["static_resources"]["listeners"][-1])
    (endpoint,) = DOCUMENTS["PodMonitor", "front"]["spec"]["podMetricsEndpoints"]
    for path in (container("front")["readinessProbe"]["httpGet"]["path"], endpoint["path"]):
        assert f"path: {path}\n" in telemetry
    hook = container("front")["lifecycle"]["preStop"]["exec"]["command"]
    assert f"/dev/tcp/127.0.0.1/{ENVOY['admin']['address']['socket_address']['port_value']} " in hook[-1]
    waits = int(hook[-1].rpartition("sleep ")[2])
    assert waits < pod("front")["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("name", ["translation", "front"])
def test_all_speak_of_the_same_pods_and_ports(name: str) -> None:
    labels = DOCUMENTS["Deployment", name]["spec"]["template"]["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget", "PodMonitor"):
        assert DOCUMENTS[kind, name]["spec"]["selector"]["matchLabels"] == labels
    assert DOCUMENTS["Service", name]["spec"]["selector"] == labels
    service = {port["name"]: port["port"] for port in DOCUMENTS["Service", name]["spec"]["ports"]}
    assert service.items() <= ports(name).items()
    (endpoint,) = DOCUMENTS["PodMonitor", name]["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in ports(name)
    assert {each["name"] for each in container(name)["volumeMounts"]} == {
        each["name"] for each in pod(name)["volumes"]
    }


def test_replicas_follow_metrics_that_the_server_has() -> None:
    spec = DOCUMENTS["ScaledObject", "translation"]["spec"]
    assert ("Deployment", spec["scaleTargetRef"]["name"]) in DOCUMENTS
    assert "replicas" not in DOCUMENTS["Deployment", "translation"]["spec"]
    (trigger,) = spec["triggers"]
    named = set(re.findall(r"\btranslation_\w+", trigger["metadata"]["query"]))
    told = Metrics(lambda: Registry([])).text().decode()
    assert named == {"translation_queue_depth", "translation_rows"}
    assert named <= set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE))
    assert int(trigger["metadata"]["threshold"]) == options().slots // 2


def test_the_commands_of_the_page_make_the_clusters_of_all_replicas() -> None:
    (block,) = (text for text in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "kubectl" in text)
    directory, edit, configmap, apply = block.splitlines()
    assert ROOT / directory.removeprefix("cd ") == DEPLOY
    edited = subprocess.run(
        ["sh", "-ec", edit.rstrip(" |")], cwd=DEPLOY, check=True, timeout=60, capture_output=True
    )
    clusters = yaml.safe_load(edited.stdout)["resources"]
    compose = yaml.safe_load((DEPLOY / "envoy" / "clusters.yaml").read_text("utf-8"))["resources"]
    most = DOCUMENTS["ScaledObject", "translation"]["spec"]["maxReplicaCount"]
    for cluster, before in zip(clusters, compose, strict=True):
        (endpoint,) = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
        address = endpoint["endpoint"]["address"]["socket_address"]
        assert address == {"address": "translation", "port_value": ports("translation")[cluster["name"]]}
        requests, replicas = (
            each["circuit_breakers"]["thresholds"][0]["max_requests"] for each in (cluster, before)
        )
        assert requests / most == replicas / 2
    assert "--from-file envoy/envoy.yaml --from-file clusters.yaml=/dev/stdin" in configmap
    (volume,) = pod("front")["volumes"]
    assert f"configmap {volume['configMap']['name']} " in configmap
    assert apply.split()[-1] == "kubernetes"


def is_ready(address: str) -> bool:
    path = container("front")["readinessProbe"]["httpGet"]["path"]
    try:
        urllib.request.urlopen(f"http://{address}{path}", timeout=10).close()
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def test_the_hook_of_envoy_takes_it_out_of_the_service_while_it_still_answers(
    program: Callable[[str], str], two: list[Replica], expected: dict[str, str], tmp_path: Path
) -> None:
    hook = container("front")["lifecycle"]["preStop"]["exec"]["command"]
    with front(program("envoy"), tmp_path, two) as places:
        assert is_ready(places.telemetry)
        command = hook[-1].replace("/9901 ", f"/{places.admin} ").rpartition(" && sleep ")[0]
        subprocess.run([*hook[:-1], command], check=True, timeout=60)
        places.program.wait(lambda: not is_ready(places.telemetry))
        with Client(places.grpc) as client:
            for text, answer in expected.items():
                assert client.translate(text).text == answer
