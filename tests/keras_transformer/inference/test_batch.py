"""The batch by itself: who comes, who goes, and that nobody suffers for another."""

import math

import pytest

from keras_transformer.inference.backend import Floats
from keras_transformer.inference.batch import NOT_FINITE, Batch
from keras_transformer.inference.request import End, Request
from tests.support.fake_backend import (
    BROKEN_SOURCE,
    BROKEN_STEP,
    END,
    NO_NUMBER,
    FakeBackend,
    answer,
)


def request(*source: int, most: int = 100, **options: object) -> Request:
    return Request([*source, END], most, **options)


def decoded(batch: Batch, now: float = 0.0) -> list[Request]:
    """Everyone who ends, in the order of their ending."""
    ended: list[Request] = []
    while batch:
        ended += batch.step(now).ended
    return ended


def test_each_gets_its_own_answer_whenever_it_came_and_however_long_it_is() -> None:
    batch = Batch(FakeBackend(4), END)
    first, second, third = request(5, 6, 7), request(8), request(9)
    assert batch.admit([first, second]) == []
    ended = batch.step(0.0).ended
    batch.admit([third])
    ended += decoded(batch)
    assert [each.tokens for each in (first, second, third)] == [
        answer(each.source) for each in (first, second, third)
    ]
    assert {each.end for each in ended} == {End.STOP}
    assert ended == [second, third, first]  # with steps 2, 3 and 4
    assert batch.free == 4


def test_sentences_of_one_length_are_encoded_together_and_no_others() -> None:
    runtime = FakeBackend(8)
    Batch(runtime, END).admit([request(5), request(6, 7), request(8), request(9, 10)])
    assert runtime.encoded == [[[5, END], [8, END]], [[6, 7, END], [9, 10, END]]]


def test_an_answer_that_is_long_enough_ends_there() -> None:
    batch = Batch(FakeBackend(1), END)
    long = request(5, 6, 7, most=2)
    batch.admit([long])
    assert decoded(batch) == [long]
    assert (long.tokens, long.end) == ([105, 106], End.LENGTH)


class Counting(FakeBackend):
    """It counts how often log-probabilities are computed."""

    computed = 0

    def log_probs(self) -> Floats:
        self.computed += 1
        return super().log_probs()


def test_log_probabilities_are_computed_while_a_request_in_the_batch_needs_them() -> None:
    runtime = Counting(4)
    batch = Batch(runtime, END)
    needs, other = request(5), request(6, 7, 8, scores=False)
    batch.admit([needs, other])
    decoded(batch)
    assert (runtime.steps, runtime.computed) == (4, 2)  # the first answer has one token and its end
    assert needs.log_probs == [-105 / 1024, -END / 1024]
    assert needs.answers[0].score == sum(needs.log_probs) / 2
    assert (other.tokens, other.log_probs) == (answer(other.source), [])
    assert math.isnan(other.answers[0].score)


def test_where_log_probabilities_fail_those_who_need_them_fail_and_no_others() -> None:
    class WithoutMemory(FakeBackend):
        def log_probs(self) -> Floats:
            raise MemoryError("no memory for scores")

    batch = Batch(WithoutMemory(4), END)
    needs, other = request(5), request(6, 7, scores=False)
    batch.admit([needs, other])
    assert decoded(batch) == [needs, other]
    assert (needs.end, needs.error) == (End.FAILED, "no memory for scores")
    assert (other.tokens, other.end) == (answer(other.source), End.STOP)


@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize("bad", [BROKEN_SOURCE, BROKEN_STEP, NO_NUMBER])
def test_one_whose_step_or_encoding_fails_fails_alone(bad: int, scores: bool) -> None:
    batch = Batch(FakeBackend(4), END)
    good, broken, other = (request(*source, scores=scores) for source in ((5, 6), (7, bad), (8, 9)))
    failed = batch.admit([good, broken, other])
    failed += [each for each in decoded(batch) if each.end is End.FAILED]
    assert failed == [broken]
    assert (
        broken.error
        == {
            BROKEN_SOURCE: "no encoding",
            BROKEN_STEP: "no step",
            NO_NUMBER: NOT_FINITE,
        }[bad]
    )
    for each in (good, other):
        assert (each.tokens, each.end, each.error) == (answer(each.source), End.STOP, "")


def test_one_that_is_cancelled_or_too_late_costs_no_further_step() -> None:
    runtime = FakeBackend(2)
    batch = Batch(runtime, END)
    cancelled, late = request(5, 6, 7), request(5, 6, 7, deadline=1.0)
    batch.admit([cancelled, late])
    batch.step(0.0)
    cancelled.cancelled = True
    assert batch.step(1.0).ended == [late, cancelled]
    assert (cancelled.end, late.end) == (End.CANCELLED, End.EXPIRED)
    assert len(cancelled.tokens) == len(late.tokens) == runtime.steps == 1


def test_all_who_leave_have_the_same_end_and_cost_no_further_step() -> None:
    runtime = FakeBackend(3)
    batch = Batch(runtime, END)
    requests = [request(5, 6, 7), request(8, 9)]
    batch.admit(requests)
    batch.step(0.0)
    assert set(batch.leave(End.STOPPED)) == set(requests)
    assert [each.end for each in requests] == [End.STOPPED, End.STOPPED]
    assert (len(batch), batch.members, batch.free, runtime.steps) == (0, [], 3, 1)
    assert batch.leave(End.STOPPED) == []
