"""The example of docs/how-to/train.md runs as it is shown, and learns."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import fork_server
from tests.support.small_training import small_tiny

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "train.md").read_text("utf-8")


def test_the_example_trains_on_pairs_of_texts_and_translates_in_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    training, translating = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"__name__": "training"}
    with small_tiny():
        exec(compile(training, "docs/how-to/train.md", "exec"), names)
    losses = names["history"].history
    assert losses["loss"] == sorted(losses["loss"], reverse=True)
    assert losses["val_loss"][-1] < losses["val_loss"][0]
    done = fork_server.run(
        [sys.executable, "-c", translating], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\['.*'\]\n", done.stdout)


def test_every_option_that_is_named_is_one_of_the_command() -> None:
    import argparse

    from keras_transformer.cli.train import configure

    parser = argparse.ArgumentParser()
    configure(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) - {"--json"} <= options
