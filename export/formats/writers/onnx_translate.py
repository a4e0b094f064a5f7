"""Writer of translate.onnx: ids in, ids out, with the whole greedy loop inside.

One call from any ONNX Runtime binding translates a batch.

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
    """Write the graph source (B, S), padded with 0 -> target (B, L), score (B,).

    Each target row ends with its end id, then 0. The score is the mean log-probability of its tokens. A
    source that holds only its end id has no answer: zeros, and the score 0.
    """
    translate_graph(model).write(path)


def translate_graph(model: TranslationModel) -> Converted:
    """Return the graph of the file."""
    start_id, end_id = start_and_end(model)

    def translated(source: Any) -> Answers:
        # a source without tokens gets a padding token, because a reshape could not infer the batch
        rows, length = tf.unstack(tf.shape(source))
        padding = tf.zeros([rows, tf.cast(length == 0, tf.int32)], tf.int32)
        source = tf.concat([source, padding], axis=1)
        # no transposed embedding here: ONNX Runtime prepares constant matrices itself
        state = model.encode(source, 0)._replace(output=())
        return greedy_answers(model.step, state, source, start_id, end_id, model.network)

    return from_tensorflow(model, "translate", translated, [SOURCE], [TARGET, SCORE])
