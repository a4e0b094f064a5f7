"""Workers of one training: their addresses, the links between them, and what ends all of them.

Each worker has a TCP connection, its link, to worker 0. A message is a line of JSON; an empty line is a
heartbeat. TensorFlow is not loaded here: it exchanges the gradients (`exchange.py`), and the links carry
everything else. The links are neither encrypted nor authenticated, like those of TensorFlow's own cluster.
"""

import json
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self

from keras_transformer.files import read_json

HEARTBEAT_SECONDS = 1.0
SILENCE_SECONDS = 30.0  # without a heartbeat, after which a worker counts as frozen
GRACE_SECONDS = 10.0  # from the failure of another worker until this process ends by force
JOIN_SECONDS = 300.0
RETRY_SECONDS = 0.1  # between two attempts to connect
HELLO_SECONDS, MAX_HELLO_BYTES = 5.0, 2**20
MAX_MESSAGE_BYTES = 2**26
MAX_SHOWN = 200  # characters of a value in an error text
HAS_ENDED = "has ended; its own output says why"
RESUME = "start all workers again with --resume"


class ClusterError(RuntimeError):
    """Error of a training on several workers; the message names the worker."""


class Workers:
    """This worker, and its links to the others.

    Inside a `with` block an error of one worker ends all of them with its message.

    Args:
        addresses: HOST:PORT of each worker by rank. One worker has no links, and needs no address.
        rank: Index of this worker. Worker 0 writes the run; the others follow it.
    """

    def __init__(self, addresses: Sequence[str] = ("",), rank: int = 0) -> None:
        self.addresses = tuple(addresses)
        self.rank = rank
        self._links: dict[int, _Link] = {}
        self._closed = threading.Event()
        self._failed = threading.Event()
        self._failure = ""
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self.addresses)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the others, or tell them why this worker failed."""
        if error is None:
            self._send({"left": True})
        elif not self._failed.is_set():
            why = f"failed: {error}" if isinstance(error, Exception) else f"was interrupted: {RESUME}."
            self._send({"failure": f"{self.name(self.rank)} {why}"})
        self._closed.set()
        for link in self._links.values():
            link.end()

    def name(self, rank: int) -> str:
        """Return the name of a worker in messages."""
        return f"worker {rank} ({self.addresses[rank]})"

    def join(self, seconds: float = JOIN_SECONDS) -> None:
        """Connect all workers.

        Args:
            seconds: How long to wait for the others.

        Raises:
            ClusterError: The address of this worker is taken, a worker does not come, or it was started
                with other addresses.
        """
        if self.size == 1:
            return
        deadline = time.monotonic() + seconds
        # every worker listens: a second one with its address is refused
        with self._listening() as listener:
            threading.Thread(target=self._beat, daemon=True).start()
            if self.rank == 0:
                self._accept(listener, deadline, seconds)
            else:
                self._connect(deadline, seconds)
            self.broadcast()  # all are there

    def gather(self, value: Any) -> list[Any]:
        """Send a JSON value to worker 0.

        Returns:
            On worker 0 the values of all workers by rank, on the others their own.

        Raises:
            ClusterError: A worker has failed.
        """
        if self.rank:
            self._send({"value": value})
            return [value]
        return [value, *(self._receive(rank) for rank in range(1, self.size))]

    def broadcast(self, value: Any = None) -> Any:
        """Wait for worker 0, and return its JSON value.

        Args:
            value: The value, on worker 0.

        Raises:
            ClusterError: A worker has failed.
        """
        if self.rank:
            return self._receive(0)
        self._send({"value": value})
        return value

    def agree(self, facts: Mapping[str, str]) -> None:
        """Check that all workers have the same facts.

        Raises:
            ClusterError: With each worker that differs from worker 0, and each fact in which it does.
        """
        differences = [
            f"{self.name(rank)} differs from worker 0: {', '.join(different)}"
            for rank, theirs in enumerate(self.gather(dict(facts)))
            if (different := _different(theirs, facts))
        ]
        if problem := self.broadcast("; ".join(differences)):
            raise self._fail(f"{problem}. Start all workers with the same files, options and versions.")

    def failure(self, seconds: float = SILENCE_SECONDS + GRACE_SECONDS) -> str:
        """Return why another worker failed, as soon as it is known; or an empty text after some seconds."""
        self._failed.wait(seconds)
        return self._failure

    def _listening(self) -> socket.socket:
        host, _, port = self.addresses[self.rank].rpartition(":")
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        everywhere = not all(map(_is_loopback, self.addresses))
        try:
            return socket.create_server(
                ("" if everywhere else host.strip("[]"), int(port)), family=family, backlog=self.size
            )
        except OSError as error:
            raise ClusterError(
                f"{self.name(self.rank)} cannot listen on port {port} ({error.strerror}): end the program "
                "that does, or give this worker another port."
            ) from error

    def _accept(self, listener: socket.socket, deadline: float, seconds: float) -> None:
        while len(self._links) < self.size - 1:
            listener.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                link = _Link(listener.accept()[0])
            except TimeoutError:
                missing = [self.name(rank) for rank in range(1, self.size) if rank not in self._links]
                raise self._fail(
                    f"{' and '.join(missing)} did not come within {seconds:g} s: start each worker with the "
                    "same addresses and its own rank."
                ) from None
            hello = link.hello()
            problem = self._unwelcome(hello) if hello else "this is no worker"
            if hello and not problem:
                link.send({"welcome": True})
                self._add(hello["rank"], link)
            else:
                link.send({"failure": problem})
                link.close()

    def _add(self, rank: int, link: "_Link") -> None:
        self._links[rank] = link
        threading.Thread(target=self._read, args=(rank, link), daemon=True).start()

    def _unwelcome(self, hello: Mapping[str, Any]) -> str:
        """Return why a worker cannot join."""
        rank, addresses = hello["rank"], hello["addresses"]
        if addresses != list(self.addresses):
            return (
                f"worker {rank} was started with the addresses {addresses}, worker 0 with "
                f"{list(self.addresses)}: give all of them the same."
            )
        if rank in self._links:
            return f"{self.name(rank)} has joined already: give each worker its own rank."
        return ""

    def _connect(self, deadline: float, seconds: float) -> None:
        host, _, port = self.addresses[0].rpartition(":")
        hello = {"rank": self.rank, "addresses": self.addresses}
        while True:
            try:
                link = _Link(socket.create_connection((host.strip("[]"), int(port)), timeout=5))
                answer = link.greet(hello, deadline)
                break
            except (OSError, ValueError) as error:  # not yet, or still the port of an earlier training
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"{self.name(0)} did not come within {seconds:g} s "
                        f"({getattr(error, 'strerror', None) or error}): "
                        "start each worker with the same addresses and its own rank."
                    ) from error
                time.sleep(RETRY_SECONDS)
        if "failure" in answer:
            link.close()
            raise ClusterError(answer["failure"])
        self._add(0, link)

    def _send(self, message: dict[str, Any] | None) -> None:
        for link in list(self._links.values()):
            link.send(message)

    def _receive(self, rank: int) -> Any:
        """Wait for a worker as long as its heart beats: a preparation may take days."""
        message = None if self._failed.is_set() else self._links[rank].inbox.get()
        if message is None:
            raise self._fail(f"{self.name(rank)} {HAS_ENDED}: {RESUME}.")
        return message["value"]

    def _read(self, rank: int, link: "_Link") -> None:
        """Read the messages of a worker until it leaves or fails."""
        why = HAS_ENDED
        try:
            with closing(link):
                for message in link.messages():
                    if "failure" in message:
                        self._fail(message["failure"])
                    elif "left" in message:
                        link.inbox.put(None)
                        return
                    else:
                        link.inbox.put(message)
        except TimeoutError:
            why = f"has not answered for {SILENCE_SECONDS:g} s"
        except OSError:
            pass  # the connection was reset
        except ValueError as error:
            why = f"cannot be understood ({error})"
        self._fail(f"{self.name(rank)} {why}: {RESUME}.")

    def _beat(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            self._send(None)

    def _fail(self, why: str) -> ClusterError:
        """Report the first failure to the others, and end this process if it does not end by itself.

        Returns:
            The error to raise.
        """
        with self._lock:
            if not self._failed.is_set() and not self._closed.is_set():
                self._failure = why
                self._failed.set()
                self._send({"failure": why})
                for link in self._links.values():
                    link.inbox.put(None)
                threading.Thread(target=self._end, daemon=True).start()
        return ClusterError(self._failure)

    def _end(self) -> None:
        if not self._closed.wait(GRACE_SECONDS):  # the main thread is blocked, as inside TensorFlow, or busy
            sys.stderr.write(f"\n{self._failure}\n")
            sys.stderr.flush()
            os._exit(1)


class _Link:
    """Connection to another worker."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(HELLO_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any] | None) -> None:
        """Send a message, or a heartbeat. A broken connection is reported where it is read."""
        line = b"" if message is None else json.dumps(message).encode()
        with self._lock, suppress(OSError):
            self._connection.sendall(line + b"\n")

    def messages(self) -> Any:
        """Yield the messages until the connection ends."""
        self._connection.settimeout(SILENCE_SECONDS)
        while line := self._lines.readline(MAX_MESSAGE_BYTES):
            if not line.endswith(b"\n") and len(line) < MAX_MESSAGE_BYTES:
                return  # it was killed while it wrote
            if line.strip():
                yield _message(line)

    def greet(self, hello: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Send the first message to worker 0, and return its answer.

        Raises:
            OSError: The connection was reset, or there was no answer until the deadline.
            ValueError: What answers is no worker 0. The connection is closed, as after an OSError.
        """
        try:
            self.send(dict(hello))
            self._connection.settimeout(max(0.001, deadline - time.monotonic()))
            answer = _message(self._lines.readline(MAX_HELLO_BYTES))
            if not {"welcome", "failure"} & set(answer):
                raise ValueError("something else answers at its port")
        except BaseException:
            self.close()
            raise
        return answer

    def hello(self) -> dict[str, Any] | None:
        """Return the first message, or None if it is not that of a worker."""
        try:
            message = _message(self._lines.readline(MAX_HELLO_BYTES))
            rank, addresses = message["rank"], message["addresses"]
            known = isinstance(addresses, list) and type(rank) is int and 0 < rank < len(addresses)
        except (OSError, ValueError, KeyError):
            return None
        return message if known else None

    def end(self) -> None:
        """Send the end of the messages; the other side then closes, and so does the reading thread."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._lines.close()
        self._connection.close()


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another name
        return False


def _message(line: bytes) -> dict[str, Any]:
    """Parse a line.

    Raises:
        ValueError: If it is no message of a worker.
    """
    if not line.endswith(b"\n"):
        raise ValueError("the connection ended, or its line is too long")
    message = read_json(line)
    if not isinstance(message, dict):
        raise ValueError("it is no object")
    return message


def _different(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {_shown(theirs, name)}, not {_shown(ours, name)}"
        for name in dict.fromkeys([*ours, *theirs])
        if theirs.get(name) != ours.get(name)
    ]


def _shown(facts: Mapping[str, str], name: str) -> str:
    value = facts.get(name, "missing")
    return value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…"
