"""Answers of the model to the golden sentences.

B batch, S source length, T target length, V target vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from export.artifact.golden import Golden
from export.golden_sentences import SourceSentence
from keras_transformer.decoding.traced_search import Loop, Search, search_traced
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.padding import padded
from keras_transformer.text.tokenizer import Tokenizer

ROWS = 8
BATCH_TOKENS = 512  # source tokens; larger batches are not faster, and need more memory

Rows = Sequence[Sequence[int]]


def golden_answers(
    model: TranslationModel, tokenizer: Tokenizer, sentences: Sequence[SourceSentence]
) -> list[Golden]:
    """Translate sentences greedily.

    Args:
        model: Model in float32.
        tokenizer: Its tokenizer.
        sentences: The sentences, none of them blank.

    Returns:
        The answers with their scores and margins, in order.
    """
    longest = model.network.max_length
    rows = tokenizer.encode_source([sentence.source for sentence in sentences], longest)
    search = Search(tokenizer.bos_id, tokenizer.eos_id)
    answers = [ids for (ids,) in search_traced(model, rows, search, longest, batch_tokens=BATCH_TOKENS)]
    model.derived.drop(Loop, search)  # free its graphs, which are large
    texts = tokenizer.decode_target(answers)
    figures = _figures(model, rows, answers, tokenizer.bos_id)
    return [
        Golden(sentence.source, tuple(row), text, tuple(ids), *figure, sentence.reference)
        for sentence, row, text, ids, figure in zip(sentences, rows, texts, answers, figures, strict=True)
    ]


def _figures(model: TranslationModel, rows: Rows, answers: Rows, start_id: int) -> list[tuple[float, float]]:
    """Compute the score and the margin of each answer in one pass over all of its tokens."""

    def measured(source: Any, target: Any, labels: Any) -> Any:
        """(B, S), (B, T), (B, T) -> scores (B,), margins (B,)."""
        logits, _ = model.attend({"source": source, "target": target})
        is_token = labels != 0
        log_probs = tf.gather(tf.nn.log_softmax(logits), labels, batch_dims=2)
        total = tf.reduce_sum(tf.where(is_token, log_probs, 0.0), axis=1)
        first, second = tf.unstack(tf.math.top_k(logits, 2).values, axis=-1)
        margins = tf.where(is_token, first - second, float("inf"))
        return total / tf.reduce_sum(tf.cast(is_token, tf.float32), axis=1), tf.reduce_min(margins, axis=1)

    ids = tf.TensorSpec((None, None), tf.int32)
    run = tf.function(measured, input_signature=[ids, ids, ids], autograph=False)
    figures: dict[int, tuple[float, float]] = {}
    order = sorted(range(len(rows)), key=lambda index: [len(answers[index]), len(rows[index])])
    for first in range(0, len(order), ROWS):
        indices = order[first : first + ROWS]
        labels = [answers[index] for index in indices]
        target = [[start_id, *answer[:-1]] for answer in labels]
        source = [rows[index] for index in indices]
        outputs = run(*(padded(ids) for ids in (source, target, labels)))
        for index, score, margin in zip(indices, *(part.numpy().tolist() for part in outputs), strict=True):
            figures[index] = (score, margin)
    return [figures[index] for index in range(len(rows))]
