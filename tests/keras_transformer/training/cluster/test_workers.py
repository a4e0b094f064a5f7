"""The links of the workers of a training: who comes, who differs, and who has failed. Without TensorFlow."""

import json
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from keras_transformer.training.cluster import workers as module
from keras_transformer.training.cluster.workers import ClusterError, Workers
from tests.support.ports import free_ports

NESTED = b"[" * 60_000
Work = Callable[[Workers], Any]


def together(*work: Work, addresses: list[str] | None = None, seconds: float = 30) -> list[Future[Any]]:
    """Each of these as a worker in a thread; -> their results and errors."""
    found = addresses or [f"127.0.0.1:{port}" for port in free_ports(len(work))]

    def whole(rank: int) -> Any:
        with Workers(found, rank) as workers:
            workers.join(seconds)
            return work[rank](workers)

    with ThreadPoolExecutor(len(work)) as pool:
        return [pool.submit(whole, rank) for rank in range(len(work))]


def failures(results: list[Future[Any]]) -> list[str]:
    errors = [result.exception(timeout=60) for result in results]
    assert all(isinstance(error, ClusterError) for error in errors), errors
    return list(map(str, errors))


def test_worker_0_has_the_values_of_all_and_all_have_its_answer() -> None:
    def work(workers: Workers) -> Any:
        return workers.gather(workers.rank * 1.5), workers.broadcast(["of", workers.rank])

    results = [result.result() for result in together(work, work, work)]
    assert results == [([0, 1.5, 3], ["of", 0]), ([1.5], ["of", 0]), ([3], ["of", 0])]


def test_one_worker_alone_needs_no_address() -> None:
    with Workers() as alone:
        alone.join()
        alone.agree({"corpus": "a"})
        assert (alone.gather(1), alone.broadcast(2)) == ([1], 2)


def test_workers_that_differ_are_named_with_all_that_differs() -> None:
    facts = [
        {"keras": "3.15.1", "corpus": "a"},
        {"keras": "3.15.1", "corpus": "a"},
        {"keras": "3", "more": "b"},
    ]
    results = together(*(lambda workers: workers.agree(facts[workers.rank]) for _ in facts))
    told = failures(results)
    assert len(set(told)) == 1
    assert "worker 2 (127.0.0.1:" in told[0]
    assert "keras 3, not 3.15.1, corpus missing, not a, more b, not missing" in told[0]
    assert "worker 1" not in told[0]


def test_the_error_of_one_worker_ends_all_with_its_message() -> None:
    def breaks(workers: Workers) -> None:
        if workers.rank == 1:
            raise OSError("the disk is full")
        workers.broadcast() if workers.rank else workers.gather(0)

    results = together(breaks, breaks, breaks)
    assert isinstance(results[1].exception(), OSError)
    assert str(results[0].exception()) == str(results[2].exception())
    assert "worker 1 (127.0.0.1:" in str(results[0].exception())
    assert "failed: the disk is full" in str(results[0].exception())


def test_a_connection_that_ends_is_a_worker_that_has_ended() -> None:
    def ends(workers: Workers) -> None:
        if workers.rank == 1:  # as if it had been killed
            for link in workers._links.values():
                link._connection.sendall(b'{"val')
                link._connection.shutdown(socket.SHUT_RDWR)
            raise KeyboardInterrupt
        workers.broadcast() if workers.rank else workers.gather(0)

    results = together(ends, ends, ends)
    for rank in (0, 2):
        assert "worker 1 (127.0.0.1:" in str(results[rank].exception())
        assert "has ended" in str(results[rank].exception())
        assert "--resume" in str(results[rank].exception())


def test_a_worker_without_a_heartbeat_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE_SECONDS", 2.0)
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.1)
    others = threading.Event()

    def freezes(workers: Workers) -> None:
        if workers.rank == 1:
            workers._closed.set()  # no heartbeats any more
            assert others.wait(60)
            raise KeyboardInterrupt
        try:
            workers.broadcast() if workers.rank else workers.gather(0)
        finally:
            others.set()

    results = together(freezes, freezes, freezes)
    for rank in (0, 2):
        assert "worker 1 (127.0.0.1:" in str(results[rank].exception())
        assert "has not answered for 2 s" in str(results[rank].exception())


def test_a_worker_that_is_alive_is_waited_for_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    class Inbox(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            limits.append(timeout)
            return super().get(block, timeout)

    monkeypatch.setattr(module, "queue", SimpleNamespace(SimpleQueue=Inbox))
    results = together(*[lambda workers: workers.broadcast(workers.gather(0))] * 2)
    assert [result.result() for result in results] == [[0, 0]] * 2
    assert set(limits) == {None}


def test_a_worker_that_leaves_too_early_is_not_waited_for() -> None:
    zero, one = together(lambda workers: workers.gather(0), lambda _: None)
    assert "worker 1 (127.0.0.1:" in str(zero.exception())
    assert "has ended" in str(zero.exception())
    assert one.exception() is None


def test_a_line_that_cannot_be_understood_is_a_failure_of_its_worker() -> None:
    def shouts(workers: Workers) -> None:
        if workers.rank == 1:
            workers._links[0]._connection.sendall(NESTED + b"\n")
        workers.broadcast() if workers.rank else workers.gather(0)

    told, _ = failures(together(shouts, shouts))
    assert "worker 1 (127.0.0.1:" in told
    assert "cannot be understood (it is nested too deeply)" in told


def test_workers_that_never_come_are_named() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(4)]
    told = failures(together(lambda _: None, lambda _: None, addresses=addresses, seconds=1))
    for text in told:
        assert f"worker 2 ({addresses[2]}) and worker 3 ({addresses[3]}) did not come within 1 s" in text


def test_a_worker_0_that_never_comes_is_named() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with Workers(addresses, 1) as workers, pytest.raises(ClusterError) as refused:
        workers.join(1)
    assert f"worker 0 ({addresses[0]}) did not come within 1 s" in str(refused.value)


@pytest.mark.parametrize("rank", [0, 1])
def test_an_address_that_is_taken_is_refused(rank: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        addresses[rank] = f"127.0.0.1:{taken}"
        with Workers(addresses, rank) as workers, pytest.raises(ClusterError) as refused:
            workers.join(30)
    assert f"worker {rank} (127.0.0.1:{taken}) cannot listen on port {taken}" in str(refused.value)


def test_a_worker_with_other_addresses_is_refused() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(together, lambda workers: workers.broadcast(7), addresses=addresses)
        with Workers([addresses[0], f"127.0.0.1:{free_ports(1)[0]}"], 1) as workers:  # noqa: SIM117
            with pytest.raises(ClusterError) as refused:
                workers.join(30)
        assert "worker 1 was started with the addresses" in str(refused.value)
        with Workers(addresses, 1) as workers:  # the right one is still waited for
            workers.join(30)
            assert workers.broadcast() == 7
        assert first.result()[0].result() == 7


def test_a_worker_waits_for_worker_0_while_the_port_is_still_that_of_an_earlier_training() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]

    def whole(rank: int) -> Any:
        with Workers(addresses, rank) as workers:
            workers.join(30)
            return workers.broadcast(7)

    with ThreadPoolExecutor(1) as pool:
        with socket.create_server(("127.0.0.1", int(addresses[0].rpartition(":")[2]))) as earlier:
            earlier.settimeout(30)
            second = pool.submit(whole, 1)
            for answer in (b"", b"\0\0\6\4\0\0\0\0\0", b"{}\n"):
                connection, _ = earlier.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(answer)
        assert whole(0) == second.result(60) == 7


@pytest.mark.parametrize(
    ("addresses", "bound"),
    [
        (["127.0.0.1:0", "[::1]:1", "localhost:2"], "127.0.0.1"),
        (["[::1]:0", "127.0.0.1:1"], "::1"),
        (["127.0.0.1:0", "10.0.0.1:1"], "0.0.0.0"),
        (["127.0.0.1:0", "b:1"], "0.0.0.0"),
    ],
)
def test_workers_of_one_machine_listen_on_loopback_only(addresses: list[str], bound: str) -> None:
    with Workers(addresses)._listening() as listener:
        assert listener.getsockname()[0] == bound


def test_what_is_no_worker_does_not_keep_the_workers_from_joining() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(together, lambda workers: workers.broadcast(7), addresses=addresses)
        port = int(addresses[0].rpartition(":")[2])
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()  # as a probe of a balancer does
                break
            except ConnectionRefusedError:  # it is not listening yet
                assert time.monotonic() < deadline
        fraction = json.dumps({"rank": 0.5, "addresses": addresses}).encode()
        for line in (b"GET / HTTP/1.1\r\n\r", NESTED, b"7", fraction):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as other:
                other.sendall(line + b"\n")
                assert b"no worker" in other.recv(100)
        with Workers(addresses, 1) as workers:
            workers.join(30)
            assert workers.broadcast() == 7
        assert first.result()[0].result() == 7


def test_a_process_that_is_busy_ends_by_force_when_another_worker_fails() -> None:
    code = """
import sys, time
from keras_transformer.training.cluster import workers as module
module.GRACE_SECONDS = 0.1
with module.Workers(sys.argv[2:], int(sys.argv[1])) as workers:
    workers.join(30)
    print("joined", flush=True)
    time.sleep(200)
"""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    command = [sys.executable, "-c", code]
    processes = [
        subprocess.Popen([*command, str(rank), *addresses], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for rank in (0, 1)
    ]
    for process in processes:
        assert process.stdout and process.stdout.readline() == b"joined\n"
    processes[1].kill()
    assert processes[1].communicate(timeout=60)
    _, err = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 1
    assert f"worker 1 ({addresses[1]}) has ended".encode() in err
