"""Messages and bodies that begin and never end: they hold little memory, and do not delay the others."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest
from google.rpc.code_pb2 import Code
from grpc import StatusCode

from serving import AsyncClient
from serving.api import intake
from serving.api.intake import MAX_ARRIVING, MAX_OF_CONNECTION, Intake
from serving.errors import RETRY_AFTER, Refusal, RefusedError
from serving.server import STREAMS
from serving.v1 import translation_pb2 as wire
from tests.support.serving.echo import Echo, echo, listening, run, served, stub, until
from tests.support.serving.serve_process import highest_megabytes, serving_both
from tests.support.serving.unfinished_messages import HEALTH, REFLECTION, TRANSLATE, Connection, unfinished

REPLICA = 1024  # MiB, mem_limit of a replica in docker-compose.yml


def ended(connections: list[Connection]) -> int:
    return sum(len(each.ended) for each in connections)


@pytest.mark.parametrize(("connections", "streams"), [(1, 300), (10, 30)])
@pytest.mark.parametrize("path", [TRANSLATE, HEALTH, REFLECTION])
def test_300_unfinished_messages_of_4_mib_stay_far_below_the_memory_of_a_replica(
    exported: Path, connections: int, streams: int, path: str
) -> None:
    with serving_both(exported) as (process, address, _):

        async def scenario() -> None:
            before = highest_megabytes(process)
            port = int(address.rpartition(":")[2])
            async with AsyncClient(address) as client, unfinished(port, connections, streams, path) as attack:
                await until(lambda: ended(attack) >= 3 * MAX_ARRIVING)  # the slots were used three times
                assert (await client.translate("Merci.")).text
                assert {each.max_streams for each in attack} == {STREAMS}
            grown = highest_megabytes(process) - before
            print(f"\n{streams} unfinished messages over each of {connections}: {grown:.0f} MiB more")
            assert grown < REPLICA / 4

        run(scenario)


def test_250_unfinished_bodies_stay_far_below_the_memory_of_a_replica(exported: Path) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    kinds = [b"Content-Length: 1000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nf0000\r\n"]
    with serving_both(exported) as (process, _, address):
        host, port = address.rsplit(":", 1)

        async def send(kind: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head + kind)
            writer.write(b" " * 900_000)
            return reader, writer

        async def scenario() -> None:
            before = highest_megabytes(process)
            connections = [await send(kinds[number % 2]) for number in range(250)]
            answers = [asyncio.create_task(reader.readline()) for reader, _ in connections]
            await until(lambda: sum(each.done() for each in answers) >= 3 * MAX_ARRIVING)
            grown = highest_megabytes(process) - before
            for answer in answers:
                answer.cancel()
            for _, writer in connections:
                writer.transport.abort()
            print(f"\n250 unfinished bodies: {grown:.0f} MiB more")
            assert grown < REPLICA / 4

        run(scenario)


def test_1500_calls_at_the_same_time_over_one_connection_are_all_answered() -> None:
    """gRPC itself cancels some of more than 1,000 that wait."""

    async def scenario() -> None:
        async with stub(echo(waiting=2000, runtime=Echo(64))) as service:
            calls = [service.Translate(wire.TranslateRequest(text="Oui.")) for _ in range(1500)]
            answers = await asyncio.gather(*calls)
        assert {each.translation.text for each in answers} == {"Oui."}

    run(scenario)


class Sender:
    """Sends messages by one connection, and ends each when it is told to."""

    def __init__(self, bounds: Intake, connection: str) -> None:
        self._bounds, self._connection = bounds, connection
        self.reading = 0
        self.end = asyncio.Event()

    async def send(self) -> None:
        async with self._bounds.arriving(self._connection):
            self.reading += 1
            await self.end.wait()


def refused(tasks: list["asyncio.Task[None]"]) -> list[Refusal]:
    return [each.exception().refusal for each in tasks if each.done() and each.exception()]  # type: ignore[union-attr]


def test_one_connection_never_takes_all_the_slots_and_one_that_comes_later_is_read_at_once() -> None:
    async def scenario() -> None:
        bounds = Intake()
        attacker, other = Sender(bounds, "attacker"), Sender(bounds, "other")
        async with asyncio.TaskGroup() as group:
            for _ in range(MAX_ARRIVING):
                group.create_task(attacker.send())
            await until(lambda: attacker.reading)
            other.end.set()
            async with asyncio.timeout(intake.CROWDED_SECONDS / 2):
                await other.send()
            assert attacker.reading == MAX_OF_CONNECTION
            attacker.end.set()

    run(scenario)


def test_while_others_wait_a_slow_message_gives_way_and_its_sender_may_repeat_it() -> None:
    async def scenario() -> None:
        bounds = Intake()
        attackers = [Sender(bounds, f"attacker {number}") for number in range(3 * MAX_ARRIVING)]
        tasks = [asyncio.create_task(each.send()) for each in attackers]
        await until(lambda: sum(each.reading for each in attackers) == MAX_ARRIVING)
        other = Sender(bounds, "other")
        other.end.set()
        await other.send()  # the next one, before those that wait longer
        told = refused(tasks)
        assert len(told) <= MAX_ARRIVING
        assert {(each.code, each.retry_after) for each in told} == {(Code.RESOURCE_EXHAUSTED, RETRY_AFTER)}
        for each in attackers:
            each.end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert bounds._admitted.total() == bounds._waiting == len(bounds._turns) == 0

    run(scenario)


def test_a_message_that_does_not_arrive_in_time_is_given_up_though_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "SECONDS", 0.1)

    async def scenario() -> None:
        bounds = Intake()
        with pytest.raises(RefusedError, match=r"did not arrive within 0\.1 s") as late:
            await Sender(bounds, "slow").send()
        assert late.value.refusal.code == Code.DEADLINE_EXCEEDED
        assert bounds._admitted.total() == 0

    run(scenario)


def test_a_caller_that_waits_too_long_or_behind_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        bounds = Intake()
        sender = Sender(bounds, "sender")
        tasks = [asyncio.create_task(sender.send()) for _ in range(MAX_OF_CONNECTION)]
        await until(lambda: sender.reading == MAX_OF_CONNECTION)
        monkeypatch.setattr(intake, "MAX_UNREAD", 1)
        monkeypatch.setattr(intake, "SECONDS", 0.1)
        monkeypatch.setattr(intake, "CROWDED_SECONDS", 20.0)
        for _ in range(2):
            for error in await asyncio.gather(sender.send(), sender.send(), return_exceptions=True):
                assert isinstance(error, RefusedError)
                assert error.refusal.code == Code.RESOURCE_EXHAUSTED
        assert sender.reading == MAX_OF_CONNECTION
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(scenario)


def test_a_connection_with_many_calls_waits_and_the_others_do_not() -> None:
    async def scenario() -> None:
        bounds = Intake()
        busy, other = Sender(bounds, "busy"), Sender(bounds, "other")
        busy.end.set()
        other.end.set()
        with ExitStack() as calls:
            for _ in range(intake.MAX_RUNNING):
                calls.enter_context(bounds.running("busy"))
            waiting = asyncio.create_task(busy.send())
            await other.send()
            assert (busy.reading, other.reading) == (0, 1)
        await waiting

    run(scenario)


def test_callers_that_go_away_while_they_wait_or_are_read_leave_their_slots() -> None:
    async def scenario() -> None:
        bounds = Intake()
        sender = Sender(bounds, "sender")
        for turn in range(3):
            tasks = [asyncio.create_task(sender.send()) for _ in range(2 * MAX_ARRIVING)]
            await until(lambda: sender.reading)
            for task in tasks[turn:]:
                task.cancel()  # those that are read make room for others that are cancelled at that moment
            sender.end.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert len(bounds._admitted) == bounds._waiting == len(bounds._turns) == 0
            sender.end.clear()

    run(scenario)


def test_a_grpc_message_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "SECONDS", 0.1)

    async def scenario() -> None:
        async with listening() as port, unfinished(port, 1, 1) as (connection,):
            await until(lambda: connection.ended == {1})

    run(scenario)


def test_a_call_without_a_message_is_told_so() -> None:
    async def scenario() -> None:
        async with served() as channel:
            call = channel.stream_unary("/serving.v1.TranslationService/Translate")()
            await call.done_writing()
            assert await call.code() is StatusCode.INVALID_ARGUMENT
            assert await call.details() == "the request has no message"

    run(scenario)
