"""Sources divided among workers, and through the encoder of each."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from keras_transformer.text.lengths import longest_answer

ENCODED = 384  # source tokens; what the encoder makes of more at once does not stay near the processor

Rows = Sequence[Sequence[int]]
Found = TypeVar("Found")


class Asked(NamedTuple):
    """A source that says something, and what its answer is to be like."""

    place: int  # among all
    source: Sequence[int]
    prefix: Sequence[int]
    limit: int  # the most tokens of an answer


#: A share, the longest source first, and what is set when nobody wants it -> places, and what is found.
Work = Callable[[list[Asked], threading.Event], list[tuple[int, Found]]]


def shared(
    work: "Work[Found]", rows: Rows, prefixes: Rows | None, end_id: int, most: int, workers: int
) -> Iterator[tuple[int, Found]]:
    """What the work finds for each row of source ids that says more than its end, in any order.

    One share is worked on by who asks, several by a thread each; when one fails, the others stop.
    """
    prefixes = prefixes or [()] * len(rows)
    asked = [
        Asked(place, source, prefix, min(longest_answer(len(source)), most))
        for place, (source, prefix) in enumerate(zip(rows, prefixes, strict=True))
        if list(source) not in ([], [end_id])
    ]
    asked.sort(key=lambda row: len(row.source), reverse=True)  # what is left at the end is short
    shares = [asked[first::workers] for first in range(min(workers, len(asked)))]
    ended = threading.Event()
    if len(shares) < 2:
        yield from chain.from_iterable(work(share, ended) for share in shares)
        return
    with ThreadPoolExecutor(len(shares)) as pool:
        try:
            yield from chain.from_iterable(pool.map(lambda share: work(share, ended), shares))
        finally:  # whoever is interrupted waits for no more than a step
            ended.set()


def encoded(encoder: Any, rows: list[Asked]) -> Iterator[tuple[Asked, list[NDArray[Any]]]]:
    """Each row with what the encoder gives for it. It takes rows of one length."""
    for length, group in groupby(rows, key=lambda row: len(row.source)):
        while alike := list(islice(group, max(1, ENCODED // length))):
            source = np.array([row.source for row in alike], np.int32)
            parts = encoder.run(None, {"source": source})
            for place, row in enumerate(alike):
                yield row, [part[:, place : place + 1] for part in parts]
