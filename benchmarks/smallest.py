"""What --smoke measures with: the smallest network, an untrained model and a small corpus.

As a program it is `keras-transformer` whose preset tiny is the smallest network, and whose functions are not
traced: TensorFlow would take longer for that than for a training of a few steps.
"""

import sys
from pathlib import Path
from typing import Any

PRESET = "smallest"  # of a network, beside the presets of the product
NETWORK = {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "inner_width": 16, "num_heads": 2}
RECURRENT = {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "units": (16, 16)}
PIECES, PAIRS = 600, 120
COMMAND = [sys.executable, "-P", __file__]  # -P: benchmarks/serving.py is not the package


def network(preset: str) -> Any:
    """Return the network of a preset, the smallest one included."""
    from keras_transformer.models.network import Network

    return Network.from_preset("tiny", **NETWORK) if preset == PRESET else Network.from_preset(preset)


def untrained(preset: str, tokenizer: Any) -> Any:
    """Return a model with random weights, of the same seed each time."""
    import keras

    from keras_transformer import TranslationModel

    keras.utils.set_random_seed(1)
    target = None if tokenizer.joint else tokenizer.target_size
    model = TranslationModel(network(preset), tokenizer.source_size, target, tokenizer)
    model.build()
    return model


def write_model(path: Path) -> None:
    """Write an untrained French-English model of the smallest network."""
    from keras_transformer import Tokenizer
    from keras_transformer.phrasebook import phrasebook

    pairs = list(phrasebook("fr-en", "train", PAIRS))
    tokenizer = Tokenizer.train(pairs, PIECES, source_lang="fr", target_lang="en")
    untrained(PRESET, tokenizer).save(path)


def write_texts(source: Path, target: Path, direction: str = "fr-en", split: str = "test") -> None:
    """Write pairs of the phrasebook into two files, a sentence a line."""
    from keras_transformer.phrasebook import phrasebook

    pairs = list(phrasebook(direction, split, PAIRS))
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")


def shrink_presets() -> None:
    """Make the preset tiny of each architecture the smallest network, in this process."""
    from keras_transformer.models.network import PRESETS
    from keras_transformer.models.recurrent_network import RECURRENT_PRESETS

    PRESETS["tiny"], RECURRENT_PRESETS["tiny"] = NETWORK, RECURRENT


if __name__ == "__main__":
    import tensorflow as tf

    from keras_transformer.__main__ import command

    shrink_presets()
    tf.config.run_functions_eagerly(True)
    command()
