"""The examples learn what chance cannot and stay short; the code of docs/how-to/compose-layers.md runs."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))


def blocks(page: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (DOCS / "how-to" / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


# What guessing gets: one of two answers; the letters of the shortest words, four, in one of 4! orders; one of
# four shapes.
CHANCE = {"text_classifier": 1 / 2, "language_model": 1 / 24, "vision_transformer": 1 / 4}


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES} == CHANCE.keys()


@pytest.mark.parametrize("name", CHANCE)
def test_an_example_learns_what_chance_cannot_reach(name, capsys):
    accuracy = runpy.run_path(str(DOCS / "examples" / f"{name}.py"))["main"]()
    assert accuracy > 0.95 > CHANCE[name] + 0.4
    assert f"{accuracy:.3f}; chance: " in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_at_most_forty_lines(path):
    assert sum(bool(line.strip()) for line in path.read_text("utf-8").splitlines()) <= 40


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_uses_public_names_only(path):
    imports = re.findall(r"^(?:import|from) (.*)$", path.read_text("utf-8"), re.MULTILINE)
    assert imports
    assert all(re.match(r"keras$|numpy as np$|keras_transformer import [A-Z]", line) for line in imports)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_document_shows_the_example_whole(path):
    assert path.read_text("utf-8") in blocks("model-examples.md")


def test_the_page_shows_the_examples_and_no_other_code():
    assert len(blocks("model-examples.md")) == len(EXAMPLES)


def test_what_the_document_says_holds():
    names: dict[str, object] = {"__name__": "composing"}
    snippets = blocks("compose-layers.md")
    assert len(snippets) == 10
    for snippet in snippets:
        exec(compile(snippet, "docs/how-to/compose-layers.md", "exec"), names)
