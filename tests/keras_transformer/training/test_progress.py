"""What a run shows of its progress."""

import pytest

from keras_transformer import progress_bar
from keras_transformer.training.progress import ProgressBar


def test_steps_of_several_batches_are_counted_from_where_the_run_stood(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_bar, "LOG_EVERY", 0.0)  # every line that could be written is
    progress = ProgressBar(steps=1200, done=1000, tokens_per_step=500.0, every=2)
    progress.on_train_begin()
    for batch in range(5):
        progress.on_train_batch_end(batch, {"loss": 10.0 - batch})
    capsys.readouterr()
    progress.bar.refresh()
    progress.say("step 1,002: scores")
    progress.close()
    shown, said = capsys.readouterr().err.splitlines()[:2]
    assert shown.startswith("step 1,002/1,200 ")
    assert "left, loss 7.000, " in shown  # of the fourth batch, which ended the step
    assert shown.endswith(" tokens/s")
    assert said == "step 1,002: scores"
