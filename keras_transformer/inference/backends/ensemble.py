"""Backend of several models with one vocabulary: their probabilities are averaged at each step.

B rows, N models, V vocabulary.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from keras_transformer.inference.backend import Backend, Candidates, Encoded, Floats, Ids, StepResult
from keras_transformer.inference.backends.candidate_graph import likeliest


class EnsembleBackend:
    """Backend over backends that hold the same rows; each decodes with the token that all of them chose.

    Args:
        members: A backend for each model; all of them have candidates.
        candidates: Session of the graph of candidates.

    Raises:
        ValueError: If a member has no candidates, and so no probabilities.
    """

    has_candidates = True

    def __init__(self, members: Sequence[Backend], candidates: Any) -> None:
        if not all(member.has_candidates for member in members):
            raise ValueError("an ensemble needs backends that return candidates.")
        self.slots = min(member.slots for member in members)
        self._members = members
        self._candidates = candidates
        self._counts = [0] * len(members)  # of the arrays that each member's encoder returns
        self._log_probs: Floats = np.zeros((0, 0), np.float32)
        self._likeliest: Floats = np.zeros(0, np.float32)
        self._failure: RuntimeError | None = None  # of the last step

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources of one length with every model."""
        encoded = [member.encode(sources) for member in self._members]
        self._counts = [len(arrays) for arrays in encoded]
        return [array for arrays in encoded for array in arrays]

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Append `copies` rows for each encoded sentence."""
        arrays = iter(encoded)
        for member, count in zip(self._members, self._counts, strict=True):
            member.admit([*islice(arrays, count)], copies)

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        self._failure = None
        try:
            for member in self._members:
                member.step()
            self._log_probs = mean_log_probs([_log_probs(member) for member in self._members])
        except Exception as error:
            self._failure = RuntimeError(str(error))
            raise
        tokens = self._log_probs.argmax(axis=1).astype(np.int32)
        rows = np.arange(len(tokens), dtype=np.int32)
        for member in self._members:
            member.follow(rows, rows, tokens)
        self._likeliest = self._log_probs[rows, tokens]
        return StepResult(tokens, self._likeliest)

    def step_alone(self, row: int) -> StepResult:
        """Raise the error of the step before: some models have made it and others have not."""
        raise self._failure or RuntimeError("no step has failed")

    def log_probs(self) -> Floats:
        """Return the log-probability of the likeliest token of each row, or raise the error of the step."""
        if self._failure is not None:
            raise self._failure
        return self._likeliest

    def candidates(self, count: int) -> Candidates:
        """Return the candidates of each row after the last step."""
        return likeliest(self._candidates, self._log_probs, count)

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Give each of `rows` the state of its parent row in every model, and set its last token."""
        for member in self._members:
            member.follow(rows, parents, tokens)

    def retire(self, row: int) -> None:
        """Remove a row. The last row takes its index."""
        for member in self._members:
            member.retire(row)


def _log_probs(member: Backend) -> Floats:
    """Return the log-probabilities (B, V) of a member after its step."""
    member.log_probs()
    return member.candidates(1).log_probs


def mean_log_probs(log_probs: Sequence[Floats]) -> Floats:
    """Return the logarithm of the mean of probabilities, N arrays (B, V) -> (B, V).

    It is computed relative to the largest probability, so equal arrays give exactly these values.
    """
    largest: Floats = np.maximum.reduce(log_probs)
    total = np.zeros_like(largest)
    for values in log_probs:
        total += np.exp(values - largest)
    return largest + np.log(total / np.float32(len(log_probs)))
