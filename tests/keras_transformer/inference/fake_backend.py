"""A runtime whose answers can be told by hand: a source, its end left out, comes back in capitals of 100."""

from collections.abc import Sequence

import numpy as np

from keras_transformer.inference.backend import LogProbs, Tokens

END = 3
BROKEN_SOURCE, BROKEN_STEP, NO_NUMBER = 97, 98, 99  # tokens of a source that fails


def answer(source: Sequence[int]) -> list[int]:
    """What the runtime says to it."""
    return [token + 100 for token in source[:-1]] + [END]


class FakeRuntime:
    """Rows as the engine's contract has them, and a check that nobody breaks it."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.rows: list[tuple[list[int], list[int]]] = []  # the answer, and what is said of it
        self.steps = 0
        self.encoded: list[list[Sequence[int]]] = []

    def admit(self, sources: Sequence[Sequence[int]]) -> None:
        if len(self.rows) + len(sources) > self.slots or len({len(source) for source in sources}) != 1:
            raise AssertionError(f"cannot take {sources} behind {len(self.rows)} rows")
        if any(BROKEN_SOURCE in source for source in sources):
            raise RuntimeError("no encoding")
        self.encoded.append(list(sources))
        self.rows += [(answer(source), []) for source in sources]

    def step(self) -> tuple[Tokens, LogProbs]:
        self.steps += 1
        if any(self._next(row) == BROKEN_STEP + 100 for row in range(len(self.rows))):
            raise RuntimeError("no step")
        said = [self.step_alone(row) for row in range(len(self.rows))]
        return np.array([token for token, _ in said], np.int32), np.array([p for _, p in said], np.float32)

    def step_alone(self, row: int) -> tuple[int, float]:
        token = self._next(row)
        if token == BROKEN_STEP + 100:
            raise RuntimeError("no step")
        self.rows[row][1].append(token)
        return token, float("nan") if token == NO_NUMBER + 100 else -token / 1000

    def retire(self, row: int) -> None:
        self.rows[row] = self.rows[-1]
        self.rows.pop()

    def _next(self, row: int) -> int:
        whole, said = self.rows[row]
        return whole[len(said)]
