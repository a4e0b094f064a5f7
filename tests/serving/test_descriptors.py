"""A server that may open few files bounds its connections: it neither goes deaf nor floods its log."""

import asyncio
import errno
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from serving import AsyncClient
from serving.descriptors import log_exhaustion_once
from tests.support.serving.echo import run
from tests.support.serving.serve_process import descriptors, process, serving_both


def allowed(files: int) -> tuple[str, ...]:
    """The command line, in a process that may open so many files."""
    return (
        "-c",
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
        "from keras_transformer.cli import command\ncommand()",
    )


async def closed_by_the_server(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(2**16):
            pass


def test_more_connections_than_files_leave_a_server_answering_and_its_log_short(exported: Path) -> None:
    limit, each = 160, 150
    with serving_both(exported, program=allowed(limit)) as (started, grpc, http):

        async def scenario() -> None:
            async with AsyncClient(grpc) as client:
                await client.translate("Merci.")
                opened = [
                    await asyncio.open_connection(*address.rsplit(":", 1))
                    for address in (grpc, http)
                    for _ in range(each)
                ]
                cut = [asyncio.create_task(closed_by_the_server(reader)) for reader, _ in opened]
                while sum(task.done() for task in cut) < 2 * each - limit:
                    await asyncio.sleep(0.01)
                assert descriptors(started) < limit
                assert (await client.translate("Merci.")).text
                reader, writer = await asyncio.open_connection(*http.rsplit(":", 1))
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert await reader.readuntil(b" OK") == b"HTTP/1.1 200 OK"
                for task in cut:
                    task.cancel()
                for _, opened_writer in [*opened, (reader, writer)]:
                    opened_writer.close()

        run(scenario)
        started.send_signal(signal.SIGTERM)
        _, err = started.communicate(timeout=30)
    assert err.count("HTTP connections are in use") == 1
    assert len(err.splitlines()) < 10


def test_exhaustion_is_logged_in_one_line_once_and_other_errors_as_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        log_exhaustion_once(loop)
        for number in (errno.EMFILE, errno.ENFILE, errno.EMFILE, errno.EPIPE):
            error = OSError(number, "no more")
            loop.call_exception_handler({"message": "socket.accept()", "exception": error})

    asyncio.run(scenario())
    first, other = caplog.records
    assert (first.name, first.levelname, first.exc_info) == ("serving.descriptors", "WARNING", None)
    assert "ulimit -n" in first.getMessage()
    assert (other.name, other.levelname) == ("asyncio", "ERROR")


def test_a_server_that_may_open_too_few_files_says_how_many_it_needs(exported: Path) -> None:
    with process(exported, "--port", 0, program=allowed(64)) as started:
        _, err = started.communicate(timeout=30)
    assert started.returncode == 1
    assert "may open 64 files, and needs" in err
    assert "ulimit -n" in err
    assert "Traceback" not in err


def test_an_ipv6_address_is_told_with_brackets(exported: Path) -> None:
    with serving_both(exported, "--host", "::1") as (_, grpc, http):
        assert grpc.startswith("[::1]:")
        assert http.startswith("[::1]:")

        async def scenario() -> None:
            async with AsyncClient(grpc) as client:
                assert (await client.translate("Merci.")).text

        run(scenario)
