"""`keras-transformer serve` as it runs: a process of its own, on a port that was free, gone afterwards."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT

MODULE = ("-m", "keras_transformer")


@contextmanager
def process(*options: object, program: Sequence[str] = MODULE) -> Iterator["subprocess.Popen[str]"]:
    """Started; what it says is to be read."""
    command = [sys.executable, *program, "serve", "--http-port", "0", *map(str, options)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.kill()


def descriptors(of: "subprocess.Popen[str]") -> int:
    """That are open in it."""
    return len(list(Path(f"/proc/{of.pid}/fd").iterdir()))


def megabytes(of: "subprocess.Popen[str]") -> float:
    """That it holds in memory."""
    pages = int(Path(f"/proc/{of.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def highest_megabytes(of: "subprocess.Popen[str]") -> float:
    """That it has ever held in memory."""
    status = Path(f"/proc/{of.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**10


@contextmanager
def serving(directory: Path, *options: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The same, warm. -> with its address."""
    with serving_both(directory, *options) as (started, address, _):
        yield started, address


@contextmanager
def serving_both(
    directory: Path, *options: object, program: Sequence[str] = MODULE
) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """The same. -> with its addresses: gRPC's, HTTP's."""
    with process(directory, "--port", 0, *options, program=program) as started:
        yield started, _told(started, "serving on"), _told(started, "http on")


def _told(started: "subprocess.Popen[str]", what: str) -> str:
    line = started.stdout.readline() if started.stdout else ""
    begin, _, address = line.rstrip("\n").rpartition(" ")
    assert begin == what, started.communicate(timeout=60)
    return address
