"""What TAB gives after `keras-transformer completion`, in the shells themselves."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keras_transformer import phrasebook
from keras_transformer.cli import VERBS, completion, main
from keras_transformer.phrasebook import book
from tests.support.needed import program

BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
completer=$(complete -p keras-transformer)
completer=${{completer#* -F }}
${{completer%% *}} keras-transformer "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ZSH = """
fpath=({directory} $fpath)
autoload -Uz compinit && compinit -u -D
complete-line() {{
    zle end-of-line
    zle complete-word
    print -r -- "$BUFFER" > {result}
    BUFFER=exit
    zle accept-line
}}
zle -N zle-line-init complete-line
print -z -- {words!r}
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the script of each shell, under the name that the shell looks for."""
    directory = tmp_path_factory.mktemp("scripts")
    names = {"bash": "keras-transformer", "zsh": "_keras-transformer", "fish": "keras-transformer.fish"}
    for shell, name in names.items():
        command = [sys.executable, "-m", "keras_transformer", "completion", shell]
        with (directory / name).open("wb") as script:
            subprocess.run(command, stdout=script, check=True, timeout=60)
    return directory


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: a text, and directories."""
    (tmp_path / "letters.txt").touch()
    (tmp_path / "let").mkdir()
    (tmp_path / "models" / "fr-en" / "1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_bash(scripts: Path, line: str) -> list[str]:
    words = line.split(" ")
    code = BASH.format(
        script=scripts / "keras-transformer", words=" ".join(word or "''" for word in words), count=len(words)
    )
    return output_of(program("bash"), "--norc", "-c", code)


def in_fish(scripts: Path, line: str) -> list[str]:
    code = f"source {scripts / 'keras-transformer.fish'}; complete -C {line!r}"
    shown = output_of(program("fish"), "--no-config", "-c", code)
    return [candidate.partition("\t")[0].removesuffix("/") for candidate in shown]


def in_zsh(scripts: Path, line: str) -> list[str]:
    """What zsh inserts, which is all that the candidates have in common."""
    zsh, result = program("zsh"), Path("result").absolute()
    Path(".zshrc").write_text(ZSH.format(directory=scripts, result=result, words=line))
    terminal, end = pty.openpty()
    environment = {**os.environ, "ZDOTDIR": str(Path.cwd()), "TERM": "xterm"}
    with subprocess.Popen(
        [zsh, "-d", "-i"], stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True
    ) as process:
        os.close(end)
        try:
            while os.read(terminal, 4096):  # until it has exited, and its terminal is gone
                pass
        except OSError:
            pass
        assert process.wait(60) == 0
    os.close(terminal)
    return [result.read_text().split()[-1].removesuffix("/")]


def output_of(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("complete", [in_bash, in_zsh, in_fish])
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("transl", "translate"),
        ("translate --len", "--length-penalty"),
        ("serve --runtime ten", "tensorflow"),
        ("train --preset sm", "small"),
        ("train --source lett", "letters.txt"),
        ("translate mod", "models"),
        ("export models --output le", "let"),  # a directory, not a text
        ("completion fi", "fish"),
    ],
)
@pytest.mark.usefixtures("here")
def test_the_only_candidate_is_completed(
    complete: Callable[[Path, str], list[str]], line: str, completed: str, scripts: Path
) -> None:
    assert complete(scripts, f"keras-transformer {line}") == [completed]


@pytest.mark.parametrize("complete", [in_bash, in_fish])
@pytest.mark.usefixtures("here")
def test_verbs_and_choices_are_listed(complete: Callable[[Path, str], list[str]], scripts: Path) -> None:
    assert set(VERBS) <= set(complete(scripts, "keras-transformer "))
    assert sorted(complete(scripts, "keras-transformer translate le")) == ["let", "letters.txt"]
    assert set(complete(scripts, "keras-transformer evaluate --tokenize ")) == {
        "13a", "intl", "zh", "char", "none",
    }  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_framework_is_loaded_to_describe_the_options(shell: str) -> None:
    code = (
        f"import sys; from keras_transformer.cli import main; assert main(['completion', {shell!r}]) == 0; "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"tensorflow", "keras", "numpy", "grpc", "aiohttp", "onnxruntime", "matplotlib"}


def test_the_phrasebook_is_completed_with_the_directions_and_splits_that_it_has() -> None:
    assert completion.DIRECTIONS == phrasebook.DIRECTIONS
    assert completion.SPLITS == book.SPLITS


def test_another_shell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["completion", "csh"])
    assert stopped.value.code == 2
    assert "invalid choice: 'csh' (choose from 'bash', 'zsh', 'fish')" in capsys.readouterr().err
