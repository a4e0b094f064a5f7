"""The engine with real graphs: in any batch, tokens and scores are bit for bit those of a request alone."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from export.calibration import observed_ranges
from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx, open_backend
from export.formats.writers.onnx_scheduler import write_scheduler_onnx
from keras_transformer import TranslationModel
from keras_transformer.graphs.int8 import Int8
from keras_transformer.inference.backend import Encoded, StepResult
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.queue import QueueFullError
from keras_transformer.inference.request import End, Request
from keras_transformer.models.network import Network
from keras_transformer.text.lengths import longest_answer
from serving.engine.engine import Engine
from tests.support.counts import counts
from tests.support.fake_backend import END
from tests.support.serving.told import Told

START, LENGTH = 2, 40


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("version")
    keras.utils.set_random_seed(4)
    model = TranslationModel(Network(1, 2, 16, 24, 2, max_length=LENGTH), 100)
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 2.0)
    write_scheduler_onnx(model, directory)
    write_scheduler_onnx(model, directory, Int8(observed_ranges(model, sources(20), START, END)))
    return directory


def sources(count: int) -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, 100, rng.integers(1, 15)).tolist(), END] for _ in range(count)]


def backend(kind: type[OnnxBackend], version: Path, precision: str, slots: int) -> Any:
    sessions = open_backend(version, precision, START).args[:4]
    return kind(*sessions, START, slots, LENGTH, LENGTH)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_answers_and_scores_are_bit_for_bit_those_of_a_sentence_alone(version: Path, precision: str) -> None:
    runtime = SchedulerOnnx(version, precision, START, END, LENGTH)
    rows = sources(300)
    alone = [runtime.translate_ids([row])[0] for row in rows]
    told = Told()
    engine = Engine(backend(OnnxBackend, version, precision, 13), END, prefill_tokens=40).start()
    requests = [Request(row, min(longest_answer(len(row)), LENGTH), on_end=told) for row in rows]
    for each in requests:
        engine.submit(each)
    assert engine.stop(timeout=120)
    for each, expected in zip(requests, alone, strict=True):
        assert each.tokens == expected.ids
        assert sum(each.log_probs) / len(each.log_probs) == expected.score


class Stepping(OnnxBackend):
    """Its clock goes on by one with each step."""

    now = 0.0

    def step(self) -> StepResult:
        self.now += 1.0
        return super().step()


@counts(150, 5_000)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_beams_of_any_width_have_the_tokens_and_scores_that_they_have_alone(
    version: Path, precision: str, count: int
) -> None:
    """Also beside requests that are cancelled before or while they are decoded, and that expire."""
    rng, rows = random.Random(3), sources(count)
    told, runtime = Told(), backend(Stepping, version, precision, 13)
    engine = Engine(runtime, END, count, prefill_tokens=40, clock=lambda: runtime.now).start()

    def cancel_others(request: Request) -> None:
        told(request)
        for other in cancelled_after.pop(id(request), []):
            cancelled.add(id(other))
            engine.cancel(other)

    requests = [
        Request(
            row,
            min(longest_answer(len(row)), LENGTH),
            on_end=cancel_others,
            beam=rng.choice([1, 1, 2, 3, 4, 5, 8]),
            length_penalty=rng.choice([0.0, 0.6, 1.0]),
            prefix=rng.choice([(), (), (7,), (8, 9, 10)]),
            deadline=rng.uniform(0, 4 * count) if rng.random() < 0.05 else None,
        )
        for row in rows
    ]
    at_once = rng.sample(requests, count // 40)
    cancelled = {id(each) for each in at_once}
    # the end of some requests cancels the three after them, which are being decoded then, or still wait
    places = rng.sample(range(count - 4), count // 20)
    cancelled_after = {id(requests[place]): requests[place + 1 : place + 4] for place in places}
    refused = []
    for each in requests:
        try:
            engine.submit(each)
        except QueueFullError:
            refused.append(each)
        if each in at_once:
            engine.cancel(each)
    assert engine.stop(timeout=600)
    assert engine.running == 0 and runtime.rows == 0
    ends = [each.end for each in requests]
    assert {End.CANCELLED, End.EXPIRED} <= set(ends)
    assert any(
        each.end is End.CANCELLED and each.beam > 1 and each.admitted_at is not None for each in requests
    )
    alone_runtime = SchedulerOnnx(version, precision, START, END, LENGTH)
    different = 0
    for each in requests:
        if each.end is End.EXPIRED or each in refused:
            assert each.deadline is not None
        assert each.end is not End.CANCELLED or id(each) in cancelled
        if each.end is End.CANCELLED or each.end is End.EXPIRED or each in refused:
            assert each.answers == []
            continue
        (alone,) = alone_runtime.search([each.source], each.beam, each.length_penalty, [each.prefix])
        assert each.answers == alone
        assert (each.tokens, each.log_probs) == (alone[0].ids, list(alone[0].log_probs))
        (greedy,) = alone_runtime.search([each.source], prefixes=[each.prefix])
        different += greedy[0].ids != alone[0].ids
    assert different > count / 20  # the beams change something
    assert engine.counts.tokens > sum(len(each.tokens) for each in requests)  # of all rows
    print(f"\n{count:,} requests, {precision}: {ends.count(End.CANCELLED)} cancelled, "
          f"{ends.count(End.EXPIRED)} expired, {len(refused)} refused, 0 differ")  # fmt: skip


def test_a_wide_beam_is_admitted_in_its_turn_however_many_greedy_requests_come(version: Path) -> None:
    told = Told()
    engine = Engine(backend(OnnxBackend, version, "float32", 8), END)
    row = [*range(5, 15), END]
    before = [Request(row, 20, on_end=told) for _ in range(40)]
    after = [Request(row[1:], 20, on_end=told) for _ in range(200)]  # of another length: none is taken along
    wide = [Request(row, 20, on_end=told, beam=8) for _ in range(3)]
    engine.start()
    for each in (*before, *wide, *after):
        engine.submit(each)
    assert engine.stop(timeout=120)
    admitted = [each.admitted_at or 0.0 for each in (*before, *wide)]
    assert max(admitted) < min(each.admitted_at or 0.0 for each in after)
    assert all(len(each.answers) == 8 for each in wide)


class Damaging(OnnxBackend):
    """What the decoder reads of this source is no number."""

    bad: list[int]

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        (memory,) = super().encode(sources)
        for row, source in enumerate(sources):
            if source == self.bad:
                memory[:, row] = np.nan
        return [memory]


class Refusing(OnnxBackend):
    """It raises whenever this source is among the rows."""

    bad: list[int]
    coming: Sequence[Sequence[int]] = ()
    held: Sequence[Sequence[int]] = ()

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        self.coming = sources
        return super().encode(sources)

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        super().admit(encoded, copies)
        self.held = [*self.held, *self.coming]

    def retire(self, row: int) -> None:
        super().retire(row)
        self.held[row] = self.held[-1]
        self.held.pop()

    def step(self) -> StepResult:
        if self.bad in self.held:
            raise RuntimeError("no step")
        return super().step()

    def step_alone(self, row: int) -> StepResult:
        if self.held[row] == self.bad:
            raise RuntimeError("no step alone")
        return super().step_alone(row)


@pytest.mark.parametrize(
    ("precision", "kind", "scores"),
    [  # an int8 cannot be no number
        ("float32", Damaging, True),
        ("float32", Damaging, False),
        ("float32", Refusing, True),
        ("int8", Refusing, True),
    ],
)
def test_beside_one_that_the_model_fails_at_the_others_are_exact(
    version: Path, precision: str, kind: type[Damaging] | type[Refusing], scores: bool
) -> None:
    rows = [row for row in sources(60) if len(row) > 1]
    bad = rows[20]
    alone = [SchedulerOnnx(version, precision, START, END, LENGTH).translate_ids([row])[0] for row in rows]
    runtime, told = backend(kind, version, precision, 8), Told()
    runtime.bad = bad
    requests = [
        Request(row, min(longest_answer(len(row)), LENGTH), on_end=told, scores=scores) for row in rows
    ]
    engine = Engine(runtime, END).start()
    engine.submit(*requests)
    assert engine.stop(timeout=120)
    failed = [each for each in requests if each.end is End.FAILED]
    assert [each.source for each in failed] == [bad]
    for each, expected in zip(requests, alone, strict=True):
        if each.source != bad:
            assert each.tokens == expected.ids
            assert each.answers[0].score == expected.score or not scores
