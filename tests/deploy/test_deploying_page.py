"""docs/how-to/deploy.md: what it shows is taken by those for whom it is."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from serving import Client
from tests.support.deploy.front import Config, front
from tests.support.deploy.replica import Replica
from tests.support.paths import ROOT

Program = Callable[[str], str]

PAGE = ROOT / "docs/how-to/deploy.md"
BLOCKS: list[str] = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_with_the_lines_that_it_shows_envoy_speaks_tls(
    program: Program, two: list[Replica], expected: dict[str, str], tmp_path: Path
) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    leaf.private_key_pem.write_to_path(tmp_path / "server-key.pem")
    for each in leaf.cert_chain_pems:
        each.write_to_path(tmp_path / "server.pem", append=True)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    (lines,) = (each for each in BLOCKS if each.startswith("transport_socket:"))

    def encrypted(bootstrap: Config, clusters: Config) -> None:
        (chain,) = bootstrap["static_resources"]["listeners"][0]["filter_chains"]
        chain |= yaml.safe_load(lines.replace("/etc/certs", str(tmp_path)))

    with (
        front(program("envoy"), tmp_path, two, encrypted) as places,
        Client(places.grpc, tls=tmp_path / "ca.pem") as client,
    ):
        for text, answer in expected.items():
            assert client.translate(text).text == answer


def test_a_replica_more_is_there_when_the_file_of_the_clusters_is_replaced(
    program: Program, two: list[Replica], tmp_path: Path
) -> None:
    whole: dict[str, Any] = {}

    def one(bootstrap: Config, clusters: Config) -> None:
        whole["text"] = yaml.safe_dump(clusters)
        for cluster in clusters["resources"]:
            del cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]

    with front(program("envoy"), tmp_path, two, one, there=1) as places:
        (tmp_path / "new").write_text(whole["text"], "utf-8")
        (tmp_path / "new").replace(tmp_path / "clusters.yaml")
        until = time.monotonic() + 60
        while places.healthy() < 2:
            assert time.monotonic() < until


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE.read_text("utf-8")))))
def test_every_link_leads_somewhere(target: str) -> None:
    path, _, anchor = target.partition("#")
    page = (PAGE.parent / path) if path else PAGE
    assert page.exists()
    if anchor:
        heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
        assert anchor in [each.lower().replace(" ", "-") for each in heads]
