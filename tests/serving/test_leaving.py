"""Who gives up, and who comes too late: nothing of them stays, and nothing is done for them any more."""

import random
import threading

import pytest

from keras_transformer.inference.backend import Encoded, StepResult
from keras_transformer.inference.queue import QueueFullError
from keras_transformer.inference.request import End, Request
from serving.engine.engine import Engine
from serving.engine.latency import LONG
from tests.support.counts import counts
from tests.support.fake_backend import END, FakeBackend, answer
from tests.support.serving.told import Told


@counts(2_000, 10_000)
def test_whoever_is_cancelled_and_whenever_no_row_stays_and_one_step_is_wasted_at_most(count: int) -> None:
    rng = random.Random(6)
    told, runtime = Told(), FakeBackend(16)
    engine = Engine(runtime, END, max_waiting=2 * count).start()
    at_cancel: dict[Request, int] = {}

    def give_up(request: Request) -> None:
        engine.cancel(request)
        at_cancel.setdefault(request, len(request.tokens))

    def after(tokens: int) -> object:
        return lambda request: give_up(request) if len(request.tokens) == tokens else None

    requests = []
    for tag in range(2 * count):
        source = [10_000 + tag, *(rng.randrange(10, 90) for _ in range(rng.randrange(8))), END]
        requests.append(Request(source, 100, on_end=told, priority=rng.randrange(3)))
    chosen = rng.sample(requests, count)
    by_engine, by_caller = chosen[::2], chosen[1::2]
    for each in by_engine:  # in the middle of a turn, at a token of its own
        each.on_token = after(rng.randrange(1, len(each.source) + 1))
    for each in requests:
        engine.submit(each)
        if rng.random() < 0.3 and by_caller:
            give_up(by_caller.pop(rng.randrange(len(by_caller))))
    for each in by_caller:
        give_up(each)
    assert engine.stop(timeout=600)
    wasted = [len(each.tokens) - said for each, said in at_cancel.items()]
    assert max(wasted) <= 1
    submitted_twice = len(told.ended) - len(set(told.ended))
    assert (submitted_twice, set(told.ended)) == (0, set(requests))
    assert runtime.rows == [] and engine.running == engine.waiting == 0
    for each in requests:
        whole = answer(each.source)
        assert each.tokens == whole[: len(each.tokens)]
        assert each.end is End.CANCELLED or each.tokens == whole
    print(f"\n{count:,} cancels: {sum(each.end is End.CANCELLED for each in requests):,} in time, "
          f"{sum(wasted):,} steps wasted")  # fmt: skip


class Ticking(FakeBackend):
    """A step takes a second, and stands still while `going` is not set."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.now = 0.0
        self.begun: dict[int, float] = {}
        self.going = threading.Event()
        self.going.set()
        self.at_step = threading.Event()

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        super().admit(encoded, copies)
        self.begun |= {source[0]: self.now for source in encoded}

    def step(self) -> StepResult:
        self.at_step.set()
        assert self.going.wait(60)
        self.now += 1.0
        return super().step()


@counts(1_000, 5_000)
def test_whatever_the_deadlines_nothing_expired_is_begun_or_gets_another_step(count: int) -> None:
    rng = random.Random(7)
    told, runtime = Told(), Ticking(4)
    engine = Engine(runtime, END, max_waiting=count, clock=lambda: runtime.now).start()
    taken: list[Request] = []
    for tag in range(count):
        source = [10_000 + tag, *(rng.randrange(10, 90) for _ in range(rng.randrange(6))), END]
        deadline = runtime.now + rng.uniform(-1.0, 1.5 * count)  # about as long as all of them take
        each = Request(source, 100, on_end=told, deadline=deadline, priority=rng.randrange(3))
        try:
            engine.submit(each)
            taken.append(each)
        except QueueFullError:
            assert each.tokens == [] and each.source[0] not in runtime.begun
    assert engine.stop(timeout=600)
    ends = [each.end for each in taken]
    assert set(ends) == {End.STOP, End.EXPIRED}
    for each in taken:
        begun = runtime.begun.get(each.source[0])
        assert begun is None or begun < each.deadline
        assert each.end is End.EXPIRED or each.tokens == answer(each.source)
        if begun is not None and each.end is End.EXPIRED:
            assert begun + len(each.tokens) <= each.deadline + 1  # the step that was under way
    print(f"\n{count:,} deadlines: {ends.count(End.STOP):,} answered, {ends.count(End.EXPIRED):,} expired, "
          f"{count - len(taken):,} refused")  # fmt: skip


def test_where_others_wait_one_that_would_come_too_late_is_refused_and_told_how_long_it_would_wait() -> None:
    told, runtime = Told(), Ticking(1)
    engine = Engine(runtime, END, clock=lambda: runtime.now).start()
    engine.submit(Request([5, 6, 7, END], 100, on_end=told))
    told.wait_for(1)  # it took 4 seconds, one for each token
    runtime.going.clear()
    runtime.at_step.clear()
    first, *others = (Request([each, END], 100, on_end=told) for each in range(5, 8))
    engine.submit(first)
    assert runtime.at_step.wait(60)
    engine.submit(*others)
    begins, now = 2 * 4.0, runtime.now
    with pytest.raises(QueueFullError) as refused:
        engine.submit(Request([9, END], 100, deadline=now + begins + LONG * 2 - 1.0, on_end=told))
    assert refused.value.wait == begins
    assert "2 requests are waiting" in str(refused.value)
    engine.submit(Request([9, END], 100, deadline=now + begins + LONG * 2, on_end=told))
    with pytest.raises(QueueFullError):  # a longer one would not be done by then, but for its limit
        engine.submit(Request([9, 9, 9, END], 100, deadline=now + begins + 4.0 + LONG * 2, on_end=told))
    engine.submit(Request([9, 9, 9, END], 2, deadline=now + begins + 4.0 + LONG * 2, on_end=told))
    runtime.going.set()
    assert engine.stop(timeout=60)


def test_fewer_than_are_read_together_are_no_queue_so_nothing_is_refused_for_its_deadline() -> None:
    told, runtime = Told(), Ticking(16)  # two of 16 rows have to be free before the next are read
    engine = Engine(runtime, END, clock=lambda: runtime.now).start()
    engine.submit(Request([5, 6, 7, END], 100, on_end=told))
    told.wait_for(1)  # it took 4 seconds
    runtime.going.clear()
    runtime.at_step.clear()
    engine.submit(*(Request([each, END], 100, on_end=told) for each in range(5, 21)))
    assert runtime.at_step.wait(60)
    for _ in range(2):  # the first finds nobody waiting, the second one
        engine.submit(Request([9, END], 100, deadline=runtime.now + 1.0, on_end=told))
    with pytest.raises(QueueFullError):
        engine.submit(Request([9, END], 100, deadline=runtime.now + 1.0, on_end=told))
    runtime.going.set()
    assert engine.stop(timeout=60)


def test_the_parts_of_a_text_do_not_stand_in_each_others_way() -> None:
    """Where nobody else waits they are begun, and what is not done by its deadline expires."""
    told, runtime = Told(), Ticking(1)
    engine = Engine(runtime, END, clock=lambda: runtime.now).start()
    engine.submit(Request([5, 6, 7, END], 100, on_end=told))
    told.wait_for(1)  # it took 4 seconds
    parts = [Request([each, 6, 7, END], 100, deadline=runtime.now + 6.0, on_end=told) for each in (5, 6, 7)]
    engine.submit(*parts)
    assert engine.stop(timeout=60)
    assert [each.end for each in parts] == [End.STOP, End.EXPIRED, End.EXPIRED]
