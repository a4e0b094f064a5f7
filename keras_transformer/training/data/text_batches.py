"""Pairs of texts -> the dataset that model.fit reads: tokenised once, in buckets of like lengths."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tensorflow as tf

from keras_transformer.text.buckets import BatchPlan
from keras_transformer.text.corpus import Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.dataset import EXAMPLE, example


def text_batches(
    pairs: Iterable[tuple[str, str]] | Any,
    tokenizer: Tokenizer,
    batch_tokens: int = 4096,
    max_tokens: int = 128,
    seed: int = 0,
    shapes: int = 8,
) -> Any:
    """(source text, target text) pairs -> a tf.data.Dataset of ({"source", "target"}, labels), all of ids.

    `pairs` are any iterable, or a tf.data.Dataset of two strings an element; they are read once. A pass over
    the result shows every pair once, in a new order that follows from the seed: an epoch of fit.

    batch_tokens  of the longer side of a batch, padding included
    max_tokens    longer texts are cut there
    shapes        of full batches, at most: more of them pad less, and each costs a compilation
    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"text_batches needs the tokenizer of the model; got {tokenizer!r}. "
            "Create the model with tokenizer=..., and give model.tokenizer here."
        )
    with TemporaryDirectory(prefix="text-batches-") as scratch:  # what is mapped stays when its name goes
        store = TokenStore.write(Path(scratch), _checked(pairs), tokenizer, max_tokens)
    plan = BatchPlan(store.lengths(), batch_tokens, seed, shapes)
    epochs = count()

    def epoch() -> Iterator[Any]:
        for bucket, indices in plan.epoch(next(epochs)):
            yield example(store, tokenizer.bos_id, bucket, indices)

    batches = tf.data.Dataset.from_generator(epoch, output_signature=EXAMPLE)
    return batches.apply(tf.data.experimental.assert_cardinality(len(plan.epoch(0)))).prefetch(2)


def _checked(pairs: Any) -> Iterator[Pair]:
    """Each pair as two texts, or what is wrong with it."""
    if isinstance(pairs, tf.data.Dataset):
        if pairs.cardinality() == tf.data.INFINITE_CARDINALITY:
            raise ValueError("these pairs never end: leave out .repeat(), and say epochs= to fit instead.")
        pairs = pairs.as_numpy_iterator()
    number = 0
    for number, pair in enumerate(pairs, start=1):
        texts = _texts(pair)
        if texts is None:
            raise ValueError(
                f'a pair must be two texts, as in ("Merci.", "Thanks."); number {number} is '
                f"{_shortened(pair)}. Two lists become pairs with zip(sources, targets), a batched dataset "
                "with .unbatch()."
            )
        yield texts
    if not number:
        raise ValueError("there is no pair to make batches of: none was given, or they were read before.")


def _texts(pair: Any) -> Pair | None:
    """The two texts of a pair, if that is what it is."""
    if isinstance(pair, str | bytes | Mapping) or not isinstance(pair, Iterable):
        return None
    texts = [text.decode() if isinstance(text, bytes) else text for text in pair]  # tf.data has bytes
    return Pair(*texts) if [isinstance(text, str) for text in texts] == [True, True] else None


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
