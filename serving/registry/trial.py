"""The trial of a version: a separate process opens it first, and the server opens it only if it passes.

A graph can crash the process that runs it, run for ever, or fill the memory; checksums do not exclude that.
The trial opens the version as the server does, and translates the same sentences. It ends when the server
ends.

`python -m serving.registry.trial` is the process; `try_version` starts it, watches it, and returns its
verdict.
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

from export.artifact.golden import Golden
from export.artifact.manifest import VersionError, open_version
from keras_transformer.text.visible import visible_line
from serving.registry.served_version import WARMING, EngineSettings, ModelError, ServedVersion, load_model

_logger = logging.getLogger(__name__)

CLOCK = 10  # seconds of wall time for each of processor time, because a trial has the lowest priority
POLL_MS = 20  # time between two checks of its memory
MAX_OUTPUT = 2**16  # last bytes of its output that are kept
MAX_REASON = 2_000  # characters

_PR_SET_PDEATHSIG = 1


class TrialKilledError(ModelError):
    """Error of a trial that was killed from outside, as the system does when memory is short."""


def try_version(directory: Path, settings: EngineSettings) -> str:
    """Open a version and warm its graphs in a separate process.

    Args:
        directory: The version directory.
        settings: Settings of the server, with the limits of the trial.

    Returns:
        The digest of the manifest of the version that passed.

    Raises:
        TrialKilledError: If the trial was killed from outside.
        ModelError: If the version is refused.
    """
    task = json.dumps({"server": os.getpid(), "directory": str(directory), "settings": asdict(settings)})
    paths = os.pathsep.join(filter(None, sys.path))  # the process imports the same modules
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "serving.registry.trial", task],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,  # Ctrl-C reaches the server only
    ) as process:
        try:
            output, errors = _watch(process, settings)
        finally:
            process.kill()
    if process.returncode:
        if errors:
            _logger.error("the trial of %s wrote: %s", directory, errors.decode(errors="replace"))
        raise _failure(process.returncode, settings)
    verdict = json.loads(output)
    if "refused" in verdict:
        raise ModelError(verdict["refused"])
    return str(verdict["passed"])


def reason(error: Exception, directory: Path) -> str:
    """Return the reason of a refusal, for everyone: one printable line without the path of the directory."""
    text = str(error)
    if isinstance(error, VersionError):
        text = "; ".join(error.first)
    elif isinstance(error, OSError) and error.strerror:
        file = Path(os.fsdecode(error.filename or "")).name
        text = f"{file}: {error.strerror}" if file else error.strerror
    text = text.replace(f"{directory}/", "").replace(str(directory), directory.name or "/")
    return visible_line(text)[:MAX_REASON]


def _watch(process: "subprocess.Popen[bytes]", settings: EngineSettings) -> list[bytes]:
    """Wait for the end of a trial within its limits, and return its stdout and stderr."""
    deadline = time.monotonic() + CLOCK * settings.trial_seconds
    memory = settings.trial_memory or _memory() // 2
    output = {pipe.fileno(): b"" for pipe in (process.stdout, process.stderr) if pipe is not None}
    open_pipes, poll = set(output), select.poll()
    for pipe in open_pipes:
        poll.register(pipe, select.POLLIN)
    while open_pipes:
        for pipe, _ in poll.poll(POLL_MS):
            if content := os.read(pipe, MAX_OUTPUT):
                output[pipe] = (output[pipe] + content)[-MAX_OUTPUT:]
            else:
                poll.unregister(pipe)
                open_pipes.remove(pipe)
        if _resident(process.pid) > memory:
            raise ModelError(
                f"its trial needed more than {memory / 2**20:,.0f} MiB of memory; "
                "allow more with --trial-memory, if you trust it"
            )
        if time.monotonic() > deadline:
            raise ModelError(_too_long(settings))
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ModelError(_too_long(settings)) from None
    return list(output.values())


def _failure(status: int, settings: EngineSettings) -> ModelError:
    """Return the error of a trial that ended with this status and without a verdict."""
    if status > 0:
        return ModelError("it could not be opened; see the log of the server")
    if -status == signal.SIGXCPU:
        return ModelError(_too_long(settings))
    if -status == signal.SIGKILL:
        return TrialKilledError(
            "its trial was killed, as the system does when memory is short; free memory: a server that "
            "watches its models tries it again"
        )
    return ModelError(f"its trial ended with {signal.Signals(-status).name}; export it again")


def _too_long(settings: EngineSettings) -> str:
    seconds = settings.trial_seconds
    return (
        f"its trial took more than {seconds} s of processor time or {CLOCK * seconds} s of wall time; "
        "allow more with --trial-seconds, if you trust it"
    )


def _memory() -> int:
    """Return the bytes of memory of this machine, or of its container."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of control groups, version 2 and 1
        with suppress(OSError, ValueError):  # no such file, or "max"
            size = min(size, int(Path("/sys/fs/cgroup", name).read_text()))
    return size


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it has ended."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


# The process


def main() -> None:
    """Try the version that the only argument names, and print the verdict."""
    task = json.loads(sys.argv[1])
    directory, settings = Path(task["directory"]), EngineSettings(**task["settings"])
    _confine(task["server"], settings.trial_seconds)
    output = os.dup(1)
    os.dup2(2, 1)  # libraries may print
    try:
        version = open_version(directory)
        model = load_model("trial", 1, version, replace(settings, slots=min(settings.slots, WARMING)))
        _attend(model, version.golden[:WARMING])
        verdict = {"passed": version.manifest.digest}
    except (VersionError, ModelError, OSError) as error:
        verdict = {"refused": reason(error, directory)}
    os.write(output, json.dumps(verdict).encode())
    os._exit(0)  # skips the slow clean-up of the libraries


def _confine(server: int, seconds: int) -> None:
    """End with the server, limit the processor time, and be killed first when memory is short."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:  # the server has already ended
            os._exit(1)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _attend(model: ServedVersion, golden: Sequence[Golden]) -> None:
    """Compute the attention of golden answers."""
    if model.attention is None:
        return
    try:
        for sentence in golden:
            model.attention.attended(sentence.source_ids, sentence.target_ids)
    except Exception as error:  # the library has no common error type
        raise ModelError(f"its attention cannot be computed: {error}") from error


if __name__ == "__main__":
    main()
