"""What tests share is in tests/support: no test module is a library of another."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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
