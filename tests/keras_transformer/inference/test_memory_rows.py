"""The memory of the rows lies close together, and a row keeps its own whatever length the others have."""

import numpy as np
import pytest

from keras_transformer.inference.backends.memory_rows import GRANULE, PATIENCE, MemoryRows

PARTS, SLOTS, HEADS, LONGEST, HEAD = 4, 3, 2, 40, 8


@pytest.fixture
def memory() -> MemoryRows:
    return MemoryRows((PARTS, SLOTS, HEADS, LONGEST, HEAD), np.int8)


def put(memory: MemoryRows, row: int, length: int, others: int) -> np.ndarray:
    """Store a source of this length in a row, as a backend does, and return it."""
    memory.reserve(max(length, others), row)
    source = np.random.default_rng(row).integers(-100, 100, (PARTS, HEADS, length, HEAD)).astype(np.int8)
    memory.values[:, row, :, :length] = source
    return source


def test_a_row_is_the_same_after_the_capacity_has_grown_and_shrunk(memory: MemoryRows) -> None:
    address = memory.values.ctypes.data
    short, longer = put(memory, 0, 5, 0), put(memory, 1, 9, 5)
    assert (memory.values[:, 0, :, :5] == short).all()
    longest = put(memory, 2, 33, 9)
    for row, source in enumerate((short, longer, longest)):
        assert (memory.values[:, row, :, : source.shape[2]] == source).all()
    for _ in range(PATIENCE):
        memory.count_step()
    memory.reserve(9, 2)  # the longest has left
    assert memory.capacity == memory.values.shape[3] == 16
    for row, source in enumerate((short, longer)):
        assert (memory.values[:, row, :, : source.shape[2]] == source).all()
    assert memory.values.ctypes.data == address


def test_the_capacity_is_that_of_the_longest_source_and_at_most_what_was_asked_for(
    memory: MemoryRows,
) -> None:
    capacities = []
    for length in (1, GRANULE, GRANULE + 1, LONGEST - 1, LONGEST):
        memory.reserve(length, 0)
        capacities.append(int(memory.capacity))
    assert capacities == [8, 8, 16, 40, 40]
    odd = MemoryRows((PARTS, SLOTS, HEADS, 13, HEAD), np.int8)
    odd.reserve(12, 0)
    assert odd.capacity == odd.values.shape[3] == 13


def test_rows_are_moved_together_only_after_some_steps_unless_there_are_none(memory: MemoryRows) -> None:
    memory.reserve(30, 0)
    for steps in range(PATIENCE):
        assert memory.capacity == 32, steps
        memory.reserve(5, 2)
        memory.count_step()
    memory.reserve(5, 2)
    assert memory.capacity == 8
    memory.reserve(30, 2)  # a longer source does not wait
    assert memory.capacity == 32
    memory.reserve(5, 0)  # nothing has to be moved
    assert memory.capacity == 8
