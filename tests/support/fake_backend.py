"""A backend with answers that are known by hand: a source without its end comes back with 100 added."""

from collections.abc import Sequence

import numpy as np

from keras_transformer.inference.backend import Candidates, Encoded, Floats, Ids, StepResult

END = 3
BROKEN_SOURCE, BROKEN_STEP, NO_NUMBER = 97, 98, 99  # tokens of a source that fails


def answer(source: Sequence[int]) -> list[int]:
    """Return what the backend answers."""
    return [token + 100 for token in source[:-1]] + [END]


class FakeBackend:
    """Rows as the contract of a backend has them, and a check that its caller keeps to it."""

    has_candidates = False

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.rows: list[tuple[list[int], list[int]]] = []  # the answer, and as much of it as is decoded
        self.steps = 0
        self.encoded: list[list[Sequence[int]]] = []

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        if len({len(source) for source in sources}) != 1:
            raise AssertionError(f"sources of several lengths: {sources}")
        if any(BROKEN_SOURCE in source for source in sources):
            raise RuntimeError("no encoding")
        self.encoded.append(list(sources))
        return sources

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        if len(self.rows) + len(encoded) * copies > self.slots:
            raise AssertionError(f"cannot take {encoded} behind {len(self.rows)} rows")
        self.rows += [(self.answer(source), []) for source in encoded for _ in range(copies)]

    def answer(self, source: Sequence[int]) -> list[int]:
        return answer(source)

    def step(self) -> StepResult:
        self.steps += 1
        if any(self._next(row) == BROKEN_STEP + 100 for row in range(len(self.rows))):
            raise RuntimeError("no step")
        steps = [self.step_alone(row) for row in range(len(self.rows))]
        return StepResult(*(np.concatenate(values) for values in zip(*steps, strict=True)))

    def step_alone(self, row: int) -> StepResult:
        token = self._next(row)
        if token == BROKEN_STEP + 100:
            raise RuntimeError("no step")
        self.rows[row][1].append(token)
        logit = float("nan") if token == NO_NUMBER + 100 else float(token)
        return StepResult(np.array([token], np.int32), np.array([logit], np.float32))

    def log_probs(self) -> Floats:
        last = [decoded[-1] if decoded else 0 for _, decoded in self.rows]
        return np.array(last, np.float32) / -1024

    def candidates(self, count: int) -> Candidates:
        raise AssertionError("greedy search without a prefix has no choice")

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        raise AssertionError("greedy search without a prefix moves no row")

    def retire(self, row: int) -> None:
        self.rows[row] = self.rows[-1]
        self.rows.pop()

    def _next(self, row: int) -> int:
        whole, decoded = self.rows[row]
        return whole[len(decoded)]
