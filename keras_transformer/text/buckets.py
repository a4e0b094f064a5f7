"""Batches of similar lengths: few shapes, little padding, an order that follows from a seed.

Every batch is full and has the shape of its bucket. Pairs that are left over at the end of an epoch wait for
the next epoch, so that no step is spent on a half-empty batch. Seed and n alone determine the n-th batch: a
run that was killed continues with the batches from n on.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_BANDS = 12  # of target length, and of source length within one of them
Lengths = NDArray[np.int32]
Indices = NDArray[np.int64]


class Bucket(NamedTuple):
    """Shape of a batch."""

    source_length: int
    target_length: int
    rows: int


class BatchPlan:
    """Division of a corpus into batches.

    Args:
        lengths: Number of source and target tokens of each pair (N, 2).
        batch_tokens: Limit of rows x length on the longer side of a batch.
        seed: Seed of the order.
        shapes: Largest number of buckets.
        rates: Number of times that each pair is drawn in an epoch of `batches` (N,); None means once.

    Raises:
        ValueError: If the longest sentence does not fit into a batch.
    """

    def __init__(
        self,
        lengths: Lengths,
        batch_tokens: int,
        seed: int = 0,
        shapes: int = 32,
        rates: NDArray[np.float64] | None = None,
    ) -> None:
        self.seed = seed
        self._rates = rates
        longest = int(lengths.max())
        if batch_tokens < longest:
            raise ValueError(
                f"a batch of {batch_tokens} tokens cannot hold the longest sentence, which has {longest}. "
                f"Allow {longest} tokens or more, or cut the sentences."
            )
        # if there were more buckets than batches in an epoch, pairs would wait for many epochs
        shapes = max(1, min(shapes, int(lengths.max(axis=1).sum()) // batch_tokens))
        distinct, counts, which = _distinct(lengths)
        self.buckets, bucket_of = _buckets(distinct, counts, batch_tokens, shapes)
        self._bucket_of = bucket_of.astype(np.uint8)[which]  # MAX_BANDS x MAX_BANDS at most
        padded = np.array([bucket[:2] for bucket in self.buckets])[bucket_of].sum(axis=1) @ counts
        self.padding = float(1 - lengths.sum() / padded)  # share of padding in the tokens of both sides

    def batches(self, start: int = 0) -> Iterator[tuple[Bucket, Indices]]:
        """Yield the endless sequence of batches from index `start` on."""
        waiting = np.empty(0, np.int64)
        epoch = passed = 0
        while True:
            planned, waiting = self._epoch(epoch, waiting)
            for bucket, indices in planned[max(0, start - passed) :]:
                yield self.buckets[bucket], indices
            passed, epoch = passed + len(planned), epoch + 1

    def epoch(self, number: int) -> list[tuple[Bucket, Indices]]:
        """Return the batches of one epoch, with every pair once; the last batch of a bucket may be short."""
        rng = np.random.default_rng((self.seed, number))
        queue = rng.permutation(len(self._bucket_of))
        planned = []
        for bucket, members in zip(self.buckets, self._members(queue), strict=True):
            ends = range(bucket.rows, len(members), bucket.rows)
            planned += [(bucket, batch) for batch in np.split(members, ends) if len(batch)]
        return [planned[index] for index in rng.permutation(len(planned))]

    def batches_per_epoch(self) -> int:
        """Estimate the number of batches that contain every pair once."""
        rows = np.bincount(self._bucket_of, minlength=len(self.buckets))
        return max(1, round(sum(n / bucket.rows for n, bucket in zip(rows, self.buckets, strict=True))))

    def _epoch(self, epoch: int, waiting: Indices) -> tuple[list[tuple[int, Indices]], Indices]:
        """Return the full batches of an epoch, waiting pairs first, and the pairs that are left over."""
        rng = np.random.default_rng((self.seed, epoch))
        queue = np.concatenate([waiting, rng.permutation(self._drawn(epoch))])
        planned, left = [], []
        for number, (bucket, members) in enumerate(zip(self.buckets, self._members(queue), strict=True)):
            full = len(members) // bucket.rows * bucket.rows
            planned += [(number, batch) for batch in members[:full].reshape(-1, bucket.rows)]
            left.append(members[full:])
        order = rng.permutation(len(planned))
        return [planned[index] for index in order], np.concatenate(left)

    def _drawn(self, epoch: int) -> Indices:
        """Return the pairs of an epoch, each once or as often as its rate says.

        A rate of 2.4 means two or three times: after n epochs 2.4 n times, rounded at the pair's own offset.
        """
        pairs = np.arange(len(self._bucket_of))
        if self._rates is None:
            return pairs
        offsets = np.random.default_rng(self.seed).random(len(pairs))
        times = np.floor(self._rates * (epoch + 1) + offsets) - np.floor(self._rates * epoch + offsets)
        return np.repeat(pairs, times.astype(np.int64))

    def _members(self, queue: Indices) -> list[Indices]:
        """Return the pairs of each bucket, in the order of the queue."""
        bucket_of = self._bucket_of[queue]
        ends = np.cumsum(np.bincount(bucket_of, minlength=len(self.buckets)))
        return np.split(queue[np.argsort(bucket_of, kind="stable")], ends[:-1])


def _distinct(lengths: Lengths) -> tuple[Lengths, Indices, Indices]:
    """Return the distinct lengths, the number of pairs of each, and the index of each pair's length.

    A corpus of millions of pairs has some thousand distinct lengths, which makes all other computations fast.
    """
    base = int(lengths.max()) + 1
    keys, which, counts = np.unique(
        lengths[:, 0].astype(np.int64) * base + lengths[:, 1], return_inverse=True, return_counts=True
    )
    return np.stack(np.divmod(keys, base), axis=1).astype(np.int32), counts, which


def _buckets(
    distinct: Lengths, counts: Indices, batch_tokens: int, shapes: int
) -> tuple[list[Bucket], Indices]:
    """Return bands of target length, each with bands of source length, that need the least padding."""
    grids = [_grid(distinct, counts, bands, shapes) for bands in range(1, min(shapes, MAX_BANDS) + 1)]
    grid = min(grids, key=lambda grid: _padded(distinct, counts, grid)[0])
    _, bucket_of = _padded(distinct, counts, grid)
    members = _summed(bucket_of, counts, len(grid))
    buckets = [
        Bucket(source, target, min(batch_tokens // max(source, target), max(1, count)))
        for (source, target), count in zip(grid, members.tolist(), strict=True)
    ]
    return buckets, bucket_of


def _summed(indices: Indices, counts: Indices, length: int) -> Indices:
    """Sum the counts of each index; bincount adds in float64, which is exact up to 2**53."""
    return np.bincount(indices, counts, length).astype(np.int64)


def _grid(distinct: Lengths, counts: Indices, target_bands: int, shapes: int) -> list[tuple[int, int]]:
    """Return bands of target length; each further shape is the source band that saves most padding."""
    source, target = distinct[:, 0], distinct[:, 1]
    highs = _bands(*_covers(target, counts), target_bands)
    inside = [(target > low) & (target <= high) for low, high in pairwise([0, *highs])]
    covers = [_covers(source[part], counts[part]) for part in inside]
    bands = [1] * len(highs)
    for _ in range(shapes - len(highs)):
        saved = [
            costs[count - 1] - costs[count] if count < len(costs) else 0.0
            for (_, costs, _), count in zip(covers, bands, strict=True)
        ]
        bands[int(np.argmax(saved))] += 1  # `_bands` ignores those that save nothing
    return [
        (length, high)
        for high, cover, count in zip(highs, covers, bands, strict=True)
        for length in _bands(*cover, count)
    ]


def _padded(distinct: Lengths, counts: Indices, grid: list[tuple[int, int]]) -> tuple[int, Indices]:
    """Return the tokens of an epoch with padding, and the first shape that fits each length.

    The shapes are ordered by target, then by source, and the last shape of a band fits the longest source in
    it: no pair is put into a band of longer targets than it needs.
    """
    bucket_of = np.empty(len(distinct), np.int64)
    for number, shape in reversed(list(enumerate(grid))):
        bucket_of[(distinct <= shape).all(axis=1)] = number
    return int(np.array(grid)[bucket_of].sum(axis=1) @ counts), bucket_of


def _covers(
    lengths: NDArray[np.int32], pairs: Indices
) -> tuple[NDArray[Any], list[float], list[NDArray[Any]]]:
    """Cover lengths with 1, 2, ... bands such that padding each length to the end of its band costs least.

    Dynamic programming: the best k bands up to a length are the best k - 1 bands up to the begin of the last
    band, and that band.

    Args:
        lengths: The lengths to cover.
        pairs: Number of pairs of each length.

    Returns:
        The distinct lengths; the padding of the best cover for each number of bands; and for each length at
        which the last band may end, the index at which it begins.
    """
    values, indices = np.unique(lengths, return_inverse=True)
    counts = _summed(indices, pairs, len(values))
    number, tokens = np.cumsum(counts), np.cumsum(counts * values)
    # band[m, l]: padding of one band from values[m] to values[l]
    band = (
        values * (number - (number - counts)[:, None]) - (tokens - (tokens - counts * values)[:, None])
    ).astype(float)
    band[np.tril_indices(len(values), -1)] = np.inf
    best, costs, begins = band[0], [band[0][-1]], []
    for _ in range(min(MAX_BANDS, len(values)) - 1):
        total = np.concatenate([[np.inf], best[:-1]])[:, None] + band
        best = total.min(axis=0)
        begins.append(total.argmin(axis=0))
        costs.append(best[-1])
    return values, costs, begins


def _bands(values: NDArray[Any], costs: list[float], begins: list[NDArray[Any]], count: int) -> list[int]:
    """Return the upper ends of the best cover with `count` bands, ascending."""
    ends = [len(values) - 1]
    for begin in reversed(begins[: min(count, len(costs)) - 1]):
        ends.append(int(begin[ends[-1]]) - 1)
    return [int(values[end]) for end in reversed(ends)]
