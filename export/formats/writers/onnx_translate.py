"""translate.onnx: ids in, ids out, the whole greedy loop inside. One call from any ONNX Runtime.

B batch, S source length, L answer length.
"""

from pathlib import Path
from typing import Any

import tensorflow as tf

from export.formats.tf2onnx_graphs.convert import Converted, Value, from_tensorflow, start_and_end
from export.formats.writers.greedy_graph import Answers, greedy_answers
from keras_transformer.models.translation import TranslationModel

SOURCE = Value("source", tf.int32, ("batch", "source_length"))
TARGET = Value("target", tf.int32, ("batch", "target_length"))
SCORE = Value("score", tf.float32, ("batch",))


def write_translate_onnx(model: TranslationModel, path: Path) -> None:
    """source (B, S), padded with 0 -> target (B, L), each up to and with its end, then 0, and score (B,).

    The score is the mean log-probability of the answer's tokens. A source that is nothing but its end has
    none: zeros, and the score 0.
    """
    translate_graph(model).write(path)


def translate_graph(model: TranslationModel) -> Converted:
    """Return the graph of the file."""
    start_id, end_id = start_and_end(model)

    def translated(source: Any) -> Answers:
        # of a source without tokens a reshape could not infer the batch: it gets one of padding
        rows, length = tf.unstack(tf.shape(source))
        padding = tf.zeros([rows, tf.cast(length == 0, tf.int32)], tf.int32)
        source = tf.concat([source, padding], axis=1)
        # ONNX Runtime itself lays out a matrix that is constant: the embedding need not be turned round here
        state = model.encode(source, 0)._replace(output=())
        return greedy_answers(model.step, state, source, start_id, end_id, model.network)

    return from_tensorflow(model, "translate", translated, [SOURCE], [TARGET, SCORE])
