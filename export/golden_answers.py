"""What the model says to the golden sentences.

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
BATCH_TOKENS = 512  # of source: more at once are no faster, and take memory

Rows = Sequence[Sequence[int]]


def golden_answers(
    model: TranslationModel, tokenizer: Tokenizer, sentences: Sequence[SourceSentence]
) -> list[Golden]:
    """The greedy answers of a float32 model, with their scores, and how near they came to being others.

    None of the sentences is blank: to these there is no answer.
    """
    longest = model.network.max_length
    rows = tokenizer.encode_source([each.source for each in sentences], longest)
    search = Search(tokenizer.bos_id, tokenizer.eos_id)
    said = [ids for (ids,) in search_traced(model, rows, search, longest, batch_tokens=BATCH_TOKENS)]
    model.derived.drop(Loop, search)  # its graphs are large, and nobody asks it again
    texts = tokenizer.decode_target(said)
    figures = _figures(model, rows, said, tokenizer.bos_id)
    return [
        Golden(each.source, tuple(row), text, tuple(ids), *figure, each.reference)
        for each, row, text, ids, figure in zip(sentences, rows, texts, said, figures, strict=True)
    ]


def _figures(model: TranslationModel, rows: Rows, said: Rows, start_id: int) -> list[tuple[float, float]]:
    """Of each answer its score and its margin, from one look at all of its steps together."""

    def look(source: Any, given: Any, labels: Any) -> Any:
        """(B, S), (B, T), (B, T) -> scores (B,), margins (B,)."""
        logits, _ = model.attend({"source": source, "target": given})
        there = labels != 0
        log_probs = tf.gather(tf.nn.log_softmax(logits), labels, batch_dims=2)
        total = tf.reduce_sum(tf.where(there, log_probs, 0.0), axis=1)
        first, second = tf.unstack(tf.math.top_k(logits, 2).values, axis=-1)
        margins = tf.where(there, first - second, float("inf"))
        return total / tf.reduce_sum(tf.cast(there, tf.float32), axis=1), tf.reduce_min(margins, axis=1)

    ids = tf.TensorSpec((None, None), tf.int32)
    run = tf.function(look, input_signature=[ids, ids, ids], autograph=False)
    figures: dict[int, tuple[float, float]] = {}
    order = sorted(range(len(rows)), key=lambda place: [len(said[place]), len(rows[place])])
    for first in range(0, len(order), ROWS):
        places = order[first : first + ROWS]
        sources, answers = [rows[place] for place in places], [said[place] for place in places]
        given = [[start_id, *answer[:-1]] for answer in answers]
        found = run(*(padded(each) for each in (sources, given, answers)))
        for place, score, margin in zip(places, *(part.numpy().tolist() for part in found), strict=True):
            figures[place] = (score, margin)
    return [figures[place] for place in range(len(rows))]
