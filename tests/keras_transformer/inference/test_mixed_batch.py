"""Requests of every beam width share one batch, and each has the answers that it has alone."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from keras_transformer.inference.backend import Encoded, StepResult
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.request import End, Request
from tests.support.small_network import LONGEST

START, SLOTS, WIDEST = 2, 13, 4


def backend(sessions: list[Any], kind: type[OnnxBackend] = OnnxBackend, slots: int = SLOTS) -> OnnxBackend:
    return kind(*sessions, START, slots, LONGEST, LONGEST)


def request(place: int, row: Sequence[int]) -> Request:
    begins: list[list[int]] = [[], [], [7], [8, 9]]
    return Request(row, LONGEST, beam=1 + place % WIDEST, prefix=begins[place % 7 % 4], length_penalty=0.6)


def decoded(batch: Batch, requests: Sequence[Request], seed: int = 0) -> None:
    """Admit the requests as there is room for them, a few at a time."""
    choice, waiting = random.Random(seed), list(requests)
    while waiting or batch:
        while waiting and waiting[0].beam <= batch.free and choice.random() < 0.7:
            assert batch.admit([waiting.pop(0)]) == []
        batch.step(0.0)


def alone(sessions: list[Any], rows: list[list[int]], end_id: int) -> list[Request]:
    requests = [request(place, row) for place, row in enumerate(rows)]
    for each in requests:
        decoded(Batch(backend(sessions, slots=each.beam), end_id), [each])
    return requests


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_beams_of_any_width_beside_greedy_ones_change_no_bit_of_each_other(
    sessions: list[Any], rows: list[list[int]], end_id: int, seed: int
) -> None:
    expected = alone(sessions, rows[:60], end_id)
    requests = [request(place, row) for place, row in enumerate(rows[:60])]
    batch = Batch(backend(sessions), end_id)
    decoded(batch, requests, seed)
    assert [each.answers for each in requests] == [each.answers for each in expected]
    assert {len(each.answers) for each in requests if not each.prefix} == {1, 2, 3, 4}
    assert {each.end for each in requests} == {End.STOP, End.LENGTH}
    assert batch.free == SLOTS
    for each in requests:
        for answer in each.answers:
            assert answer.ids[: len(each.prefix)] == list(each.prefix)
            assert answer.score == pytest.approx(sum(answer.log_probs) / len(answer.ids) ** 0.6, abs=1e-5)


class Failing(OnnxBackend):
    """Every step of several rows fails, and steps of the rows of one source do so alone as well."""

    bad: list[int]
    sources: list[Sequence[int]]

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        self.coming = list(sources)
        return super().encode(sources)

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        super().admit(encoded, copies)
        held = [source for source in self.coming for _ in range(copies)]
        self.sources = [*getattr(self, "sources", []), *held]

    def retire(self, row: int) -> None:
        super().retire(row)
        self.sources[row] = self.sources[-1]
        self.sources.pop()

    def step(self) -> StepResult:
        raise RuntimeError("no step together")

    def step_alone(self, row: int) -> StepResult:
        if self.sources[row] == self.bad:
            raise RuntimeError("no step alone")
        return super().step_alone(row)


def test_where_a_step_fails_only_the_request_at_fault_fails(
    sessions: list[Any], rows: list[list[int]], end_id: int
) -> None:
    expected = alone(sessions, rows[:8], end_id)
    requests = [request(place, row) for place, row in enumerate(rows[:8])]
    failing = backend(sessions, Failing)
    assert isinstance(failing, Failing)
    failing.bad = rows[3]  # of a beam of four
    decoded(Batch(failing, end_id), requests)
    assert [each.end is End.FAILED for each in requests] == [place == 3 for place in range(8)]
    assert requests[3].error == "no step alone"
    for place, (each, other) in enumerate(zip(requests, expected, strict=True)):
        if place != 3:
            assert each.answers == other.answers
