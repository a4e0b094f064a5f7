"""Training with one layer a side under the name of the preset tiny, so that a run costs a second or two.

What a test of training looks at (files, steps, checkpoints, ends) depends on no size. As a process:
`python -m tests.support.small_training train ...`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keras_transformer.models.network import PRESETS

ACTIVATION = "SMALL_TRAINING_ACTIVATION"
ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1, "width": 64, "inner_width": 128, "num_heads": 2}


@contextmanager
def small_tiny() -> Iterator[None]:
    """The preset tiny has one layer a side meanwhile, and the activation that the environment names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "tiny", {**ONE_LAYER, "activation": os.environ.get(ACTIVATION, "relu")})
        yield


def between_model_and_checkpoint(run: Path) -> int:
    """Return a file size that the model of a run is below, and each of its checkpoints above."""
    model = (run / "model.keras").stat().st_size
    checkpoint = min(path.stat().st_size for path in (run / "checkpoints").glob("step-*.npz"))
    assert 2 * model < checkpoint
    return (model + checkpoint) // 2


if __name__ == "__main__":
    from keras_transformer.__main__ import command

    with small_tiny():
        command()
