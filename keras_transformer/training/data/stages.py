"""Stages of a run: first both directions, if the recipe asks for it, then the requested direction alone.

N pairs, B of them in a batch.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keras_transformer.text.buckets import BatchPlan
from keras_transformer.training.recipe import Recipe


class Store(Protocol):
    """Pairs as ids, as `TokenStore` has them on disk."""

    @property
    def rates(self) -> NDArray[np.float64] | None:
        """Number of times that each pair is drawn in an epoch (N,); None means once."""

    def __len__(self) -> int: ...

    def lengths(self) -> NDArray[np.int32]:
        """Return the number of source and target tokens of each pair (N, 2)."""

    def rows(self, side: int, indices: NDArray[Any], length: int) -> NDArray[np.int32]:
        """Return the ids of pairs on one side (0 source, 1 target), padded with 0 -> (B, length)."""


class Turned:
    """Pairs of a store with source and target exchanged."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rates = store.rates

    def __len__(self) -> int:
        return len(self.store)

    def lengths(self) -> NDArray[np.int32]:
        """Return the number of source and target tokens of each pair (N, 2)."""
        return self.store.lengths()[:, ::-1]

    def rows(self, side: int, indices: NDArray[Any], length: int) -> NDArray[np.int32]:
        """Return the ids of pairs on one side (0 source, 1 target), padded with 0 -> (B, length)."""
        return self.store.rows(1 - side, indices, length)


class Joined:
    """Pairs of several stores, one store after the other."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self._begins = np.cumsum([0, *map(len, stores)])
        rates = [np.ones(len(store)) if store.rates is None else store.rates for store in stores]
        self.rates = None if all(store.rates is None for store in stores) else np.concatenate(rates)

    def __len__(self) -> int:
        return int(self._begins[-1])

    def lengths(self) -> NDArray[np.int32]:
        """Return the number of source and target tokens of each pair (N, 2)."""
        return np.concatenate([store.lengths() for store in self.stores])

    def rows(self, side: int, indices: NDArray[Any], length: int) -> NDArray[np.int32]:
        """Return the ids of pairs on one side (0 source, 1 target), padded with 0 -> (B, length)."""
        rows = np.empty((len(indices), length), np.int32)
        store_of = np.searchsorted(self._begins, indices, "right") - 1
        for number in np.unique(store_of):
            inside = store_of == number
            rows[inside] = self.stores[number].rows(side, indices[inside] - self._begins[number], length)
        return rows


class Stage(NamedTuple):
    """Stage of a run: a number of steps over one corpus; None is unlimited."""

    store: Store
    plan: BatchPlan
    steps: int | None = None


def stages(store: Store, recipe: Recipe, typed: Store | None = None) -> Sequence[Stage]:
    """Return the stages of a recipe; the last one is unlimited.

    Args:
        store: The corpus.
        recipe: The recipe.
        typed: Variants of its pairs as people type them; their other direction is not trained on.
    """
    first = round(recipe.both_ways * recipe.steps)
    variants = [] if typed is None else [typed]
    corpora: list[tuple[list[Store], int | None]] = [([store, *variants], None)]
    if first:
        corpora.insert(0, ([store, Turned(store), *variants], first))
    return [_stage(stores, steps, recipe) for stores, steps in corpora]


def _stage(stores: Sequence[Store], steps: int | None, recipe: Recipe) -> Stage:
    store = stores[0] if len(stores) == 1 else Joined(*stores)
    plan = BatchPlan(store.lengths(), recipe.batch_tokens, recipe.seed, shapes(recipe), store.rates)
    return Stage(store, plan, steps)


def shapes(recipe: Recipe) -> int:
    """Return the number of batch shapes: each costs a compilation of the loss, but saves padding."""
    return min(32, max(4, recipe.steps // 60))
