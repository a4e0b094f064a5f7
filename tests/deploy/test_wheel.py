"""The wheel is what the image is made of: all that the packages need is in it, and nothing else."""

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from export.artifact.manifest import open_version
from keras_transformer import __version__
from tests.support.paths import ROOT

PACKAGES = ("keras_transformer", "export", "serving")
MEGABYTES = 400  # of an environment that serves


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of what .dockerignore lets into the image, in a place of its own."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        if line.startswith("!"):
            each = ROOT / line[1:]
            copy = shutil.copytree if each.is_dir() else shutil.copy
            copy(each, source / each.name)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(made)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, str(source)], check=True, timeout=120)
    (wheel,) = made.iterdir()
    return wheel


def test_the_wheel_has_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    expected = {line for line in tracked.stdout.splitlines() if not line.startswith("serving/deploy/")}
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert there == expected


def test_it_is_named_as_no_other_project_is_and_asks_for_nothing_by_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    assert (metadata["Name"], metadata["Version"]) == ("keras-transformer-serving", __version__)
    asked = metadata.get_all("Requires-Dist") or []
    assert [each for each in asked if "extra ==" not in each] == []


@pytest.mark.timeout(900)
def test_an_empty_environment_with_the_extra_serve_alone_serves(
    wheel: Path, exported: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60)
    python = str(tmp_path / "venv/bin/python")
    install = ["--quiet", "--constraint", str(ROOT / "constraints.txt"), f"{wheel}[serve]"]
    command = [sys.executable, "-m", "pip", "--python", python, "install", *install]
    subprocess.run(command, check=True, timeout=600)
    files = [each for each in (tmp_path / "venv").rglob("*") if not each.is_symlink()]
    size = sum(each.stat().st_blocks for each in files) * 512 / 1e6
    print(f"\nthe environment has {size:.0f} MB")
    assert size < MEGABYTES

    command = [str(tmp_path / "venv/bin/keras-transformer"), "serve", str(exported), "--port", "0"]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        [*command, "--http-port", "none"], cwd=tmp_path, env=bare, stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout
            address = served.stdout.readline().rpartition(" ")[2].strip()
            ask = [command[0], "translate", f"grpc://{address}"]
            sentence = open_version(exported).golden[0].source
            said = subprocess.run(
                ask, input=sentence, env=bare, capture_output=True, text=True, timeout=60, check=True
            )
            assert said.stdout.strip()
        finally:
            served.terminate()
        assert served.wait(timeout=60) == 0
