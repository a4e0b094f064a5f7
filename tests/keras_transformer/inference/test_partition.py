"""Requests divided among workers, each with a share, until one fails."""

import threading
from itertools import chain

import pytest

from keras_transformer.inference.partition import run_partitioned
from keras_transformer.inference.request import Request

SECONDS = 20  # that a worker waits for another, at most
REQUESTS = [Request([3] * length, 9) for length in range(9, 2, -1)]


@pytest.mark.parametrize("workers", [2, 3, 7, 20])
def test_all_workers_decode_at_the_same_time_and_each_request_once(workers: int) -> None:
    together = threading.Barrier(min(workers, len(REQUESTS)))
    shares: list[list[Request]] = []

    def work(share: list[Request], stop: threading.Event) -> None:
        together.wait(SECONDS)
        shares.append(share)

    run_partitioned(work, REQUESTS, workers)
    assert sorted(map(REQUESTS.index, chain(*shares))) == list(range(len(REQUESTS)))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    for share in shares:  # the longest first
        assert share == sorted(share, key=lambda request: -len(request.source))


@pytest.mark.parametrize("count", [1, 7])
def test_a_single_worker_is_the_caller(count: int) -> None:
    calls = []
    run_partitioned(lambda share, _: calls.append((share, threading.current_thread())), REQUESTS[:count], 1)
    assert calls == [(REQUESTS[:count], threading.current_thread())]


@pytest.mark.parametrize("failing", [0, 1])
def test_where_one_worker_fails_the_others_stop(failing: int) -> None:
    together, stopped = threading.Barrier(2), []

    def work(share: list[Request], stop: threading.Event) -> None:
        together.wait(SECONDS)
        if REQUESTS[failing] in share:
            raise MemoryError
        stopped.append(stop.wait(SECONDS))

    with pytest.raises(MemoryError):
        run_partitioned(work, REQUESTS, 2)
    assert stopped == [True]
