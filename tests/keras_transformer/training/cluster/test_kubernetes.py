"""The Job for Kubernetes: valid by its schemas, and its pods are the workers of one training."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from keras_transformer.cli import program
from keras_transformer.training.cluster.worker_addresses import workers_of
from tests.support.paths import ROOT

TEXT = (ROOT / "examples/kubernetes/train.yaml").read_text("utf-8")
DOCUMENTS: dict[str, Any] = {document["kind"]: document for document in yaml.safe_load_all(TEXT)}
JOB = DOCUMENTS["Job"]["spec"]
POD = JOB["template"]["spec"]
(CONTAINER,) = POD["containers"]


@pytest.mark.parametrize("kind", ["Service", "NetworkPolicy", "Job"])
def test_a_manifest_is_valid_by_the_published_schema(kind: str) -> None:
    kubernetes_validate.validate(DOCUMENTS[kind], kubernetes_validate.latest_version(), strict=True)


def test_every_pod_knows_all_of_them_and_its_own_rank() -> None:
    names = {variable["name"]: variable for variable in CONTAINER["env"]}
    assert "job-completion-index" in names["RANK"]["valueFrom"]["fieldRef"]["fieldPath"]
    service, job = (DOCUMENTS[kind]["metadata"]["name"] for kind in ("Service", "Job"))
    assert JOB["completionMode"] == "Indexed"
    assert JOB["parallelism"] == JOB["completions"]
    for rank in range(JOB["completions"]):
        config = names["TF_CONFIG"]["value"].replace("$(RANK)", str(rank))
        workers = workers_of(None, None, {"TF_CONFIG": config})
        assert (workers.rank, workers.size) == (rank, JOB["completions"])
        # a pod of an Indexed Job is called JOB-INDEX, and the headless Service has a name for it
        assert workers.addresses[rank] == f"{job}-{rank}.{service}:{CONTAINER['ports'][0]['containerPort']}"
    assert POD["subdomain"] == service
    assert DOCUMENTS["Service"]["spec"]["clusterIP"] == "None"
    assert DOCUMENTS["Service"]["spec"]["publishNotReadyAddresses"] is True


def test_only_the_workers_may_connect_to_a_worker() -> None:
    labels = JOB["template"]["metadata"]["labels"]
    assert DOCUMENTS["Service"]["spec"]["selector"] == labels
    policy = DOCUMENTS["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["ingress"] == [{"from": [{"podSelector": {"matchLabels": labels}}]}]


@pytest.mark.parametrize("begun", [False, True])
def test_a_pod_begins_the_run_or_continues_it(begun: bool, tmp_path: Path) -> None:
    (tmp_path / "keras-transformer").write_text(f'#!/bin/sh\nexec {sys.executable} -c "$CODE" "$@"\n')
    (tmp_path / "keras-transformer").chmod(0o755)
    if begun:
        (tmp_path / "run.json").touch()
    (script,) = CONTAINER["args"]
    shown = subprocess.run(
        [*CONTAINER["command"], script.replace("/data/run/", f"{tmp_path}/")],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "CODE": "import sys; print(*sys.argv[1:])",
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    arguments = program()[0].parse_args(shown.split())
    assert str(arguments.run) == "/data/run"
    assert arguments.resume is begun
    assert re.search(r"mountPath: /data\n", TEXT)
