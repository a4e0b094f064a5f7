"""Runtime for a SavedModel, on TensorFlow with tensorflow-text, without Keras."""

from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  (without its operators the graph does not load)

from keras_transformer.inference.answer import Answer
from keras_transformer.text.lengths import by_length, check_lengths, like_lengths
from keras_transformer.text.padding import padded, without_padding
from keras_transformer.text.tokenizer_training import whole

BATCH_TOKENS = 2048  # of source, padding included
BATCH_BYTES = 4 * BATCH_TOKENS
BEAM_BATCH_BYTES = 512  # the cache of a beam has room for the longest answer from the start
OUTPUTS = ("translation", "score")


class SavedModelRuntime:
    """Translation of token ids or texts with the signatures of a SavedModel."""

    def __init__(self, directory: Path) -> None:
        self._loaded = tf.saved_model.load(str(directory))
        self._end_id, self._longest = int(self._loaded.end_id), int(self._loaded.max_length)

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Translate rows of source ids, each with its end id, in their order."""
        check_lengths(rows, self._longest)
        answers = [Answer([], 0.0)] * len(rows)
        for indices in like_lengths(rows, BATCH_TOKENS, self._end_id):
            source = tf.constant(padded([rows[index] for index in indices]))
            outputs = self._loaded.signatures["tokens"](source=source)
            scores = outputs["score"].numpy().tolist()
            for index, ids, score in zip(indices, outputs["target"].numpy().tolist(), scores, strict=True):
                answers[index] = Answer(without_padding(ids), score)
        return answers

    def translate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the translations of texts with their scores, in their order."""
        return self._translated("serving_default", texts, BATCH_BYTES)

    def translate_with_beam(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the best translations by the beam with their scores, in their order."""
        return self._translated("beam", texts, BEAM_BATCH_BYTES)

    def _translated(self, signature: str, texts: Sequence[str], batch_bytes: int) -> list[tuple[str, float]]:
        encoded = [whole(text).encode() for text in texts]
        answers = [("", 0.0)] * len(encoded)
        for indices in by_length(list(map(len, encoded)), batch_bytes):
            text = tf.constant([encoded[index] for index in indices])
            outputs = self._loaded.signatures[signature](text=text)
            best = ([part[0] for part in outputs[name].numpy().reshape(len(indices), -1)] for name in OUTPUTS)
            for index, translation, score in zip(indices, *best, strict=True):
                answers[index] = (translation.decode(), float(score))
        return answers
