"""The README shows code that runs, and links to what is there."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_first_example_runs_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[0]
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    shown = re.search(r"# (\(1, 2\))$", example, re.MULTILINE)
    assert shown
    assert capsys.readouterr().out.strip() == shown[1]


def test_the_first_example_gives_numbers_for_a_row_that_is_all_padding() -> None:
    example = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[0]
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example, "README.md", "exec"), names)

    assert np.isfinite(names["model"].predict(np.array([[5, 7], [0, 0]]), verbose=0)).all()


def test_every_link_and_picture_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
