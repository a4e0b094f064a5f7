"""The engine's thread: every request is answered once, with its own answer, whatever happens to it."""

import random
import threading

import pytest

from keras_transformer.inference.backend import StepResult
from keras_transformer.inference.queue import QueueFullError
from keras_transformer.inference.request import End, Request
from serving.engine.engine import Engine, EngineStoppedError
from tests.support.counts import counts
from tests.support.fake_backend import END, FakeBackend, answer
from tests.support.serving.told import Told


def request(told: Told, *source: int, most: int = 100, **options: object) -> Request:
    return Request([*source, END], most, on_end=told, **options)


class Held(FakeBackend):
    """Stands still before each step until it is let go."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.steps_allowed = threading.Semaphore(0)
        self.at_step = threading.Semaphore(0)

    def step(self) -> StepResult:
        self.at_step.release()
        assert self.steps_allowed.acquire(timeout=60)
        return super().step()


@counts(5_000, 200_000)
def test_tagged_requests_get_their_own_answers_while_others_are_cancelled(count: int) -> None:
    rng = random.Random(5)
    told, engine = Told(), Engine(FakeBackend(16), END, max_waiting=count).start()
    requests = []
    for tag in range(count):
        source = [10_000 + tag, *(rng.randrange(10, 90) for _ in range(rng.randrange(6)))]
        requests.append(request(told, *source, priority=rng.randrange(3)))
        engine.submit(requests[-1])
        if rng.random() < 0.2:
            engine.cancel(requests[rng.randrange(len(requests))])
    assert engine.stop(timeout=600)
    told.wait_for(len(requests))
    assert len(told.ended) == len(set(map(id, told.ended))) == len(requests)  # each once
    for each in requests:
        whole = answer(each.source)
        if each.end is End.STOP:
            assert each.tokens == whole
        else:
            assert each.end is End.CANCELLED
            assert each.tokens == whole[: len(each.tokens)]
    assert {each.end for each in requests} == {End.STOP, End.CANCELLED}
    assert engine.running == engine.waiting == 0


def test_a_request_that_comes_later_joins_the_batch_that_runs() -> None:
    told, runtime = Told(), Held(4)
    engine = Engine(runtime, END).start()
    long, late = request(told, *range(10, 30)), request(told, 5)
    engine.submit(long)
    assert runtime.at_step.acquire(timeout=60)  # the first step is about to be taken
    engine.submit(late)
    for _ in range(3):
        runtime.steps_allowed.release()
    told.wait_for(1)
    assert told.ended == [late]
    assert 0 < len(long.tokens) < 20
    for _ in range(30):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)


@pytest.mark.parametrize(
    ("waiting", "encoded"),
    [
        ([(1, 0), (4, 0), (1, 0), (4, 0)], [[2, 2], [5, 5]]),
        ([(1, 0), (1, -1), (4, 0)], [[2], [5], [2]]),  # but not before one that is more urgent
    ],
)
def test_the_next_one_comes_with_another_of_its_length_that_waits(
    waiting: list[tuple[int, int]], encoded: list[list[int]]
) -> None:
    told, runtime = Told(), Held(3)
    engine = Engine(runtime, END).start()
    engine.submit(request(told, *range(60, 90)))  # runs all the while: two slots are left
    assert runtime.at_step.acquire(timeout=60)
    engine.submit(*(request(told, *range(10, 10 + words), priority=each) for words, each in waiting))
    for _ in range(100):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)
    assert [[len(source) for source in group] for group in runtime.encoded[1:]] == encoded
    assert all(each.tokens == answer(each.source) for each in told.ended)


def test_where_many_wait_for_a_full_batch_nobody_is_encoded_alone() -> None:
    told, runtime = Told(), Held(16)
    engine = Engine(runtime, END).start()
    engine.submit(request(told, 5))
    assert runtime.at_step.acquire(timeout=60)
    engine.submit(*(request(told, *range(10, 10 + words)) for words in range(2, 17)))  # each ends by itself
    engine.submit(*(request(told, *range(40, 60)) for _ in range(20)))
    for _ in range(1_000):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)
    assert [len(group) for group in runtime.encoded[:16]] == [1] * 16
    assert min(len(group) for group in runtime.encoded[16:]) == 2


def test_what_waits_is_bounded_and_a_cancelled_one_makes_room_at_once() -> None:
    told, runtime = Told(), Held(1)
    engine = Engine(runtime, END, max_waiting=2).start()
    engine.submit(request(told, 5))
    assert runtime.at_step.acquire(timeout=60)
    waiting = [request(told, 6), request(told, 7)]
    for each in waiting:
        engine.submit(each)
    with pytest.raises(QueueFullError):
        engine.submit(request(told, 8))
    engine.cancel(waiting[0])
    assert (told.ended, waiting[0].end) == ([waiting[0]], End.CANCELLED)
    engine.submit(request(told, 9))
    for _ in range(20):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)
    assert len(told.ended) == 4


def test_nothing_expired_is_ever_begun() -> None:
    now = [0.0]
    told, runtime = Told(), Held(1)
    engine = Engine(runtime, END, clock=lambda: now[0]).start()
    engine.submit(request(told, 5))
    assert runtime.at_step.acquire(timeout=60)
    late, in_time = request(told, 6, deadline=1.0), request(told, 7, deadline=3.0)
    engine.submit(late)
    engine.submit(in_time)
    now[0] = 2.0
    for _ in range(20):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)
    assert (late.end, late.tokens) == (End.EXPIRED, [])
    assert (in_time.end, in_time.tokens) == (End.STOP, [107, END])
    assert [[6, END]] not in runtime.encoded


@pytest.mark.parametrize(
    ("waiting", "together"),
    [
        ([8], []),  # one request, but a row of it is free only after eight seconds
        ([1, 1], [8]),
    ],
)
def test_a_deadline_is_judged_by_the_rows_before_it_not_by_the_requests(
    waiting: list[int], together: list[int]
) -> None:
    told, runtime = Told(), Held(16)
    engine = Engine(runtime, END, clock=lambda: 0.0)
    engine._latency.left(seconds=16.0, rows=16, tokens=16)  # a row becomes free every second
    engine.start()
    engine.submit(request(told, 5))
    assert runtime.at_step.acquire(timeout=60)  # the engine stands still: all others wait
    for beam in waiting:
        engine.submit(request(told, 6, beam=beam))
    before = [request(told, 6, beam=beam) for beam in together]
    with pytest.raises(QueueFullError, match="too many for the deadline"):
        engine.submit(*before, request(told, 7, deadline=8.0))
    narrow = [request(told, 6) for _ in together]
    engine.submit(*narrow, request(told, 7, deadline=sum(waiting) + 6.0))
    engine.stop(finish=False, timeout=0)
    runtime.steps_allowed.release()
    assert engine.stop(finish=False, timeout=60)


def test_between_two_steps_so_many_tokens_are_encoded_and_no_more() -> None:
    told, runtime = Told(), Held(8)
    engine = Engine(runtime, END, prefill_tokens=7).start()
    engine.submit(request(told, 5, 6))
    assert runtime.at_step.acquire(timeout=60)
    for _ in range(4):
        engine.submit(request(told, 7, 8))  # 3 tokens each: two of them make 6
    runtime.steps_allowed.release()
    assert runtime.at_step.acquire(timeout=60)
    assert [len(group) for group in runtime.encoded] == [1, 2]
    for _ in range(20):
        runtime.steps_allowed.release()
    assert engine.stop(timeout=60)


def test_a_stream_hears_every_token_as_it_is_said() -> None:
    told, heard = Told(), []
    engine = Engine(FakeBackend(2), END).start()
    each = request(told, 5, 6, on_token=lambda request: heard.append(list(request.tokens)))
    engine.submit(each)
    told.wait_for(1)
    assert heard == [[105], [105, 106], [105, 106, END]]
    engine.stop()


def test_an_engine_that_stops_ends_what_it_has_and_takes_nothing_more() -> None:
    told, runtime = Told(), Held(1)
    engine = Engine(runtime, END).start()
    running, waiting = request(told, 5, 6), request(told, 7)
    engine.submit(running)
    assert runtime.at_step.acquire(timeout=60)
    engine.submit(waiting)
    runtime.steps_allowed.release()
    assert engine.stop(finish=False, timeout=60)
    assert (running.end, waiting.end) == (End.STOPPED, End.STOPPED)
    with pytest.raises(EngineStoppedError) as refused:
        engine.submit(request(told, 8))
    assert str(refused.value) == "the engine takes no more requests"


def test_an_engine_that_dies_tells_everyone_and_that_it_is_dead() -> None:
    class Unable(Held):
        def retire(self, row: int) -> None:
            raise MemoryError

    told, runtime = Told(), Unable(1)
    engine = Engine(runtime, END).start()
    running, waiting = request(told, 5), request(told, 6)
    engine.submit(running)
    assert runtime.at_step.acquire(timeout=60)
    engine.submit(waiting)
    for _ in range(5):
        runtime.steps_allowed.release()
    told.wait_for(2)
    engine.stop(timeout=60)
    assert not engine.alive
    assert (running.end, waiting.end) == (End.STOPPED, End.STOPPED)
