"""Lines in as they come, and out whole whatever interrupts."""

import gzip
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keras_transformer.cli import CommandError
from keras_transformer.cli._lines import LineReader, interrupt_held_back, write_line


@contextmanager
def piped() -> Iterator[tuple[LineReader, int]]:
    reading, writing = os.pipe()
    try:
        yield LineReader(reading, Path("pipe")), writing
    finally:
        os.close(reading)


def test_a_line_is_given_when_it_is_whole_without_waiting_for_the_next() -> None:
    with piped() as (lines, writing):
        assert lines.waiting()
        os.write(writing, b"Non.\nOu")
        assert not lines.waiting()
        assert lines.take(1000) == ["Non."]
        os.write(writing, b"i.\nMerci.\n\nSi.")
        assert lines.take(1000) == ["Oui.", "Merci.", ""]
        os.close(writing)
        assert lines.take(1000) == ["Si."]
        assert lines.take(1000) == lines.take(1000) == []
        assert not lines.waiting()


def test_lines_are_taken_up_to_a_size_and_one_that_is_longer_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("ab\n" * 10 + "c" * 1000 + "\n" + "d\n" * 3)
    with LineReader.of(path) as lines:
        taken = list(iter(lambda: lines.take(10), []))
        assert (lines.read, lines.position, lines.size) == (1037, 1037, 1037)
    assert [text for chunk in taken for text in chunk] == ["ab"] * 10 + ["c" * 1000] + ["d"] * 3
    assert taken[0] == ["ab"] * 3
    assert max(map(len, taken)) <= 4


def test_a_pipe_may_be_gzipped_as_well() -> None:
    with piped() as (lines, writing):
        os.write(writing, gzip.compress(b"Non.\nOui.\n"))
        os.close(writing)
        assert list(iter(lambda: lines.take(4), [])) == [["Non."], ["Oui."]]


def test_a_line_of_many_megabytes_is_read_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    path.write_bytes(b"a" * 2**25 + b"\nb")
    with LineReader.of(path) as lines:
        assert [len(line) for line in lines.take(2**14)] == [2**25]
        assert lines.take(2**14) == ["b"]


def test_a_wrong_line_is_raised_when_those_before_it_were_taken() -> None:
    with piped() as (lines, writing):
        os.write(writing, b"Non.\n\xff\nOui.\n")
        os.close(writing)
        assert lines.take(1000) == ["Non."]
        for _ in range(2):
            with pytest.raises(CommandError, match=r"^pipe, line 2: 0xFF at byte 1 of the line \(6 of the f"):
                lines.take(1000)


def test_an_interrupt_waits_until_what_was_begun_is_done() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupt_held_back():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("first")
    with pytest.raises(KeyboardInterrupt), interrupt_held_back():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never: the second does not wait")
    assert done == ["first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt_held_back():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("buffering", [0, 8192])
def test_a_line_that_an_interrupt_comes_into_is_written_whole(
    buffering: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    received = bytearray()
    main_thread = threading.main_thread().ident
    assert main_thread

    def read() -> None:
        received.extend(os.read(reading, 4096))  # the writer waits now, with most of its line
        signal.pthread_kill(main_thread, signal.SIGINT)
        while data := os.read(reading, 65536):
            received.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "wb", buffering=buffering) as out:
        stream = io.TextIOWrapper(out, write_through=not buffering)  # type: ignore[type-var]
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(KeyboardInterrupt), interrupt_held_back():
            write_line("a" * 1_000_000)
        monkeypatch.undo()
        stream.detach()
    reader.join(60)
    os.close(reading)
    assert received == b"a" * 1_000_000 + b"\n"
