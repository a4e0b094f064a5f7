"""Which tests `make test-fast` leaves out: those that start processes, train, export, or open a browser.

A test is slow by what it uses, so that no test has to be marked: a fixture or an import from the lists
below, or its folder.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT

FOLDERS = ("benchmarks", "deploy", "docs", "end_to_end", "examples", "keras_transformer/training")
FIXTURES = {"shared", "browser", "together"}  # an exported version; Chromium; all layers compiled
IMPORTS = (
    "subprocess",
    "export.exporter",
    "export.formats.writers",
    "tests.support.deploy",
    "tests.support.fork_server",
    "tests.support.keras_exports",
    "tests.support.serving.serve_process",
    "tests.support.versions",
)


def is_slow(item: pytest.Item) -> bool:
    """Return whether a test is left out by `make test-fast`."""
    folder = item.path.parent.relative_to(ROOT / "tests").as_posix()
    return (
        any(folder == slow or folder.startswith(f"{slow}/") for slow in FOLDERS)
        or not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        or _imports_slow(item.path)
    )


@cache
def _imports_slow(module: Path) -> bool:
    names = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return any(name == slow or name.startswith(f"{slow}.") for name in names for slow in IMPORTS)
