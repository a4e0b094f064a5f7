"""A forked process is to its test what one that was started is (tests/support/fork_server.py)."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import fork_server

ABOUT = """
import json, os, sys, threading
print(json.dumps({
    "words": sys.argv, "path": sys.path[0], "input": sys.stdin.read(), "directory": os.getcwd(),
    "variable": os.environ.get("SHOWN"), "dropped": os.environ.get("DROPPED"), "parent": os.getppid(),
    "leads": os.getsid(0) == os.getpid(), "files": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    "threads": threading.active_count(), "name": __name__, "buffered": not sys.stdout.line_buffering,
    "stdout": [sys.stdout.encoding, sys.stdout.errors], "stderr": [sys.stderr.encoding, sys.stderr.errors],
    "signals": [str(__import__("signal").getsignal(number)) for number in (2, 13, 15)],
}))
print("told", file=sys.stderr)
sys.exit(3)
"""


def test_it_says_of_itself_what_a_started_one_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "about.py"
    script.write_text(ABOUT)
    monkeypatch.setenv("DROPPED", "yes")
    kept = {name: value for name, value in os.environ.items() if name != "DROPPED"}
    for command in (
        ["-c", ABOUT, "a", "ü"],
        [str(script), "a"],
        ["-m", "about", "--b"],
        ["-P", str(script), "a"],
    ):
        options: dict[str, Any] = {
            "cwd": tmp_path, "env": {**kept, "SHOWN": "é"}, "input": "text\n", "text": True,
            "capture_output": True, "start_new_session": True,
        }  # fmt: skip
        ours = fork_server.run([sys.executable, *command], check=False, **options)
        real = subprocess.run([sys.executable, *command], check=False, **options)
        assert (ours.returncode, ours.stderr) == (3, "told\n")
        assert (ours.stdout, ours.stderr, ours.returncode) == (real.stdout, real.stderr, real.returncode)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_the_status_of_that_signal(number: signal.Signals) -> None:
    code = "import sys; print('there', flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code]
    with fork_server.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline() == "there\n"
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(60) == -number
        assert ("KeyboardInterrupt" in process.stderr.read()) == (number == signal.SIGINT)


def test_an_uncaught_error_is_printed_and_the_status_is_one() -> None:
    done = fork_server.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_what_is_to_be_done_at_the_end_is_done() -> None:
    code = (
        "import atexit, sys, threading, time\n"
        "atexit.register(print, 'handler', flush=False)\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread', flush=False))).start()\n"
        "sys.exit({status})"
    )
    for status, ends in (("None", 0), ("256 + 7", 7), ("'reason'", 1)):
        command = [sys.executable, "-c", code.format(status=status)]
        ours = fork_server.run(command, capture_output=True, text=True, check=False)
        real = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ours.stdout, ours.returncode) == ("thread\nhandler\n", ends)
        assert (ours.stdout, ours.stderr, ours.returncode) == (real.stdout, real.stderr, real.returncode)


def test_a_full_disk_at_the_last_flush_is_an_error() -> None:
    command = [sys.executable, "-c", "print('lost')"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        ours, real = (
            kind.run(command, env=buffered, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            for kind in (fork_server, subprocess)
        )
    assert ours.returncode == real.returncode == 120
    assert "No space left on device" in ours.stderr


def test_at_a_terminal_it_knows_so() -> None:
    terminal, end = pty.openpty()
    code = "import sys; print(sys.stdout.isatty(), sys.stdout.line_buffering, sys.stdin.isatty())"
    assert fork_server.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=end).returncode == 0
    assert os.read(terminal, 100) == b"True True False\r\n"
    os.close(terminal)
    os.close(end)


def test_it_computes_with_tensorflow_and_no_two_draw_the_same_numbers() -> None:
    code = (
        "import sys; print('keras' in sys.modules); import numpy, keras; "
        "print(float(keras.ops.sum(keras.ops.ones(3)))); print(numpy.random.rand())"
    )
    first, second = (
        fork_server.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    )
    assert first[:2] == second[:2] == ["True", "3.0"]
    assert first[2] != second[2]


def test_the_children_of_one_that_forks_them_are_forks_and_its_own() -> None:
    code = (
        "import os, subprocess, sys\n"
        "print('keras' in sys.modules, os.getppid(), os.getpid(), sys.argv[1:], flush=True)\n"
        "if deeper := sys.argv[1:]:\n"
        "    print(subprocess.check_output([sys.executable, '-c', *deeper], text=True))"
    )
    command = [sys.executable, "-c", code, code, code]
    done = fork_server.run(command, forking_children=True, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line]
    assert [line[0] for line in lines] == ["True"] * 3
    assert [line[1] for line in lines] == [str(os.getpid()), lines[0][2], lines[1][2]]


def test_what_a_fork_sets_too_late_for_tensorflow_starts_none_of_its_children() -> None:
    code = (
        "import os, subprocess, sys; os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'; "
        "subprocess.run([sys.executable, '-c', 'import sys; print(\"keras\" in sys.modules)'], check=True)"
    )
    command = [sys.executable, "-c", code]
    assert fork_server.run(command, forking_children=True, capture_output=True).stdout == b"True\n"


def test_what_cannot_be_a_fork_is_started() -> None:
    command = [
        sys.executable,
        "-c",
        "import os, sys; print(os.environ['OMP_NUM_THREADS'], 'keras' in sys.modules)",
    ]
    options: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    assert (
        fork_server.run(command, env={**os.environ, "OMP_NUM_THREADS": "7"}, **options).stdout == "7 False\n"
    )
    assert fork_server.run(["echo", "text"], **options).stdout == "text\n"
