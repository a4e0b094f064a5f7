"""The Dockerfile builds on a base that is made here, and what it makes serves: `make test-image`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from serving import Client
from tests.support.deploy.programs import free
from tests.support.deploy.replica import options
from tests.support.paths import ROOT

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]

Program = Callable[[str], str]
BASE = "localhost/bookworm-python"
IMAGE = "localhost/keras-transformer-serving"
INSTALLED = """
import importlib.metadata as metadata, json
print(json.dumps({each.name: each.requires or [] for each in metadata.distributions()}))
"""


class Buildah:
    """With a storage of its own."""

    def __init__(self, program: str, storage: Path) -> None:
        places = ["--root", str(storage / "root"), "--runroot", str(storage / "run")]
        self.command = [program, *places, "--storage-driver", "vfs"]

    def __call__(self, *arguments: object) -> str:
        command = [*self.command, *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def inspect(self, image: str) -> dict[str, Any]:
        return dict(json.loads(self("inspect", "--type", "image", image)))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that pip wants while the image is made: nothing is fetched then."""
    directory = tmp_path_factory.mktemp("wheels")
    wanted = ["--constraint", "constraints.txt", ".[serve]", "setuptools"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(directory), *wanted]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    return directory


@pytest.fixture(scope="module")
def buildah(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """It has the base: Debian's bookworm with its Python, from where this machine has its packages."""
    if os.geteuid() != 0:
        pytest.skip("debootstrap and buildah's chroot want root")
    directory = tmp_path_factory.mktemp("buildah")
    made = Buildah(program("buildah"), directory)
    root = directory / "bookworm"
    packages = "--include=python3,python3-venv,python3-pip"
    command = [program("debootstrap"), "--variant=minbase", packages, "bookworm", str(root), *mirror()]
    subprocess.run(command, check=True, timeout=900, stdout=subprocess.DEVNULL)
    shutil.rmtree(root / "var/cache/apt")
    container = made("from", "scratch")
    made("add", container, root)
    made("commit", "--rm", container, BASE)
    yield made
    shutil.rmtree(directory)


def mirror() -> list[str]:
    """The one that apt uses here; none is debootstrap's own."""
    asked = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return found[:1]


@pytest.fixture(scope="module")
def container(buildah: Buildah, wheels: Path, exported: Path) -> str:
    """Of the image, with the models."""
    begun = time.monotonic()
    buildah(
        "bud",
        *("--isolation", "chroot", "--format", "docker", "--pull-never"),
        *("--build-arg", f"BASE={BASE}"),
        *("--build-arg", "PIP_NO_INDEX=1", "--build-arg", "PIP_FIND_LINKS=/wheels"),
        *("--volume", f"{wheels}:/wheels:ro", "--file", "serving/deploy/Dockerfile", "--tag", IMAGE),
        ".",
    )
    base, image = (_size(buildah, name) for name in (BASE, IMAGE))
    print(f"\nbuilt in {time.monotonic() - begun:.0f} s: {image} MB, of which {base} are the base's")
    return buildah("from", "--pull-never", "--volume", f"{exported.parents[1]}:/models:ro", IMAGE)


def test_the_image_has_what_the_extra_serve_says_and_nothing_more(buildah: Buildah, container: str) -> None:
    said = buildah("run", "--isolation", "chroot", container, "--", "python", "-I", "-c", INSTALLED)
    installed = {canonicalize_name(name): requires for name, requires in json.loads(said).items()}
    wanted, open_ = set(), [("keras-transformer-serving", "serve")]
    while open_:
        name, extra = open_.pop()
        wanted.add(name)
        for each in map(Requirement, installed[name]):
            needed = canonicalize_name(each.name)
            if needed not in wanted and (each.marker is None or each.marker.evaluate({"extra": extra})):
                open_ += [(needed, one) for one in each.extras or ("",)]
    assert set(installed) == wanted


def test_it_is_nobody_who_serves_and_the_models_are_not_his_to_change(
    buildah: Buildah, container: str
) -> None:
    def run(script: str) -> str:
        return buildah("run", "--isolation", "chroot", container, "--", "sh", "-c", script)

    assert run("id -u") == "10001"
    assert (
        run("touch /models/x /opt/serve/x /x 2>/dev/null || find / -xdev -writable -type f | head -1") == ""
    )


def test_it_serves_and_goes_when_it_is_told_to_and_tells_nobody_of_it(
    buildah: Buildah, container: str, tmp_path: Path
) -> None:
    config = buildah.inspect(IMAGE)["Docker"]["config"]
    port, http_port = free(), free()
    where = ["--host", "127.0.0.1", "--port", str(port), "--http-port", str(http_port)]
    inside = [*config["Entrypoint"], "/models", *options(), *where]
    asked = ["run", "--isolation", "chroot", "--network", "host", container, "--"]
    script = ["sh", "-c", 'echo $$ && exec "$@"', "sh"]
    command = [*buildah.command, *asked, *script, *inside]
    log = tmp_path / "log"
    with (
        log.open("wb") as err,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True) as process,
    ):
        assert process.stdout
        number = int(process.stdout.readline())
        try:
            assert process.stdout.readline() == f"serving on 127.0.0.1:{port}\n"
            with Client(f"127.0.0.1:{port}") as client:
                assert client.translate("Bonjour.").model == "fr-en"
            urllib.request.urlopen(f"http://127.0.0.1:{http_port}/languages", timeout=10).close()
            kind, *check = config["Healthcheck"]["Test"]
            assert kind == "CMD"
            moved = [each.replace(":8080/", f":{http_port}/") for each in check]
            buildah(*asked, *moved)
        finally:
            os.kill(number, signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert "ORT_DISABLE_TELEMETRY=1" in config["Env"]
    assert "telemetry" not in log.read_text()
    loggers = {json.loads(line)["logger"].partition(".")[0] for line in log.read_text().splitlines()}
    assert loggers == {"serving"}


def _size(buildah: Buildah, image: str) -> int:
    """MB, unpacked."""
    container = buildah("from", "--pull-never", image)
    root = Path(buildah("mount", container))
    blocks = sum(each.lstat().st_size for each in root.rglob("*"))
    buildah("rm", container)
    return round(blocks / 1e6)
