"""Texts through a model: sorted by length, batched, decoded greedily, put back in order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_transformer.decoding.greedy import greedy
from keras_transformer.text.batches import padded

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel

LENGTH_STEP = 8


def translate(model: "TranslationModel", texts: Sequence[str], batch_size: int = 64) -> list[str]:
    """Each text translated, in the order given."""
    if isinstance(texts, str):
        raise TypeError(f"translate takes a list of texts; got the text {texts[:40]!r}. Put it into a list.")
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to translate text.")
    tokenizer = model.tokenizer
    rows = tokenizer.encode_source(texts, model.network.max_length)
    return tokenizer.decode_target(translate_ids(model, rows, tokenizer.bos_id, tokenizer.eos_id, batch_size))


def translate_ids(
    model: "TranslationModel", rows: Sequence[Sequence[int]], start_id: int, end_id: int, batch_size: int
) -> list[list[int]]:
    """Each row of source ids translated into target ids, without start and end.

    A row may have so many tokens as it would have alone, whatever stands beside it. One that says nothing but
    its end has nothing to translate.
    """
    order = [row for row in range(len(rows)) if list(rows[row]) != [end_id]]
    order.sort(key=lambda row: len(rows[row]), reverse=True)
    translated: list[list[int]] = [[] for _ in rows]
    for first in range(0, len(order), batch_size):
        chosen = order[first : first + batch_size]
        width = -(-len(rows[chosen[0]]) // LENGTH_STEP) * LENGTH_STEP
        width = min(width, model.network.max_length)
        source = padded([rows[row] for row in chosen], width)
        for row, ids in zip(
            chosen, _decoder(model, start_id, end_id)(tf.constant(source)).numpy(), strict=True
        ):
            allowed = ids[: longest_answer(len(rows[row]))]
            translated[row] = [int(number) for number in allowed if number not in (0, end_id)]
    return translated


def longest_answer(source_length: Any) -> Any:
    """The most target tokens that a source of so many tokens is given."""
    return 2 * source_length + 10


def _decoder(model: "TranslationModel", start_id: int, end_id: int) -> Any:
    """source (B, S) -> target ids (B, L), compiled once for the model."""
    if (start_id, end_id) not in model.decoders:

        @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)], autograph=False)
        def decode(source: Any) -> Any:
            length = tf.minimum(longest_answer(tf.shape(source)[1]), model.network.max_length)
            state = model.encode(source, length)
            return greedy(model.step, state, tf.shape(source)[0], length, start_id, end_id)

        model.decoders[start_id, end_id] = decode
    return model.decoders[start_id, end_id]
