"""`keras-transformer translate` as a user runs it: in a pipe, at a terminal, interrupted."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import tty
from itertools import cycle, islice
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from tests.support import fork_server

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Non.", "Deux cafés, s'il vous plaît."]


def started(
    run: Path, *options: str, kind: type["subprocess.Popen[bytes]"] = fork_server.Popen, **files: int
) -> "subprocess.Popen[bytes]":
    """The command as a process, with pipes where no files are given, and Ctrl-C as in a terminal."""
    changing = {"TF_CPP_MIN_LOG_LEVEL", "PYTHONUNBUFFERED"}
    environment = {name: value for name, value in os.environ.items() if name not in changing}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return kind(
        # an untrained model repeats itself, which would be a line more
        [sys.executable, "-m", "keras_transformer", "translate", str(run), "--no-loop-guard", *options],
        env=environment,
        bufsize=0,
        **{**pipes, **files},  # type: ignore[call-overload]
    )


def heard(file: int, until: bytes, seconds: float = 120) -> bytes:
    """What comes from there, up to a text that has to come."""
    content = b""
    while until not in content:
        assert select.select([file], [], [], seconds)[0], f"after {seconds} s there was only {content!r}"
        data = os.read(file, 1 if until == b"\n" else 4096)
        assert data, f"the end came after {content!r}"
        content += data
    return content


SAID = b"Translating fr to en ...\n"  # in a fork, where Keras is loaded


def test_a_program_that_waits_for_each_answer_gets_it(run: Path, model: TranslationModel) -> None:
    with started(run, kind=subprocess.Popen) as process:
        assert process.stdin and process.stdout and process.stderr
        for text, answer in zip(TEXTS, model.translate(TEXTS, loop_guard=False), strict=True):
            process.stdin.write(f"{text}\n".encode())
            assert heard(process.stdout.fileno(), b"\n").decode() == f"{answer}\n"
        process.stdin.close()
        assert process.stdout.read() == b""
        assert re.fullmatch(
            rb"Loading Keras and TensorFlow \.\.\.\n"
            + re.escape(SAID)
            + rb"5 lines, [\d.]+ s, [\d,]+ lines/s\n",
            process.stderr.read(),
        )
        assert process.wait(60) == 0


def test_an_interrupt_loses_no_line_that_was_printed(
    run: Path, tmp_path: Path, model: TranslationModel
) -> None:
    texts = list(islice(cycle(TEXTS), 200_000))
    path = tmp_path / "long.txt"
    path.write_text("".join(f"{text}\n" for text in texts))
    with started(run, "--input", str(path)) as process:
        assert process.stdout and process.stderr
        first = heard(process.stdout.fileno(), b"\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    printed = (first + out).decode()
    assert printed.endswith("\n")
    lines = printed.splitlines()
    assert lines == list(islice(cycle(model.translate(TEXTS, loop_guard=False)), len(lines)))
    assert len(lines) < len(texts)
    done = f"{len(lines):,} line{'s' * (len(lines) > 1)} done\n"
    assert err.decode() == f"{SAID.decode()}{done}keras-transformer translate: interrupted\n"


def test_at_a_terminal_it_says_how_to_end_and_answers_each_line(run: Path, model: TranslationModel) -> None:
    terminal, stdin = pty.openpty()
    with started(run, stdin=stdin) as process:
        os.close(stdin)
        assert process.stdout and process.stderr
        heard(process.stderr.fileno(), b"Translating fr to en from the terminal; Ctrl-D ends\n")
        os.write(terminal, b"Merci.\n")
        assert (
            heard(process.stdout.fileno(), b"\n").decode()
            == f"{model.translate(['Merci.'], loop_guard=False)[0]}\n"
        )
        os.write(terminal, b"\x04")  # Ctrl-D
        assert process.wait(60) == 0
    os.close(terminal)


def shown_in_a_terminal(
    run: Path, path: Path, out: Path, columns: int, until: bytes, *, interrupt: bool = False
) -> bytes:
    """What a terminal of so many columns gets on stderr while a file is translated into another."""
    terminal, stderr = pty.openpty()
    tty.setraw(stderr)
    termios.tcsetwinsize(stderr, (24, columns))
    with out.open("wb") as file:
        process = started(
            run, "--input", str(path), stdin=subprocess.DEVNULL, stdout=file.fileno(), stderr=stderr
        )
    os.close(stderr)
    with process:
        shown = heard(terminal, until)
        if interrupt:
            process.send_signal(signal.SIGINT)
            heard(terminal, b"interrupted\n")
        assert process.wait(60) == (130 if interrupt else 0)
    os.close(terminal)
    return shown


@pytest.mark.parametrize("columns", [30, 100])
def test_a_terminal_shows_how_far_a_file_is_in_one_line(columns: int, run: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "lines.txt", tmp_path / "out.txt"
    path.write_text("Non.\n" * 5000)
    shown = shown_in_a_terminal(run, path, out, columns, b"lines/s\n" if columns > 40 else b"5,000 lines")
    assert out.read_bytes().count(b"\n") == 5000
    moved = [line.decode().rstrip() for line in shown.partition(b"...\n")[2].split(b"\r")[:-1]]
    assert max(map(len, moved)) < columns
    assert any(line.startswith("66% |") for line in moved)
    if columns > 40:
        assert any(re.search(r"left, 3,\d{3} lines, [\d.]+ s, [\d,]+ lines/s$", line) for line in moved)
        assert re.search(rb"\r5,000 lines, [\d.]+ s, [\d,]+ lines/s\n\Z", shown)


def test_a_terminal_shows_how_far_a_line_of_a_megabyte_is(run: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "line.txt", tmp_path / "out.txt"
    path.write_text("Non. Oui. " * 100_000 + "\n")
    shown = shown_in_a_terminal(run, path, out, 100, b" sentences of the next", interrupt=True)
    assert re.search(rb"left, 0 lines, and [\d,]+ of [\d,]+ sentences of the next", shown)
    assert out.read_bytes() == b""


def test_a_log_has_a_line_now_and_then_and_nothing_that_moves(tmp_path: Path) -> None:
    code = (
        "from itertools import count; from keras_transformer import progress_bar as progress; "
        "progress.LOG_EVERY = 10; progress.time.monotonic = count().__next__; "  # each look is a second later
        "bar = progress.progress_bar('{n} of {total}', '{postfix}', total=40); "
        "[(bar.set_postfix_str('words', refresh=False), bar.refresh()) for bar.n in range(40)]; "
        "bar.write('a notice', file=progress.sys.stderr); bar.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""
    assert re.fullmatch(r"(\d+ of 40, words\n){4}a notice\n", done.stderr)


def test_what_a_text_holds_cannot_command_the_terminal(tmp_path: Path) -> None:
    terminal, stdout = pty.openpty()
    code = "from keras_transformer.cli._lines import write_line; write_line('a\\x1b[2J')"
    for output, shown in ((stdout, None), (subprocess.PIPE, b"a\x1b[2J\n")):
        done = subprocess.run([sys.executable, "-c", code], stdout=output, check=True, timeout=60)
        assert done.stdout == shown  # a pipe gets what there is
    os.close(stdout)
    assert heard(terminal, b"\r\n") == b"a\\u001b[2J\r\n"
    os.close(terminal)


def test_in_a_pipe_it_ends_quietly_when_the_reader_leaves(run: Path) -> None:
    with started(run) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"Non.\n" * 1024)  # whose answer is read by one line, as `head -1` does
        heard(process.stdout.fileno(), b"\n")
        process.stdout.close()
        process.stdin.write(b"Non.\n")
        process.stdin.close()
        assert process.stderr.read() == SAID
        assert process.wait(60) == 0


def test_a_closed_standard_input_is_told(run: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m keras_transformer translate "$1" <&-', sys.executable, str(run)],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        done.stderr == b"keras-transformer translate: standard input is closed: name a file with --input.\n"
    )
