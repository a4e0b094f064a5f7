"""`keras-transformer walkthrough`, in this process and as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.cli._loading import native_logs_held_back

COMMAND = [sys.executable, "-m", "keras_transformer", "walkthrough"]


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    variables = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        env={**variables, **environment},
        timeout=120,
        check=False,
    )


def test_prints_one_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["walkthrough", "--example", "6"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("6. Masked self-attention\n")
    assert "0.350859  0.450859  0.550859  0.650859" in out
    assert "1. Self-attention" not in out
    assert err == "With pictures: keras-transformer walkthrough --output walkthrough\n"


def test_writes_a_folder_and_says_what_to_do_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["walkthrough", "--example", "3", "--output", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-4:] == [
        f"Wrote {out}/index.html",
        f"Wrote {out}/positions.png",
        f"Wrote {out}/similarity.png",
        f"Read it: python -m webbrowser {(out / 'index.html').as_uri()}",
    ]
    assert sorted(path.name for path in out.iterdir()) == ["index.html", "positions.png", "similarity.png"]
    assert main(["walkthrough", "--example", "5", "--output", str(out)]) == 0
    assert (out / "positions.png").is_file()
    assert "Masks" in (out / "index.html").read_text("utf-8")


def test_all_examples_and_all_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["walkthrough", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("\nWrote ") == 11
    assert (tmp_path / "index.html").read_text("utf-8").count("<section") == 9


def test_a_file_in_the_way_is_told_before_anything_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    assert main(["walkthrough", "--output", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"keras-transformer walkthrough: {tmp_path}/out is a file; the output needs a directory. "
        "Choose another name.\n"
    )
    assert (tmp_path / "out").read_text() == "mine"


def test_an_unwritable_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["walkthrough", "--example", "2", "--output", str(tmp_path / "file" / "out")]) == 1
    assert f"cannot write {tmp_path}/file/out: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--example", "10"], ["--example", "one"], ["--pictures"], ["more"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["walkthrough", *arguments])
    assert stopped.value.code == 2
    assert "usage: keras-transformer walkthrough" in capsys.readouterr().err


def test_an_ascii_terminal_gets_all_of_it_and_stderr_nothing_of_tensorflows() -> None:
    ran = command(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ran.returncode == 0
    text = ran.stdout.decode("ascii")
    assert "9. From vectors to words" in text
    assert "scaled = Q K^T / sqrt d_k" in text
    assert ran.stderr.decode() == (
        "Loading Keras and TensorFlow ...\n"
        "With pictures: keras-transformer walkthrough --output walkthrough\n"
    )


def test_pictures_are_drawn_only_where_they_are_asked_for() -> None:
    code = (
        "import sys; from keras_transformer.cli import main; import keras_transformer.cli.walkthrough\n"
        "assert not {'keras', 'tensorflow', 'matplotlib'} & set(sys.modules)\n"
        "main(['walkthrough', '--example', '2'])\n"
        "assert 'keras_transformer.viz.pictures' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr.decode()


def test_help_has_an_example_and_loads_nothing() -> None:
    ran = command("--help", KERAS_BACKEND="no such backend")
    assert ran.returncode == 0
    assert b"keras-transformer walkthrough --output walkthrough" in ran.stdout


def test_what_native_code_logs_is_shown_only_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with native_logs_held_back():
        os.write(2, b"I0000 no GPU here\n")
    assert capfd.readouterr().err == ""
    with pytest.raises(ImportError), native_logs_held_back():
        os.write(2, b"the reason\n")
        raise ImportError
    os.write(2, b"and stderr is back\n")
    assert capfd.readouterr().err == "the reason\nand stderr is back\n"
