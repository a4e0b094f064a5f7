"""The packages of the examples are named exactly, and no file says where they were fetched from."""

import json
import re
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES

DOCS = EXAMPLES.parent / "docs"

PACKAGES = json.loads((EXAMPLES / "package.json").read_bytes())["dependencies"]
LOCK = (EXAMPLES / "package-lock.json").read_text("utf-8")


def test_each_is_pinned_and_locked_with_its_sum() -> None:
    assert PACKAGES.keys() == {"onnxruntime-node", "onnxruntime-web"}
    locked = json.loads(LOCK)["packages"]
    for name, version in PACKAGES.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all("integrity" in each for path, each in locked.items() if path)


def test_the_lock_names_no_registry() -> None:
    assert "resolved" not in LOCK
    assert "registry" not in LOCK
    assert "omit-lockfile-registry-resolved=true" in (EXAMPLES / ".npmrc").read_text("utf-8")


@pytest.mark.parametrize(
    "page", [EXAMPLES / "README.md", DOCS / "how-to" / "other-runtimes.md"], ids=lambda page: page.name
)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []
    programs = re.findall(r"(?:node|python) (?:examples/)?((?:node|python)/\S+)", text)
    assert programs
    assert [program for program in programs if not (EXAMPLES / program).exists()] == []
