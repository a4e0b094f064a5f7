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


@pytest.mark.parametrize(
    ("page", "printed", "least"),
    [
        ("language-model.md", "written words that are in the corpus: (.*)", 0.8),
        ("summaries.md", "held-out summaries right: (.*)", 0.9),
    ],
)
def test_a_model_that_generates_text_learns_to(
    page: str,
    printed: str,
    least: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks(page)), f"docs/tutorials/{page}", "exec"), {"__name__": "tutorial"})
    found = re.search(printed, capsys.readouterr().out)
    assert found and float(found[1]) > least


#: What a page prints before an accuracy, and what chance reaches.
ACCURACIES = {
    "text-classifier.md": {"held-out reviews right": 1 / 2},
    "ulmfit.md": {"held-out messages right": 1 / 2},
    "image-classifier.md": {"held-out images right": 1 / 4, "new classes right": 1 / 2},
}


@pytest.mark.parametrize("page", ACCURACIES)
def test_a_classifier_learns_what_chance_cannot_reach(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks(page)), page, "exec"), {"__name__": "tutorial"})
    printed = capsys.readouterr().out
    for name, chance in ACCURACIES[page].items():
        accuracy = re.search(f"{name}: (.*)", printed)
        assert accuracy and float(accuracy[1]) > max(0.9, chance)
    if page == "text-classifier.md":
        assert re.search(r"\[\[\('was', 0\.9", printed)
        assert printed.endswith("['positive']\n")
