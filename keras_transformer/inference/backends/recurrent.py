"""Backend on ONNX Runtime for recurrent models: each row keeps a state instead of a growing cache.

B rows, S largest number of tokens of a source.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.inference.backend import Candidates, Encoded, Floats, Ids, StepResult
from keras_transformer.inference.backends.candidate_graph import likeliest


class RecurrentBackend:
    """Backend on the encoder and decoder graphs of `keras_transformer.graphs.recurrent`.

    Attention reads sources that are padded to `longest_source`, so the last bits of a score may differ
    between batches.

    Args:
        encoder: Session of the encoder.
        decoder: Session of the decoder.
        scores: Session of the graph of log-probabilities.
        candidates: Session of the graph of candidates.
        start_id: Id of the token before every answer.
        slots: Largest number of rows.
        longest_source: Largest number of tokens of a source.
        longest_answer: Ignored: a state has the same size for an answer of any length.
    """

    has_candidates = True

    def __init__(
        self,
        encoder: Any,
        decoder: Any,
        scores: Any,
        candidates: Any,
        start_id: int,
        slots: int,
        longest_source: int,
        longest_answer: int,
    ) -> None:
        self.slots = slots
        self.rows = 0
        self.start_id = start_id
        self._encoder, self._decoder = encoder, decoder
        self._scores, self._candidates = scores, candidates
        self._names = [value.name for value in encoder.get_outputs()]
        _, *read = encoder.get_outputs()
        # inputs that every step reads: (B, S, size), or (B, 1, size) if they do not grow with the source
        self._read = [
            np.zeros((slots, longest_source if value.shape[2] == "source" else 1, value.shape[3]), np.float32)
            for value in read
        ]
        (states,) = (value.shape[1] for value in decoder.get_inputs() if value.name == "state")
        self._state = np.zeros((slots, states), np.float32)
        self._token = np.zeros((slots, 1), np.int32)
        (logits,) = (value.shape[1] for value in decoder.get_outputs() if value.name == "logits")
        self._logits = np.zeros((slots, logits), np.float32)
        self._log_probs: Floats = self._logits[:0]  # of the last call of log_probs

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources that all have the same length."""
        encoded: Encoded = self._encoder.run(None, {"source": np.array(sources, np.int32)})
        return encoded

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Copy each encoded sentence into the next `copies` free slots."""
        state, *read = (np.repeat(part[0], copies, axis=0) for part in encoded)
        new = slice(self.rows, self.rows + len(state))
        for buffer, part in zip(self._read, read, strict=True):
            buffer[new, : part.shape[1]] = part
            buffer[new, part.shape[1] :] = 0
        self._state[new] = state
        self._token[new] = self.start_id
        self.rows += len(state)

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        return self._run(slice(self.rows))

    def step_alone(self, row: int) -> StepResult:
        """Decode the next token of one row."""
        return self._run(slice(row, row + 1))

    def log_probs(self) -> Floats:
        """Return the log-probability of the likeliest token of each row."""
        inputs = {"logits": self._logits[: self.rows], "next": self._token[: self.rows]}
        log_prob, self._log_probs = self._scores.run(["log_prob", "log_probs"], inputs)
        of_rows: Floats = log_prob[:, 0]
        return of_rows

    def candidates(self, count: int) -> Candidates:
        """Return the candidates of each row."""
        return likeliest(self._candidates, self._log_probs, count)

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Copy to each row the state of its parent row in the beam, and set its last token."""
        self._state[rows] = self._state[parents]
        self._token[rows, 0] = tokens

    def retire(self, row: int) -> None:
        """Free a row. The last row moves to the freed slot."""
        self.rows -= 1
        for buffer in (*self._read, self._state, self._token):
            buffer[row] = buffer[self.rows]

    def _run(self, rows: slice) -> StepResult:
        values = (self._state, *self._read)
        inputs: dict[str, NDArray[Any]] = {
            name: buffer[rows] for name, buffer in zip(self._names, values, strict=True)
        }
        outputs = ["next", "logit", "logits", "state_written"]
        token, logit, logits, state = self._decoder.run(outputs, {"token": self._token[rows], **inputs})
        self._token[rows], self._logits[rows], self._state[rows] = token, logits, state
        return StepResult(token[:, 0], logit[:, 0])
