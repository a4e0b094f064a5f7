"""Backend on ONNX Runtime, which writes its caches in place, in buffers that never move.

N slots, B rows, S source length, D width, H heads, K head width, L decoder layers, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.inference.backend import Candidates, Encoded, Floats, Ids, StepResult
from keras_transformer.inference.backends.candidate_graph import likeliest
from keras_transformer.inference.backends.memory_rows import MemoryRows

VALUES = ("logit", "logits", "log_prob", "log_probs")  # outputs with a row of numbers for each row
MAX_BINDINGS = 512  # of numbers of rows and capacities, which a server with mixed lengths has many of
KINDS: dict[str, type[np.generic]] = {"tensor(float)": np.float32, "tensor(int8)": np.int8}

Arrays = dict[str, NDArray[Any]]


class OnnxBackend:
    """Backend on the encoder and decoder graphs of `keras_transformer.graphs.transformer`.

    The first B slots are in use. Buffers never move, so one binding for each B and capacity is enough.

    Args:
        encoder: Session of the encoder.
        decoder: Session of the decoder.
        scores: Session of the graph of log-probabilities; None for a decoder of an earlier release, which
            computes them itself.
        candidates: Session of the graph of candidates; None for no beams and prefixes.
        start_id: Id of the token before every answer.
        slots: Maximum of B.
        longest_source: Largest number of tokens of a source.
        longest_answer: Largest number of tokens of an answer.
    """

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
        inputs = {value.name: value for value in decoder.get_inputs()}
        parts = sum(name.startswith(("cache_key", "cache_value")) for name in inputs)
        _, heads, _, head = inputs["cache_key_0"].shape
        kind = KINDS[inputs["cache_key_0"].type]
        longest = max(2, longest_answer)
        self._cache: NDArray[Any] = np.zeros((parts, slots, heads, longest, head), kind)
        self._cache_capacity = np.array(longest, np.int32)
        self._memory = MemoryRows((parts, slots, heads, max(2, longest_source), head), kind)
        # graphs of earlier releases write the last source token at each step, over itself
        self._last = np.zeros((parts if "last_key_0" in inputs else 0, slots, 1, heads * head), np.float32)
        self._token = np.zeros((slots, 1), np.int32)
        self._position = np.zeros(slots, np.int32)
        self._memory_position = np.zeros(slots, np.int32)
        self._scores, self._candidates = scores, candidates
        self._logits = _buffers(decoder, slots)  # of earlier releases log-probabilities
        self._log_probs = self._logits if scores is None else _buffers(scores, slots)
        self.has_candidates = candidates is not None and "log_probs" in self._log_probs
        self._bindings: dict[tuple[int, int], Any] = {}
        self._scores_bindings: dict[int, Any] = {}

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources of one length."""
        encoded: Encoded = self._encoder.run(None, {"source": np.array(sources, np.int32)})
        return encoded

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Copy encoded sentences into the next free slots, `copies` times each."""
        memory, *last = (part if copies == 1 else np.repeat(part, copies, axis=1) for part in encoded)
        _, rows, _, length, _ = memory.shape
        new = slice(self.rows, self.rows + rows)
        self._memory.reserve(max(length, 1 + self._memory_position[: self.rows].max(initial=0)), self.rows)
        self._memory.values[:, new, :, :length] = memory
        if last:
            (self._last[:, new],) = last
        self._memory_position[new] = length - 1
        self._position[new] = 0
        self._token[new] = self.start_id
        self.rows += rows

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        rows = slice(self.rows)
        shape = self.rows, int(self._memory.capacity)
        binding = self._bindings.get(shape)
        if binding is None:
            if len(self._bindings) == MAX_BINDINGS:
                self._bindings.clear()
            binding = self._bindings[shape] = self._bound(rows)
        self._memory.count_step()
        return self._run(binding, rows)

    def step_alone(self, row: int) -> StepResult:
        """Decode the next token of one row."""
        rows = slice(row, row + 1)
        return self._run(self._bound(rows), rows)

    def log_probs(self) -> Floats:
        """Return the log-probability of the likeliest token of each row."""
        rows = slice(self.rows)
        if self._scores is not None:
            binding = self._scores_bindings.get(self.rows)
            if binding is None:
                inputs = {"logits": self._logits["logits"][rows], "next": self._token[rows]}
                binding = _bound(self._scores, inputs, _of_rows(self._log_probs, rows))
                self._scores_bindings[self.rows] = binding
            self._scores.run_with_iobinding(binding)
        return self._log_probs["log_prob"][rows, 0]

    def candidates(self, count: int) -> Candidates:
        """Return the candidates of each row."""
        return likeliest(self._candidates, self._log_probs["log_probs"][: self.rows], count)

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Copy the caches of parent rows to their rows, and set the last tokens."""
        self._token[rows, 0] = tokens
        cache, moved = self._cache, rows != parents
        for row, parent in zip(rows[moved].tolist(), parents[moved].tolist(), strict=True):
            written = self._position[parent]
            cache[:, row, :, :written] = cache[:, parent, :, :written]

    def retire(self, row: int) -> None:
        """Free a row; the last row moves to its slot."""
        self.rows -= 1
        if row == self.rows:
            return
        for buffer, written in (
            (self._cache, self._position[self.rows]),
            (self._memory.values, self._memory_position[self.rows] + 1),
        ):
            buffer[:, row, :, :written] = buffer[:, self.rows, :, :written]
        self._last[:, row] = self._last[:, self.rows]
        for values in (self._token, self._position, self._memory_position):
            values[row] = values[self.rows]

    def _run(self, binding: Any, rows: slice) -> StepResult:
        self._decoder.run_with_iobinding(binding)
        self._position[rows] += 1
        logits = self._logits["logit" if "logit" in self._logits else "log_prob"]
        return StepResult(self._token[rows, 0], logits[rows, 0])

    def _bound(self, rows: slice) -> Any:
        inputs: Arrays = {
            "token": self._token[rows],
            "position": self._position[rows],
            "memory_position": self._memory_position[rows],
            "cache_capacity": self._cache_capacity,
            "memory_capacity": self._memory.capacity,
        }
        outputs = self._outputs(rows)
        for kind, buffer in (("cache", self._cache), ("memory", self._memory.values)):
            for part in range(len(buffer)):
                name = f"{kind}_{part_name(part)}"
                inputs[name] = outputs[f"{name}_written"] = buffer[part, rows]
        for part in range(len(self._last)):
            inputs[f"last_{part_name(part)}"] = self._last[part, rows]
        return _bound(self._decoder, inputs, outputs)

    def _outputs(self, rows: slice) -> Arrays:
        """Return the buffers of the decoder's outputs for these rows, except the caches."""
        return {"next": self._token[rows]} | _of_rows(self._logits, rows)


def _buffers(session: Any, slots: int) -> Arrays:
    """Return a buffer for each output of logits or log-probabilities."""
    outputs = {value.name: value for value in session.get_outputs()}
    return {name: np.zeros((slots, outputs[name].shape[1]), np.float32) for name in VALUES if name in outputs}


def _of_rows(buffers: Arrays, rows: slice) -> Arrays:
    return {name: buffer[rows] for name, buffer in buffers.items()}


def _bound(session: Any, inputs: Arrays, outputs: Arrays) -> Any:
    """Bind the inputs and outputs of a session to arrays, which must not move."""
    binding = session.io_binding()
    for name, values in inputs.items():
        binding.bind_input(name, *_address(values))
    for name, values in outputs.items():
        binding.bind_output(name, *_address(values))
    return binding


def _address(values: NDArray[Any]) -> tuple[Any, ...]:
    return "cpu", 0, values.dtype.type, values.shape, values.ctypes.data


def part_name(part: int) -> str:
    """Return the name in the graphs of one of the 2 L keys and values of all layers."""
    return f"{('key', 'value')[part % 2]}_{part // 2}"
