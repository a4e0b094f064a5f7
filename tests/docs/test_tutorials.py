"""The tutorials run as they are shown."""

import re
import sys
from pathlib import Path

import pytest

from tests.support import fork_server

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


def blocks(name: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (TUTORIALS / name).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


def test_the_first_model_learns_and_is_loaded_in_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    *training, loading = blocks("layers.md")

    exec(compile("\n".join(training), "docs/tutorials/layers.md", "exec"), {"__name__": "tutorial"})
    accuracy = re.search(r"held-out sequences right: (.*)", capsys.readouterr().out)
    assert accuracy and float(accuracy[1]) > 0.95

    done = fork_server.run(
        [sys.executable, "-c", loading], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "[[ True]]\n", done.stderr
