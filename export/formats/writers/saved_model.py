"""Writer of a SavedModel, text in and text out, with tokenizer, greedy loop and beam search in the graph.

It needs only TensorFlow with tensorflow-text; TensorFlow Serving can serve the directory.

B batch, S source length, T target length, W width of the beam.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from export.artifact.golden import BEAM
from export.formats.writers.greedy_graph import Answers, answer_limits, greedy_answers
from export.formats.writers.step_graph import StepGraph
from export.formats.writers.text_graph import source_pieces, target_pieces
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.traced_search import reordered, repeated
from keras_transformer.models.encoder_decoder import PAD_ID
from keras_transformer.models.translation import DecodingState, TranslationModel
from keras_transformer.text.tokenizer import Tokenizer

TEXT = tf.TensorSpec([None], tf.string, name="text")
SOURCE = tf.TensorSpec([None, None], tf.int32, name="source")

Outputs = dict[str, Any]


def write_saved_model(model: TranslationModel, directory: Path) -> None:
    """Write saved_model.pb, variables/ and TensorFlow's other files into an existing directory.

    Raises:
        ValueError: If the model has no tokenizer.
    """
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ValueError("this model has no tokenizer: a SavedModel translates text.")
    # not the Keras model itself, which could not be loaded without Keras
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]
    module.end_id = tf.Variable(tokenizer.eos_id, trainable=False)
    module.max_length = tf.Variable(model.network.max_length, trainable=False)
    with _positions_once(model) as module.positions:
        graphs = _Graphs(model, tokenizer)
        module.tokenizers = [graphs.source, graphs.target]
        tf.saved_model.save(
            module,
            str(directory),
            signatures={
                "serving_default": _traced(graphs.translate, TEXT),
                "beam": _traced(graphs.beam, TEXT),
                "tokens": _traced(graphs.tokens, SOURCE),
                "align": _traced(graphs.align, TEXT),
                "encode": _traced(graphs.steps.encode, SOURCE),
                "step": tf.function(
                    graphs.steps.step, input_signature=graphs.steps.step_input, autograph=False
                ),
            },
        )


@contextmanager
def _positions_once(model: TranslationModel) -> Iterator[tf.Variable]:
    """Let the model read its positions from a variable: as a constant, every graph would contain a copy."""
    attributes = model.positions.__dict__  # not with setattr: Keras would track the variable
    table = attributes["table"]
    attributes["table"] = tf.Variable(table, trainable=False)
    try:
        yield attributes["table"]
    finally:
        attributes["table"] = table


def _traced(function: Any, given: Any) -> Any:
    """Trace one graph for every batch and every length."""
    return tf.function(function, input_signature=[given], autograph=False)


class _Graphs:
    """Functions of the signatures."""

    def __init__(self, model: TranslationModel, tokenizer: Tokenizer) -> None:
        self.model = model
        self.steps = StepGraph(model)
        self.source = source_pieces(tokenizer)
        self.target = self.source if tokenizer.joint else target_pieces(tokenizer)
        self.start_id, self.end_id = tokenizer.bos_id, tokenizer.eos_id
        self.longest = model.network.max_length
        self.answers = _traced(self._answers, SOURCE)  # one graph that the signatures share

    def translate(self, text: Any) -> Outputs:
        """Translate text (B,) -> translation (B,), score (B,), the mean log-probability of the tokens."""
        answers = self.answers(self._encoded(text))
        return {"translation": self._decoded(answers.target), "score": answers.score}

    def beam(self, text: Any) -> Outputs:
        """Translate text (B,) -> translation (B, W), score (B, W), the best first.

        The width is fixed: an input without a batch dimension would exclude TensorFlow Serving's row format,
        and its batching.
        """
        source, batch = self._encoded(text), tf.size(text)
        limits = answer_limits(source, self.end_id, self.model.network)
        longest = tf.reduce_max(tf.concat([limits, [0]], axis=0))
        state = repeated(self.model.encode(source, longest), BEAM)
        options = (batch, BEAM, longest, self.start_id, self.end_id)
        found = beam_search(self._step, reordered, state, *options, limits=limits)
        texts = self._decoded(tf.reshape(found.tokens, [batch * BEAM, longest]))
        return {
            "translation": tf.reshape(texts, [batch, BEAM]),
            "score": tf.where(tf.math.is_finite(found.scores), found.scores, 0.0),
        }

    def tokens(self, source: Any) -> Outputs:
        """Translate source (B, S) -> target (B, T), score (B,).

        A source ends with its first end id; the ids after it are ignored. They may be other than 0, because
        TensorFlow Serving cannot pad with 0 when it joins batches.
        """
        ends = tf.cast(source == self.end_id, tf.int32)
        behind = tf.cumsum(ends, axis=1, exclusive=True) > 0
        return self.answers(tf.where(behind, PAD_ID, source))._asdict()

    def align(self, text: Any) -> Outputs:
        """Translate text (B,), and align: translation, score, pieces (B, S) and (B, T), alignment (B, T, S).

        The alignment is the attention of each target piece, and of its end id, to each source piece; "" is no
        piece.
        """
        source = self._encoded(text)
        target, score = self.answers(source)
        start = tf.fill([tf.size(text), 1], self.start_id)
        given = tf.concat([start, target], axis=1)[:, :-1]
        _, attention = self.model.attend({"source": source, "target": given})
        # the layer and the mean that keras_transformer.decoding.scoring takes
        looks = tf.reduce_mean(attention.cross[-2:][0], axis=1)
        return {
            "translation": self._decoded(target),
            "score": score,
            "source_pieces": tf.where(source == PAD_ID, "", self.source.id_to_string(source)),
            "target_pieces": tf.where(target == PAD_ID, "", self.target.id_to_string(target)),
            "alignment": tf.where((target != PAD_ID)[..., None], looks, 0.0),
        }

    def _encoded(self, text: Any) -> Any:
        """(B,) -> (B, S) as Tokenizer.encode_source does it."""
        pieces = self.source.tokenize(text)[:, : self.longest - 1]
        end = tf.fill([tf.size(text), 1], self.end_id)
        return tf.concat([pieces, end], axis=1).to_tensor(PAD_ID)

    def _answers(self, source: Any) -> Answers:
        state = self.model.encode(source, 0)
        return greedy_answers(self._step, state, source, self.start_id, self.end_id, self.model.network)

    def _step(self, token: Any, position: Any, state: DecodingState) -> Any:
        # what is written at a position for all is compiled by XLA, and anew for each shape
        return self.model.step(token, position[None], state)

    def _decoded(self, target: Any) -> Any:
        """(B, T) -> (B,)."""
        said = tf.ragged.boolean_mask(target, (target != PAD_ID) & (target != self.end_id))
        return self.target.detokenize(said)
