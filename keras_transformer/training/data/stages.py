"""Stages of a run: first both directions, if the recipe asks for it, then the requested direction alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.text.buckets import BatchPlan
from keras_transformer.text.token_store import TokenStore
from keras_transformer.training.recipe import Recipe


class BothWays:
    """Store of the pairs of another store, followed by the same pairs with source and target exchanged."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store
        self.rates = None if store.rates is None else np.tile(store.rates, 2)

    def lengths(self) -> NDArray[np.int32]:
        """Return the number of source and target tokens of each pair (2 N, 2)."""
        lengths = self.store.lengths()
        return np.concatenate([lengths, lengths[:, ::-1]])

    def rows(self, side: int, indices: NDArray[np.int64], length: int) -> NDArray[np.int32]:
        """Return the ids of pairs on one side (0 source, 1 target), padded with 0 -> (B, length)."""
        rows = np.empty((len(indices), length), np.int32)
        turned = indices >= len(self.store)
        rows[~turned] = self.store.rows(side, indices[~turned], length)
        rows[turned] = self.store.rows(1 - side, indices[turned] - len(self.store), length)
        return rows


class Stage(NamedTuple):
    """Stage of a run: a number of steps over one corpus; None is unlimited."""

    store: TokenStore | BothWays
    plan: BatchPlan
    steps: int | None = None


def stages(store: TokenStore, recipe: Recipe) -> Sequence[Stage]:
    """Return the stages of a recipe; the last one is unlimited."""
    first = round(recipe.both_ways * recipe.steps)
    corpora: list[tuple[TokenStore | BothWays, int | None]] = [(store, None)]
    if first:
        corpora.insert(0, (BothWays(store), first))
    return [
        Stage(
            corpus,
            BatchPlan(corpus.lengths(), recipe.batch_tokens, recipe.seed, shapes(recipe), corpus.rates),
            steps,
        )
        for corpus, steps in corpora
    ]


def shapes(recipe: Recipe) -> int:
    """Return the number of batch shapes: each costs a compilation of the loss, but saves padding."""
    return min(32, max(4, recipe.steps // 60))
