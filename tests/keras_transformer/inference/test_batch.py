"""The batch by itself: who comes, who goes, and that nobody suffers for another."""

from collections.abc import Sequence

import pytest

from keras_transformer.inference.batch import Batch
from keras_transformer.inference.queue import SLACK, Queue, QueueFullError
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


@pytest.mark.parametrize("bad", [BROKEN_SOURCE, BROKEN_STEP, NO_NUMBER])
def test_one_whose_step_or_encoding_fails_fails_alone(bad: int) -> None:
    batch = Batch(FakeBackend(4), END)
    good, broken, other = request(5, 6), request(7, bad), request(8, 9)
    failed = batch.admit([good, broken, other])
    failed += [each for each in decoded(batch) if each.end is End.FAILED]
    assert failed == [broken]
    assert (
        broken.error
        == {
            BROKEN_SOURCE: "no encoding",
            BROKEN_STEP: "no step",
            NO_NUMBER: "the model gave no number",
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


def taken(queue: Queue) -> list[Request]:
    return [queue.take() for _ in range(len(queue))]


def test_the_highest_priority_goes_first_and_then_the_oldest() -> None:
    queue = Queue(10)
    requests: Sequence[Request] = [request(place, priority=place % 2) for place in range(6)]
    for each in requests:
        queue.put(each)
    assert taken(queue) == [requests[place] for place in (1, 3, 5, 0, 2, 4)]


def test_a_queue_takes_so_many_and_says_so() -> None:
    queue = Queue(2)
    first, second, third = request(1), request(2), request(3)
    queue.put(first)
    queue.put(second)
    with pytest.raises(QueueFullError) as told:
        queue.put(third)
    assert str(told.value) == "2 requests are waiting, and 2 may"
    assert queue.discard(first)  # its room is free at once
    assert not queue.discard(first)
    queue.put(third)
    assert len(queue) == 2
    assert taken(queue) == [second, third]


def test_requests_that_belong_together_are_all_taken_or_none() -> None:
    queue = Queue(3)
    first, second, third, fourth = (request(place) for place in range(4))
    queue.put(first, second)
    with pytest.raises(QueueFullError):
        queue.put(third, fourth)
    queue.put(third)
    assert taken(queue) == [first, second, third]


def test_requests_that_come_and_go_leave_nothing_behind_however_many_they_are() -> None:
    queue = Queue(1_000)
    staying: list[Request] = []
    for place in range(5_000):
        going = request(place, priority=-1)  # never the first
        queue.put(going)
        if place % 100 == 0:
            staying.append(request(place))
            queue.put(staying[-1])
        assert queue.discard(going)
        assert len(queue) == len(staying)
        assert len(queue._heap) <= 2 * len(staying) + SLACK + 1
    assert taken(queue) == staying
