"""What the examples need: Node, their packages, an exported version, and a static server for the page."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES
from tests.support.needed import missing, program
from tests.support.versions.small_model import exported_once


@pytest.fixture(scope="session")
def node() -> str:
    """Node's program."""
    return program("node")


@pytest.fixture(scope="session")
def packages() -> Path:
    """Where npm has put the examples' packages."""
    installed = EXAMPLES / "node_modules"
    if not (installed / "onnxruntime-web").is_dir():
        missing("onnxruntime-web", "run npm ci --ignore-scripts in examples")
    return installed


@pytest.fixture(scope="session")
def version(shared: Path) -> Path:
    """An exported version of a small model, with one vocabulary for both sides."""
    return exported_once(shared / "joint-64", "models/fr-en/1", "onnx", max_length=64)


@pytest.fixture(scope="session")
def separate(shared: Path) -> Path:
    """The same with a vocabulary for each."""
    return exported_once(shared / "separate-64", "models/fr-en/1", "onnx", joint=False, max_length=64)


@pytest.fixture(scope="session", params=["version", "separate"])
def either(request: pytest.FixtureRequest) -> Path:
    """One of these, then the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A static server as anyone has one: its address, and the folder that it serves."""
    served = tmp_path / "served"
    served.mkdir()
    command = [
        sys.executable,
        "-u",
        "-m",
        "http.server",
        "0",
        "--bind",
        "127.0.0.1",
        "--directory",
        str(served),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout
        address = re.search(r"http://\S+/", server.stdout.readline())
        assert address
        yield address[0], served
    finally:
        server.terminate()
        server.communicate()
