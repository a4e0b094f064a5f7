"""Answers of the model to the golden sentences.

B batch, S source length, T target length, V target vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from export.artifact.golden import BEAM, BeamAnswer, Golden
from export.golden_sentences import SourceSentence, evenly
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.traced_search import (
    Loop,
    Search,
    reordered,
    repeated,
    search_traced,
    up_to_end,
)
from keras_transformer.decoding.tracing import traced
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.lengths import like_lengths
from keras_transformer.text.padding import padded
from keras_transformer.text.tokenizer import Tokenizer

ROWS = 8
BATCH_TOKENS = 512  # source tokens; larger batches are not faster, and need more memory
BEAM_SENTENCES = 64  # that have an answer of a beam too, so that it takes about as long as the greedy answers

Rows = Sequence[Sequence[int]]


def golden_answers(
    model: TranslationModel, tokenizer: Tokenizer, sentences: Sequence[SourceSentence]
) -> list[Golden]:
    """Translate sentences greedily, and some of them with a beam too.

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
    chosen = evenly(range(len(rows)), BEAM_SENTENCES)
    beams = dict(zip(chosen, beam_answers(model, tokenizer, [rows[index] for index in chosen]), strict=True))
    model.derived.drop(_measure)
    return [
        Golden(sentence.source, tuple(row), text, tuple(ids), *figure, sentence.reference, beams.get(index))
        for index, (sentence, row, text, ids, figure) in enumerate(
            zip(sentences, rows, texts, answers, figures, strict=True)
        )
    ]


def beam_answers(model: TranslationModel, tokenizer: Tokenizer, rows: Rows) -> list[BeamAnswer]:
    """Return the best answer of a beam of BEAM to each row of source ids, with its margin."""
    start_id, end_id, network = tokenizer.bos_id, tokenizer.eos_id, model.network

    def search(source: Any, limits: Any, longest: Any) -> Any:
        """(B, S), (B,), () -> tokens (B, W, L), scores (B, W), margins (B,)."""
        state = repeated(model.encode(source, longest), BEAM)
        options = (tf.shape(source)[0], BEAM, longest, start_id, end_id)
        return beam_search(model.step, reordered, state, *options, limits=limits)

    run = traced(model, search, 2, 1, 0)
    answers: dict[int, list[int]] = {}
    margins: dict[int, float] = {}
    for indices in like_lengths(rows, BATCH_TOKENS // BEAM, end_id):
        lengths = [len(rows[index]) for index in indices]
        limits = [min(network.answer_limit(length), network.max_length) for length in lengths]
        found = run(padded([rows[index] for index in indices]), np.array(limits, np.int32), max(limits))
        margins |= zip(indices, found.margins.tolist(), strict=True)
        for index, limit, beams in zip(indices, limits, found.tokens, strict=True):
            answers[index] = up_to_end(beams[0, :limit], end_id)
    best = [answers[index] for index in range(len(rows))]
    texts = tokenizer.decode_target(best)
    figures = _figures(model, rows, best, start_id)
    return [
        BeamAnswer(text, tuple(ids), score, margins[index])
        for index, (text, ids, (score, _)) in enumerate(zip(texts, best, figures, strict=True))
    ]


def _figures(model: TranslationModel, rows: Rows, answers: Rows, start_id: int) -> list[tuple[float, float]]:
    """Compute the score and the margin of each answer in one pass over all of its tokens."""
    run = model.derived.get(_measure)
    figures: dict[int, tuple[float, float]] = {}
    order = sorted(range(len(rows)), key=lambda index: [len(answers[index]), len(rows[index])])
    for first in range(0, len(order), ROWS):
        indices = order[first : first + ROWS]
        labels = [answers[index] for index in indices]
        target = [[start_id, *answer[:-1]] for answer in labels]
        source = [rows[index] for index in indices]
        outputs = run(*(padded(ids) for ids in (source, target, labels)))
        for index, score, margin in zip(indices, *(part.tolist() for part in outputs), strict=True):
            figures[index] = (score, margin)
    return [figures[index] for index in range(len(rows))]


def _measure(model: TranslationModel) -> Callable[..., Any]:
    """Return the function that scores answers: greedy answers and those of a beam share its graph."""

    def measured(source: Any, target: Any, labels: Any) -> Any:
        """(B, S), (B, T), (B, T) -> scores (B,), margins (B,)."""
        logits, _ = model.attend({"source": source, "target": target})
        is_token = labels != 0
        log_probs = tf.gather(tf.nn.log_softmax(logits), labels, batch_dims=2)
        total = tf.reduce_sum(tf.where(is_token, log_probs, 0.0), axis=1)
        first, second = tf.unstack(tf.math.top_k(logits, 2).values, axis=-1)
        margins = tf.where(is_token, first - second, float("inf"))
        return total / tf.reduce_sum(tf.cast(is_token, tf.float32), axis=1), tf.reduce_min(margins, axis=1)

    return traced(model, measured, 2, 2, 2)
