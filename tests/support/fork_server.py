"""Processes that start with TensorFlow and Keras imported: forks of a process that has run nothing yet.

`Popen` and `run` replace those of `subprocess` for `[sys.executable, "-m" | "-c" | script, ...]` and save the
two to three seconds of the imports. Pipes, directory, environment, session, signals and exit status are as of
a new process. What cannot be a fork is started: another backend of Keras, or anything where OMP_NUM_THREADS
is not 1. Tests of the start itself or of what is imported use `subprocess`; all forks have the same hashes of
strings. With `forking_children=True` the processes that the new process starts through `subprocess` are forks
as well, and theirs.
"""

import atexit
import builtins
import ctypes
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.paths import ROOT

# nothing of ours: whether it registers its layers is tested
IMPORTED = ("keras", "tensorflow_text", "sacrebleu", "tf2onnx.tfonnx")
LARGEST = 2**17  # bytes of a request: command and environment
AT_IMPORT = ("KERAS_", "LC_", "LD_", "OMP_", "PYTHON", "TF_ENABLE_")  # read once, when a library is loaded
AT_START = dict(os.environ)  # before any test has changed it
NO_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}  # of pyarrow, which pandas imports
PR_SET_CHILD_SUBREAPER = 36


class Popen(subprocess.Popen[Any]):
    """A process as `subprocess.Popen` starts it, forked from one that has done the imports."""

    def __init__(self, *arguments: Any, forking_children: bool = False, **options: Any) -> None:
        self._forking_children = forking_children or _Server.inherited is not None
        super().__init__(*arguments, **options)

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        (
            preexec_fn, _, pass_fds, cwd, env, _, _, shell,
            p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, _, _, _, _, _, start_new_session, group,
        ) = rest  # fmt: skip
        program, *command = map(os.fspath, args)
        environment = dict(os.environ if env is None else env)
        own = executable or preexec_fn or pass_fds or shell or group != -1 or program != sys.executable
        threads = environment.get("KERAS_BACKEND", "tensorflow") != "tensorflow"  # other backends start some
        threads |= os.environ.get("OMP_NUM_THREADS") != "1"  # without it, OpenBLAS starts one for each core
        if own or threads or not _server().is_as(environment):
            super()._execute_child(args, executable, *rest)  # type: ignore[misc]
            return
        files = [given if given != -1 else own for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        directory = str(Path(cwd or ".").resolve())
        request = command, directory, environment, start_new_session, self._forking_children
        self.pid = _server().start(request, files)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def run(
    command: Sequence[Any],
    *,
    input: Any = None,  # noqa: A002 (as there)
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Run a command to its end, as `subprocess.run` does."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(command, **options) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


class _Server:
    """The process that forks, as those see it that ask for forks."""

    inherited: "_Server | None" = None  # in a process that forks its children

    def __init__(self, requests: socket.socket) -> None:
        self._socket = requests
        self._fixed = _fixed(AT_START)

    def is_as(self, environment: Mapping[str, str]) -> bool:
        """Whether imports in this environment are the same as there.

        What a fork sets for TensorFlow comes too late for it, and so it does for the forks that it starts.
        """
        late = () if self is not _Server.inherited else ("TF_ENABLE_ONEDNN_OPTS",)
        return _fixed({name: environment[name] for name in environment.keys() - late}) == self._fixed

    def start(self, request: tuple[list[str], str, dict[str, str], bool, bool], files: list[int]) -> int:
        """Return the id of a process that is a child of this one; the request is what `_become` takes."""
        message = json.dumps(request).encode()
        assert len(message) <= LARGEST
        _adopt(True)
        try:
            socket.send_fds(self._socket, [message], files)
            return int(self._socket.recv(16))
        finally:
            _adopt(False)


def _server() -> _Server:
    return _Server.inherited or _started()


@cache
def _started() -> _Server:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())]
    null, passed = subprocess.DEVNULL, [theirs.fileno()]
    with theirs:
        process = subprocess.Popen(
            command, cwd=ROOT, env=AT_START | NO_THREADS, pass_fds=passed, stdin=null, stdout=null
        )

    def end() -> None:
        """End it. What it has forked stays."""
        ours.close()
        process.wait()

    atexit.register(end)
    return _Server(ours)


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    changing = {"PYTHONUNBUFFERED", "PYTEST_CURRENT_TEST"}
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(AT_IMPORT) and name not in changing
    }


def _adopt(yes: bool) -> None:
    """Whether what a child leaves behind becomes a child of this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def serve(requests: socket.socket) -> list[str] | None:
    """Fork for each request. Return its command in the new process, and None once the socket is closed."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, LARGEST, 3)
        if not request:
            return None
        read, write = os.pipe()
        between = os.fork()
        if not between and not (child := _fork_to_adopt()):
            os.close(read)
            os.close(write)
            command, directory, environment, session, forking_children = json.loads(request)
            _become(directory, environment, session, files)
            return _serve_children(command) if forking_children else command
        if not between:
            os.write(write, str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)  # whose child has been adopted now
        requests.send(os.read(read, 16))
        for file in (read, write, *files):
            os.close(file)


def _fork_to_adopt() -> int:
    """Fork; the new process continues once the process that adopts it is its parent."""
    parent = os.getpid()
    if child := os.fork():
        return child
    while os.getppid() == parent:
        time.sleep(0.001)
    return 0


def _serve_children(command: list[str]) -> list[str] | None:
    """Fork the process that is to fork the children of this one. Return what `serve` returns in each."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        _Server.inherited = _Server(ours)
        subprocess.Popen = Popen  # type: ignore[misc]
        return command
    ours.close()
    with theirs, Path(os.devnull).open("r+b") as null:
        for number in range(3):
            os.dup2(null.fileno(), number)  # a pipe ends only when no process has it open
        return serve(theirs)


def _become(directory: str, environment: dict[str, str], session: bool, files: list[int]) -> None:
    """Make this process look as if it had been started."""
    if session:
        os.setsid()
    np.random.seed()  # of its own; Python sees to `random`
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        through = number > 0 and "PYTHONUNBUFFERED" in environment
        new = open(  # noqa: SIM115
            number, old.mode, encoding=old.encoding, errors=old.errors, closefd=False,
            buffering=1 if number == 2 or os.isatty(number) else -1,
        )  # fmt: skip
        new.reconfigure(write_through=through)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def run_as_python(command: list[str]) -> None:
    """Run -m MODULE, -c CODE or a script, also behind -P, with its arguments, as the interpreter does."""
    if safe := command[0] == "-P":
        command = command[1:]
    what, *rest = command
    if what in ("-m", "-c"):
        name, *arguments = rest
        sys.argv, sys.path[0] = (
            [name if what == "-m" else what, *arguments],
            str(Path.cwd()) if what == "-m" else "",
        )
    else:
        sys.argv, sys.path[0] = command, str(Path(what).resolve().parent)
    if safe:
        del sys.path[0]
    if what == "-m":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    elif what == "-c":
        exec(name, {"__name__": "__main__", "__builtins__": builtins})
    else:
        runpy.run_path(what, run_name="__main__")


def _run_and_leave(command: list[str]) -> None:
    """Run a command, and end the process as `multiprocessing` ends its forks: without freeing every object.

    The memory of the imports would be copied page by page to be freed, which takes 0.1 to 0.2 s. A process
    that fails ends as any other.
    """
    try:
        run_as_python(command)
    except SystemExit as end:
        if end.code:
            raise
    threading._shutdown()  # type: ignore[attr-defined]  # wait for the threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # the interpreter reports it
    os._exit(0)


def _import_all() -> None:
    """Import what costs time. Nothing may run yet: TensorFlow and ONNX Runtime start threads for it."""
    gc.disable()
    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    gc.enable()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError(f"importing {IMPORTED} has started threads: a fork would have one of them.")


if __name__ == "__main__":
    _import_all()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        wanted = serve(requests)
    if wanted is not None:
        _run_and_leave(wanted)
