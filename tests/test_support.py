"""What tests share is in tests/support: no test module is a library of another."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.once import made_once
from tests.support.paths import ROOT

MODULES = sorted((ROOT / "tests").rglob("*.py"))
SHARED = "tests.support"


def imported(module: Path) -> Iterator[str]:
    """Each module that a file imports, also inside a function."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_shared(name: str) -> bool:
    return name == SHARED or name.startswith(f"{SHARED}.")


def test_no_test_module_imports_another() -> None:
    found = [
        f"{module.relative_to(ROOT)} imports {name}"
        for module in MODULES
        for name in imported(module)
        if name.split(".")[0] in ("tests", "") and not is_shared(name)
    ]
    assert found == []


def test_helpers_lie_in_the_folder_of_helpers_and_each_has_a_name_of_its_own() -> None:
    helpers = [path for path in MODULES if not path.name.startswith(("test_", "conftest", "record_"))]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in helpers}
    assert [path for path, name in names.items() if not is_shared(name)] == []
    assert [name for name, count in Counter(path.name for path in helpers).items() if count > 1] == []


def test_what_is_shared_is_made_once_however_many_ask_at_the_same_time(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("whole")

    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: made_once(tmp_path / "shared" / "one", make), range(8)))
    assert len(made) == 1
    assert {(folder / "file").read_text() for folder in folders} == {"whole"}


def test_what_was_not_finished_is_made_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise OSError

    with pytest.raises(OSError):
        made_once(tmp_path / "one", fail)
    assert list(made_once(tmp_path / "one", lambda folder: (folder / "whole").write_text("")).iterdir()) == [
        tmp_path / "one" / "whole"
    ]


def test_the_fast_tests_leave_out_whatever_the_tests_leave_out() -> None:
    usual = re.search(r"-m '([^']+)'\"", (ROOT / "pyproject.toml").read_text())
    fast = re.search(r"pytest .* -m '(not slow[^']*)'", (ROOT / "Makefile").read_text())
    assert usual and fast
    assert fast[1].split(" and ")[0] == "not slow"
    assert set(usual[1].split(" and ")) < set(fast[1].split(" and "))
