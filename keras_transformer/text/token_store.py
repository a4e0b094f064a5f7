"""A corpus as token ids on disk: tokenized once and memory-mapped, so that it may be larger than memory."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_transformer.files import Synced
from keras_transformer.text.corpus import Pair
from keras_transformer.text.padding import padded
from keras_transformer.text.tokenizer import Tokenizer

CHUNK = 10_000
SIDES = ("source", "target")
RATES = "rates.npy"
REMEDY = "remove recipe.json of its run, and `train --resume` prepares the run again from its corpus"


class TokenStore:
    """Ids of both sides of every pair in the order of the corpus, each with its end id.

    Attributes:
        rates: Number of times that each pair is drawn in an epoch (N,); None means once.
    """

    def __init__(self, directory: Path) -> None:
        """Open the files that `write` created."""
        self._ends = [_ends(directory / f"{side}.ends.npy") for side in SIDES]
        self._ids = [
            _ids(directory / f"{side}.ids", int(ends[-1]))
            for side, ends in zip(SIDES, self._ends, strict=True)
        ]
        self.rates = _rates(directory / RATES, len(self))

    @classmethod
    def write(
        cls,
        directory: Path,
        pairs: Iterable[Pair],
        tokenizer: Tokenizer,
        max_tokens: int | None = None,
        dropout: float = 0.0,
        seed: int = 0,
        rates: ArrayLike | None = None,
    ) -> Self:
        """Tokenize pairs one chunk at a time, and write the store.

        Args:
            directory: Directory of the files; it is created if it does not exist.
            pairs: The corpus.
            tokenizer: The tokenizer.
            max_tokens: Largest number of tokens; longer sentences are cut and keep their end id.
            dropout: Dropout of the tokenizer: a repeated pair is split into other pieces.
            seed: Seed of the dropout.
            rates: Number of times that each pair is drawn in an epoch; None means once. They are read after
                the last pair. Repeated pairs repeat their rates.

        Returns:
            The opened store.
        """
        seeds = np.random.default_rng(seed)
        directory.mkdir(parents=True, exist_ok=True)
        encoders = (tokenizer.encode_source, tokenizer.encode_target)
        ends: tuple[list[NDArray[np.int64]], ...] = ([], [])
        totals = [0, 0]
        with Synced(directory / "source.ids") as source, Synced(directory / "target.ids") as target:
            for chunk in _chunks(pairs):
                for side, file in enumerate((source, target)):
                    texts = [pair[side] for pair in chunk]
                    rows = encoders[side](texts, max_tokens, dropout, int(seeds.integers(2**32)))
                    ends[side].append(totals[side] + np.cumsum([len(row) for row in rows], dtype=np.int64))
                    totals[side] = int(ends[side][-1][-1])
                    file.write(np.concatenate([np.asarray(row, "<u4") for row in rows]).tobytes())
        for side, name in enumerate(SIDES):
            with Synced(directory / f"{name}.ends.npy") as file:
                np.save(file, np.concatenate(ends[side]))
        (directory / RATES).unlink(missing_ok=True)
        if rates is not None:
            once = np.asarray(rates, np.float64)
            with Synced(directory / RATES) as file:
                np.save(file, np.tile(once, len(np.concatenate(ends[0])) // len(once)))
        return cls(directory)

    def __len__(self) -> int:
        return len(self._ends[0])

    def lengths(self) -> NDArray[np.int32]:
        """Return the number of source and target tokens of each pair (N, 2)."""
        return np.stack([np.diff(ends, prepend=0) for ends in self._ends], axis=1).astype(np.int32)

    def rows(self, side: int, indices: NDArray[Any], length: int) -> NDArray[np.int32]:
        """Return the ids of pairs on one side (0 source, 1 target), padded with 0 -> (B, length)."""
        ends, ids = self._ends[side], self._ids[side]
        starts = [0 if index == 0 else ends[index - 1] for index in indices]
        return padded(
            [ids[start : ends[index]] for start, index in zip(starts, indices, strict=True)], length
        )


def _ends(path: Path) -> NDArray[np.int64]:
    """Load the ends of all texts in the ids of one side."""
    try:
        return np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}): {REMEDY}.") from error


def _rates(path: Path, count: int) -> NDArray[np.float64] | None:
    if not path.exists():
        return None
    rates: NDArray[np.float64] = np.load(path)
    if rates.shape != (count,):
        raise ValueError(f"{path} is damaged (it has {rates.size:,} rates of {count:,} pairs): {REMEDY}.")
    return rates


def _ids(path: Path, count: int) -> NDArray[np.uint32]:
    """Map the ids of a side, and refuse a file that is too short: missing ids would be read as padding."""
    size = path.stat().st_size
    if size != 4 * count:
        raise ValueError(
            f"{path} is damaged (it has {size // 4:,} ids in {size:,} bytes, where {count:,} are counted): "
            f"{REMEDY}."
        )
    return np.memmap(path, dtype="<u4", mode="r")


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
