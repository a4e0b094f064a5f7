"""Batches of like lengths: few shapes, little padding, the order decided by a seed.

Every batch is full and has the shape of its bucket. What is left over when an epoch ends waits for the next
one, so that no step is spent on a half-empty batch. The n-th batch follows from seed and n alone: a run that
was killed asks for the batches from n on.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_BANDS = 12  # of target length, and of source length in one of them
Lengths = NDArray[np.int32]
Indices = NDArray[np.int64]


class Bucket(NamedTuple):
    """A shape of batches."""

    source_length: int
    target_length: int
    rows: int


class BatchPlan:
    """The batches of a corpus.

    Args:
        lengths: the tokens of source and target of each pair (N, 2).
        batch_tokens: bounds rows x length of the longer side of a batch.
        seed: decides the order.
        shapes: the maximum number of buckets.
        rates: how often each pair is drawn in an epoch of `batches` (N,); None is once.

    Raises:
        ValueError: the longest sentence does not fit into a batch.
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
        # with more buckets than batches in an epoch, pairs would wait for many epochs
        shapes = max(1, min(shapes, int(lengths.max(axis=1).sum()) // batch_tokens))
        distinct, counts, which = _distinct(lengths)
        self.buckets, bucket_of = _buckets(distinct, counts, batch_tokens, shapes)
        self._bucket_of = bucket_of.astype(np.uint8)[which]  # MAX_BANDS x MAX_BANDS at most
        padded = np.array([bucket[:2] for bucket in self.buckets])[bucket_of].sum(axis=1) @ counts
        self.padding = float(1 - lengths.sum() / padded)  # its share of an epoch's tokens, both sides

    def batches(self, start: int = 0) -> Iterator[tuple[Bucket, Indices]]:
        """Yield the endless sequence of batches, from batch `start` on."""
        waiting = np.empty(0, np.int64)
        epoch = passed = 0
        while True:
            planned, waiting = self._epoch(epoch, waiting)
            for bucket, indices in planned[max(0, start - passed) :]:
                yield self.buckets[bucket], indices
            passed, epoch = passed + len(planned), epoch + 1

    def epoch(self, number: int) -> list[tuple[Bucket, Indices]]:
        """Return the batches of one epoch, every pair once: a bucket may end with a short batch."""
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
        """Return the full batches of an epoch, after the waiting pairs, and the pairs that wait now."""
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
    """Return the distinct lengths, how many pairs have each, and the index of each pair's length.

    A corpus of millions has some thousand: all that is computed of lengths is computed of these.
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
    """Sum the counts of each index; bincount adds in float64, exact up to 2**53."""
    return np.bincount(indices, counts, length).astype(np.int64)


def _grid(distinct: Lengths, counts: Indices, target_bands: int, shapes: int) -> list[tuple[int, int]]:
    """Return bands of target length; each further shape is the band of source length that saves most."""
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
    """Return the tokens of an epoch, padding included, and the first shape that holds each length.

    The shapes are ordered by target, then by source, and the last of a band holds the longest source in it:
    no pair comes into a band of longer targets than it needs.
    """
    bucket_of = np.empty(len(distinct), np.int64)
    for number, shape in reversed(list(enumerate(grid))):
        bucket_of[(distinct <= shape).all(axis=1)] = number
    return int(np.array(grid)[bucket_of].sum(axis=1) @ counts), bucket_of


def _covers(
    lengths: NDArray[np.int32], pairs: Indices
) -> tuple[NDArray[Any], list[float], list[NDArray[Any]]]:
    """Cover these lengths with 1, 2, ... bands so that padding each to the end of its band costs least.

    Of lengths, and of how many pairs have each -> the distinct ones, the padding of the best cover for each
    number of bands, and where its last band begins for each length it could end at. Dynamic programming: the
    best k bands up to a length are the best k - 1 bands up to where the last one begins.
    """
    values, indices = np.unique(lengths, return_inverse=True)
    counts = _summed(indices, pairs, len(values))
    number, tokens = np.cumsum(counts), np.cumsum(counts * values)
    # band[m, l]: the padding of one band over values[m] to values[l]
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
