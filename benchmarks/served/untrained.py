"""A version of a model that has learned nothing, but ends its answers after some time."""

from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY, SENTENCES, LATE = 8000, 400, 80
END_SAID = 3.3  # how loudly: with it the answers of preset small have about as many tokens as a sentence


def export_untrained(preset: str, directory: Path) -> None:
    """ONNX at float32 and int8, and CTranslate2; golden sentences of words that nobody says.

    The end is what points to late positions, so that it grows likelier with each token, sooner for one source
    than for another. Else random weights say one token until they may say no more.
    """
    import keras

    from export.card import Pairs
    from export.golden_sentences import Chosen, Sentence
    from export.manifest import LearnedLengths
    from export.request import Origin, Request
    from export.version import export_version
    from keras_transformer import Tokenizer, TranslationModel
    from keras_transformer.text.corpus import Pair

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(20_000)]
    keras.utils.set_random_seed(1)
    model = TranslationModel.from_preset(
        preset, tokenizer=Tokenizer.train([Pair(word, word) for word in words], VOCABULARY)
    )
    _let_it_end(model)
    counts = np.clip(rng.lognormal(2.0, 0.5, SENTENCES).round().astype(int), 1, 40)
    sentences = [Sentence(" ".join(rng.choice(words, count))) for count in counts]
    lengths = LearnedLengths(0, 200, 0)
    origin = Origin("nothing", Pairs(SENTENCES, SENTENCES), lengths)
    request = Request(("onnx", "ctranslate2"), quantize="int8")
    export_version(
        model, directory, request, Chosen(sentences, sentences[:32]), origin, tell=lambda line: None
    )


def _let_it_end(model: Any) -> None:
    positions = np.array(model.positions.table)
    later = positions[LATE] - positions[0]
    embeddings = model.target_embedding.embeddings.numpy()
    usual = np.linalg.norm(embeddings, axis=1).mean()
    embeddings[model.tokenizer.eos_id] = END_SAID * usual * later / np.linalg.norm(later)
    model.target_embedding.embeddings.assign(embeddings)
