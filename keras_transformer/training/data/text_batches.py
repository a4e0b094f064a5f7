"""The dataset that model.fit reads, from pairs of texts: tokenized once, in buckets of similar lengths."""

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
from keras_transformer.training.data.dataset import EXAMPLE, example, without_autotuning


def text_batches(
    pairs: Iterable[tuple[str, str]] | Any,
    tokenizer: Tokenizer,
    batch_tokens: int = 4096,
    max_tokens: int = 128,
    seed: int = 0,
    shapes: int = 8,
) -> Any:
    """Make batches of token ids from pairs of texts.

    The pairs are read and tokenized once. One pass over the result is one epoch of `fit`: it has every pair
    once, in a new order that follows from the seed.

    Args:
        pairs: (source text, target text) pairs: any iterable, or a tf.data.Dataset whose elements are two
            strings.
        tokenizer: Tokenizer of the model.
        batch_tokens: Largest number of tokens of a batch on its longer side, padding included.
        max_tokens: Largest number of tokens of a text; longer texts are cut.
        seed: Seed of the order.
        shapes: Largest number of shapes of full batches. More shapes need less padding, but each costs a
            compilation.

    Returns:
        A tf.data.Dataset of ({"source": ids, "target": ids}, labels).

    Raises:
        TypeError: If tokenizer is not a Tokenizer.
        ValueError: If there are no pairs, the dataset is infinite, or an element is not a pair of texts.

    Example:
        ```python
        model.fit(text_batches(pairs, model.tokenizer), epochs=10)
        ```
    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"text_batches needs the tokenizer of the model; got {tokenizer!r}. "
            "Create the model with tokenizer=..., and give model.tokenizer here."
        )
    with TemporaryDirectory(prefix="text-batches-") as scratch:  # mapped files outlive their names
        store = TokenStore.write(Path(scratch), _checked(pairs), tokenizer, max_tokens)
    plan = BatchPlan(store.lengths(), batch_tokens, seed, shapes)
    epochs = count()

    def epoch() -> Iterator[Any]:
        for bucket, indices in plan.epoch(next(epochs)):
            yield example(store, tokenizer.bos_id, bucket, indices)

    batches = tf.data.Dataset.from_generator(epoch, output_signature=EXAMPLE)
    cardinality = tf.data.experimental.assert_cardinality(len(plan.epoch(0)))
    return without_autotuning(batches.apply(cardinality).prefetch(2))


def _checked(pairs: Any) -> Iterator[Pair]:
    """Yield each pair as two texts.

    Raises:
        ValueError: With what is wrong with a pair.
    """
    if isinstance(pairs, tf.data.Dataset):
        if pairs.cardinality() == tf.data.INFINITE_CARDINALITY:
            raise ValueError("these pairs never end: leave out .repeat(), and pass epochs= to fit instead.")
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
        raise ValueError("there are no pairs: the iterable is empty, or was already read.")


def _texts(pair: Any) -> Pair | None:
    """Return the two texts of a pair, or None if it is not one."""
    if isinstance(pair, str | bytes | Mapping) or not isinstance(pair, Iterable):
        return None
    texts = [text.decode() if isinstance(text, bytes) else text for text in pair]  # tf.data has bytes
    return Pair(*texts) if [isinstance(text, str) for text in texts] == [True, True] else None


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
