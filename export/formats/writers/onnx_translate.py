"""Writer of translate.onnx, a graph from source ids to target ids that contains the whole greedy loop.

One call translates a batch, in any language for which ONNX Runtime has a binding.

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
    """Write the graph. Its input is source (B, S), padded with 0; its outputs: target (B, L), score (B,).

    A row of target is an answer up to and including its end id, then 0. Its score is the mean log-probability
    of its tokens. A source that holds only its end id has no answer: its row of target and its score are 0.
    """
    translate_graph(model).write(path)


def translate_graph(model: TranslationModel) -> Converted:
    """Return the graph that `write_translate_onnx` writes."""
    start_id, end_id = start_and_end(model)

    def translated(source: Any) -> Answers:
        # if S is 0, append a padding token: a reshape cannot infer the batch of an empty tensor
        rows, length = tf.unstack(tf.shape(source))
        padding = tf.zeros([rows, tf.cast(length == 0, tf.int32)], tf.int32)
        source = tf.concat([source, padding], axis=1)
        # output=() leaves out the transposed embedding: ONNX Runtime itself prepares constant matrices
        state = model.encode(source, 0)._replace(output=())
        return greedy_answers(model.step, state, source, start_id, end_id, model.network)

    return from_tensorflow(model, "translate", translated, [SOURCE], [TARGET, SCORE])
