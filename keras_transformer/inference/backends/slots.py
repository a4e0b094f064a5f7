"""The rows that the decoder has going in ONNX Runtime: they come and go, their caches are written in place.

N slots, B rows, S source length, D width, H heads, K width of a head, L layers of the decoder.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS: dict[str, type[np.generic]] = {"tensor(float)": np.float32, "tensor(int8)": np.int8}


class Slots:
    """Rows that are being decoded: the first `rows` of the slots are taken, in the order they came.

    All buffers lie still, so that ONNX Runtime is told once for each number of rows where they are.
    """

    def __init__(self, decoder: Any, slots: int, longest_source: int, longest_answer: int) -> None:
        """`decoder` is a session of the decoder."""
        self.rows = 0
        self._decoder = decoder
        inputs = {value.name: value for value in decoder.get_inputs()}
        parts = sum(name.startswith("last") for name in inputs)
        _, heads, _, head = inputs["cache_key_0"].shape
        kind = KINDS[inputs["cache_key_0"].type]
        sizes = {"cache": max(2, longest_answer), "memory": max(2, longest_source)}
        self._caches: dict[str, NDArray[Any]] = {
            name: np.zeros((parts, slots, heads, size, head), kind) for name, size in sizes.items()
        }
        self._capacities = {kind: np.array(size, np.int32) for kind, size in sizes.items()}
        self._last = np.zeros((parts, slots, 1, heads * head), np.float32)
        self._token = np.zeros((slots, 1), np.int32)
        self._position = np.zeros(slots, np.int32)
        self._memory_position = np.zeros(slots, np.int32)
        self._log_prob = np.zeros((slots, 1), np.float32)
        self._bindings: dict[int, Any] = {}

    @property
    def free(self) -> int:
        """How many rows may come."""
        return len(self._token) - self.rows

    def admit(self, encoded: Sequence[NDArray[Any]], start_id: int) -> None:
        """Rows behind those that are there, as the encoder gives them."""
        memory, last = encoded
        _, rows, _, length, _ = memory.shape
        new = slice(self.rows, self.rows + rows)
        self._caches["memory"][:, new, :, :length] = memory
        self._last[:, new] = last
        self._memory_position[new] = length - 1
        self._position[new] = 0
        self._token[new] = start_id
        self.rows += rows

    def step(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """-> the next token of each row (B,) and its log-probability (B,).

        Both are views: the next step writes over them.
        """
        self._run()
        return self._token[: self.rows, 0], self._log_prob[: self.rows, 0]

    def _run(self) -> None:
        binding = self._bindings.get(self.rows)
        if binding is None:
            binding = self._bindings[self.rows] = self._bound(slice(self.rows))
        self._decoder.run_with_iobinding(binding)
        self._position[: self.rows] += 1

    def step_alone(self, row: int) -> tuple[int, float]:
        """The next token and its log-probability of one row, while the others stand still."""
        self._decoder.run_with_iobinding(self._bound(slice(row, row + 1)))
        self._position[row] += 1
        return int(self._token[row, 0]), float(self._log_prob[row, 0])

    def say(self, row: int, token: int) -> None:
        """Have a row go on as if this had been its next token."""
        self._token[row, 0] = token

    def retire(self, row: int) -> None:
        """A row leaves, and the last one takes its slot."""
        self.rows -= 1
        if row == self.rows:
            return
        written = {"cache": self._position[self.rows], "memory": self._memory_position[self.rows] + 1}
        for kind, buffer in self._caches.items():
            buffer[:, row, :, : written[kind]] = buffer[:, self.rows, :, : written[kind]]
        self._last[:, row] = self._last[:, self.rows]
        for values in (self._token, self._position, self._memory_position):
            values[row] = values[self.rows]

    def _bound(self, rows: slice) -> Any:
        binding = self._decoder.io_binding()
        inputs, outputs = self._values(rows)
        for kind, buffer in self._caches.items():
            inputs[f"{kind}_capacity"] = self._capacities[kind]
            for part in range(len(buffer)):
                name = f"{kind}_{part_name(part)}"
                inputs[name] = outputs[f"{name}_written"] = buffer[part, rows]
        for part in range(len(self._last)):
            inputs[f"last_{part_name(part)}"] = self._last[part, rows]
        for name, values in inputs.items():
            binding.bind_input(name, *_place(values))
        for name, values in outputs.items():
            binding.bind_output(name, *_place(values))
        return binding

    def _values(self, rows: slice) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """What the decoder reads and what it says of these rows, but for the caches."""
        inputs = {
            "token": self._token[rows],
            "position": self._position[rows],
            "memory_position": self._memory_position[rows],
        }
        return inputs, {"next": self._token[rows], "log_prob": self._log_prob[rows]}


def _place(values: NDArray[Any]) -> tuple[Any, ...]:
    return "cpu", 0, values.dtype.type, values.shape, values.ctypes.data


def part_name(part: int) -> str:
    """What the graphs call the part-th of the keys and values of all layers."""
    return f"{('key', 'value')[part % 2]}_{part // 2}"
