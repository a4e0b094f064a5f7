"""The trial of a version: a process of its own opens it first, and the server only what passes.

A graph can crash the process that runs it, run for ever, or fill the memory; checksums do not exclude that.
The trial opens the version as the server does and translates the same sentences. It ends with the server.

`python -m serving.trial` is the process; `try_version` starts it, watches it, and returns its verdict.
"""

import ctypes
import json
import logging
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from export.golden import Golden
from export.manifest import VersionError, open_version
from serving.logs import printable
from serving.model import WARMING, EngineSettings, Model, ModelError, load_model

_logger = logging.getLogger(__name__)

CLOCK = 10  # seconds by the clock for each of the processor: a trial gives way to all else
LOOK_MS = 20  # between two looks at its memory
MAX_OUTPUT = 2**16  # bytes that are kept, the last ones
MAX_REASON = 2_000  # characters

_PR_SET_PDEATHSIG = 1


def try_version(directory: Path, settings: EngineSettings) -> str:
    """Open a version in a process of its own, and warm its graphs there.

    Args:
        directory: the version directory.
        settings: those of the server, with the limits of the trial.

    Returns:
        The digest of the manifest of what passed.

    Raises:
        ModelError: the version is refused; the message says why.
    """
    given = json.dumps({"server": os.getpid(), "directory": str(directory), "settings": asdict(settings)})
    paths = os.pathsep.join(filter(None, sys.path))  # it imports what this process would
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "serving.trial", given],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,  # a Ctrl-C is for the server, which decides
    ) as process:
        try:
            said, errors = _watched(process, settings)
        finally:
            process.kill()
    if process.returncode:
        if errors:
            _logger.error("the trial of %s wrote: %s", directory, errors.decode(errors="replace"))
        raise ModelError(_ended(process.returncode, settings))
    verdict = json.loads(said)
    if "refused" in verdict:
        raise ModelError(verdict["refused"])
    return str(verdict["passed"])


def reason(error: Exception, directory: Path) -> str:
    """Why a version is refused, for everyone: one printable line without the path of its directory."""
    text = str(error)
    if isinstance(error, VersionError):
        text = "; ".join(error.first)
    elif isinstance(error, OSError) and error.strerror:
        file = Path(os.fsdecode(error.filename or "")).name
        text = f"{file}: {error.strerror}" if file else error.strerror
    text = text.replace(f"{directory}/", "").replace(str(directory), directory.name or "/")
    return printable(text)[:MAX_REASON]


def _watched(process: "subprocess.Popen[bytes]", settings: EngineSettings) -> list[bytes]:
    """Until it ends. -> its stdout and stderr."""
    deadline = time.monotonic() + CLOCK * settings.trial_seconds
    memory = settings.trial_memory or _memory() // 2
    output = {pipe.fileno(): b"" for pipe in (process.stdout, process.stderr) if pipe is not None}
    open_pipes, poll = set(output), select.poll()
    for pipe in open_pipes:
        poll.register(pipe, select.POLLIN)
    while open_pipes:
        for pipe, _ in poll.poll(LOOK_MS):
            if content := os.read(pipe, MAX_OUTPUT):
                output[pipe] = (output[pipe] + content)[-MAX_OUTPUT:]
            else:
                poll.unregister(pipe)
                open_pipes.remove(pipe)
        if _resident(process.pid) > memory:
            raise ModelError(
                f"its trial needed more than {memory / 2**20:,.0f} MiB of memory; "
                "give it more with --trial-memory, if you trust it"
            )
        if time.monotonic() > deadline:
            raise ModelError(_too_long(settings))
    process.wait()
    return list(output.values())


def _ended(status: int, settings: EngineSettings) -> str:
    """What an exit status without a verdict says."""
    if status > 0:
        return "it could not be opened: the log says why"
    if -status == signal.SIGXCPU:
        return _too_long(settings)
    why = ", as the system does where memory is short" if -status == signal.SIGKILL else ""
    return f"its trial was ended by {signal.Signals(-status).name}{why}; do not serve it: export it again"


def _too_long(settings: EngineSettings) -> str:
    seconds = settings.trial_seconds
    return (
        f"its trial took more than {seconds} s of a processor or {CLOCK * seconds} s by the clock; "
        "give it more with --trial-seconds, if you trust it"
    )


def _memory() -> int:
    """Bytes that this machine has, or its container."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of control groups, version 2 and 1
        with suppress(OSError, ValueError):  # none, or "max"
            there = min(there, int(Path("/sys/fs/cgroup", name).read_text()))
    return there


def _resident(pid: int) -> int:
    """Bytes of memory that a process has; 0 once it is gone."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


# The process


def main() -> None:
    """Print the verdict on the version that the one argument names."""
    given = json.loads(sys.argv[1])
    directory, settings = Path(given["directory"]), EngineSettings(**given["settings"])
    _confine(given["server"], settings.trial_seconds)
    verdict = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no verdict
    try:
        version = open_version(directory)
        model = load_model("trial", 1, version, replace(settings, slots=min(settings.slots, WARMING)))
        _attend(model, version.golden[:WARMING])
        said = {"passed": version.manifest.digest}
    except (VersionError, ModelError, OSError) as error:
        said = {"refused": reason(error, directory)}
    os.write(verdict, json.dumps(said).encode())
    os._exit(0)  # what the libraries do at the end of a process takes time, and is of no use


def _confine(server: int, seconds: int) -> None:
    """End with the server; take so much of the processor; be the first that goes where memory is short."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:  # it went before that
            os._exit(1)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _attend(model: Model, golden: Sequence[Golden]) -> None:
    if model.attention is None:
        return
    try:
        for each in golden:
            model.attention.attended(each.source_ids, each.target_ids)
    except Exception as error:  # as load_model has it
        raise ModelError(f"its attention cannot be computed: {error}") from error


if __name__ == "__main__":
    main()
