"""The queue by itself: who goes first, who goes together, and when it is full."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from keras_transformer.inference.queue import NEAR, SLACK, Queue, QueueFullError
from keras_transformer.inference.request import End, Request
from tests.support.fake_backend import END


def request(*source: int, **options: Any) -> Request:
    return Request([*source, END], 100, **options)


def next_one(queue: Queue) -> Request:
    """Take one request; a budget of one token keeps all others back."""
    (first,), lost = queue.take(max_rows=8, max_tokens=1, now=0.0)
    assert lost == []
    return first


def taken(queue: Queue) -> list[Request]:
    """Take all requests, one after the other."""
    requests = [next_one(queue) for _ in range(len(queue.waiting))]
    assert not queue.waiting
    assert [queue.ahead_of(priority) for priority in (-1, 0, 1)] == [0, 0, 0]
    return requests


def test_the_highest_priority_goes_first_and_then_the_oldest() -> None:
    queue = Queue(10)
    requests: Sequence[Request] = [request(place, priority=place % 2) for place in range(6)]
    for each in requests:
        queue.put(each)
    assert taken(queue) == [requests[place] for place in (1, 3, 5, 0, 2, 4)]


def test_a_beam_waits_for_its_rows_and_those_behind_it_do_not_pass() -> None:
    queue = Queue(10)
    wide, narrow = request(1, beam=5), request(2)
    queue.put(wide, narrow)
    assert queue.ahead_of(0) == 6  # rows
    assert queue.take(4, 100, 0.0) == ([], [])
    assert queue.take(5, 100, 0.0) == ([wide], [])
    assert queue.take(5, 100, 0.0) == ([narrow], [])


def test_a_queue_takes_so_many_and_says_so() -> None:
    queue = Queue(2)
    first, second, third = request(1), request(2), request(3)
    queue.put(first)
    queue.put(second)
    with pytest.raises(QueueFullError) as told:
        queue.put(third)
    assert str(told.value).startswith("2 requests are waiting")
    assert told.value.wait == 0.0
    assert queue.discard(first)  # its room is free at once
    assert not queue.discard(first)
    queue.put(third)
    assert len(queue.waiting) == 2
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
        assert len(queue.waiting) == len(staying)
        assert len(queue._heap) <= 2 * len(staying) + SLACK + 1
    assert taken(queue) == staying


def test_what_stays_keeps_its_order_whoever_leaves() -> None:
    rng = random.Random(3)
    queue = Queue(1_000)
    requests = [request(place, priority=rng.randrange(5)) for place in range(1_000)]
    queue.put(*requests)
    for each in rng.sample(requests, 540):
        queue.discard(each)
        requests.remove(each)
    assert len(queue._heap) < 500  # it was cleared on the way
    assert taken(queue) == sorted(requests, key=lambda each: -each.priority)


def test_who_comes_next_goes_behind_those_of_its_own_priority_and_of_higher_ones() -> None:
    queue = Queue(10)
    low, _, normal, high = requests = [request(5, priority=priority) for priority in (-1, 0, 0, 2)]
    queue.put(*requests)
    assert [queue.ahead_of(priority) for priority in (3, 2, 1, 0, -1)] == [0, 1, 1, 3, 4]
    queue.discard(normal)
    assert next_one(queue) is high
    assert [queue.ahead_of(priority) for priority in (2, 0, -1)] == [0, 1, 2]
    queue.discard(low)
    assert queue.ahead_of(-1) == 1


def test_a_refusal_says_how_long_the_wait_would_have_been() -> None:
    assert Queue(1).overflow(wait=2.5).wait == 2.5


def test_with_the_first_go_others_of_its_length_priority_and_beam_that_are_not_lost() -> None:
    queue = Queue(20)
    first, second, third, fourth = (request(place, 5) for place in range(4))
    longer, urgent = request(4, 5, 6), request(4, 5, priority=1)
    wide, late = request(4, 5, beam=2), request(4, 5, deadline=1.0)
    cancelled, discarded = request(4, 5, cancelled=True), request(4, 5)
    queue.put(first, longer, late, second, wide, urgent, cancelled, third, discarded, fourth)
    queue.discard(discarded)
    assert queue.take(max_rows=1, max_tokens=100, now=1.0) == ([urgent], [])
    assert queue.take(max_rows=3, max_tokens=100, now=1.0) == ([first, second, third], [])
    assert queue.take(max_rows=9, max_tokens=100, now=1.0) == ([longer, wide, fourth], [late, cancelled])
    assert (late.end, cancelled.end) == (End.EXPIRED, End.CANCELLED)
    assert not queue.waiting


def test_a_beam_waits_until_all_of_its_rows_are_free() -> None:
    queue = Queue(20)
    wide, narrow = request(4, 5, beam=4), request(4)
    queue.put(wide, narrow)
    assert queue.take(max_rows=3, max_tokens=100, now=0.0) == ([], [])
    assert queue.take(max_rows=4, max_tokens=100, now=0.0) == ([wide], [])


@pytest.mark.parametrize(("between", "found"), [(NEAR // 2, True), (3 * NEAR, False)])
def test_only_requests_near_the_head_are_looked_through(between: int, found: bool) -> None:
    queue = Queue(1_000)
    first, far = request(1), request(2)
    queue.put(first, *(request(1, 2, 3) for _ in range(between)), far)
    assert queue.take(max_rows=2, max_tokens=4, now=0.0) == ([first, far] if found else [first], [])
