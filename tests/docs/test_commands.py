"""The shell commands of every page run as they are shown, in page order, in a directory of the page's own.

NOT_RUN has the commands that do not, and why. Smaller here than on a page are the texts, the network, and
what FEWER has; `Shell` says what is not made again. Functions of TensorFlow are not traced, which would take
longer than to run them once.
"""

import gzip
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import chdir, redirect_stdout
from itertools import groupby, pairwise
from pathlib import Path
from shutil import copytree
from typing import IO

import pytest
import tensorflow as tf

from keras_transformer import TranslationModel
from keras_transformer.cli import PROGRAM, main
from keras_transformer.phrasebook import phrasebook
from keras_transformer.training.data import corpus_options, prepare
from tests.support.paths import ROOT
from tests.support.serving.serve_process import serving_both
from tests.support.small_training import small_tiny
from tests.support.versions.small_model import small_model

# Functions of tf.data are traced all the same.
pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config.*functions_eagerly:UserWarning")

FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md"))]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

#: Commands that do not run here: a pattern, and the reason.
NOT_RUN = {
    r"^make ": "sets up the environment, trains or serves; test_pages.py looks for the target",
    r"^source ": "the environment is active",
    r"^pip |\bnpm ci\b": "loads packages from a network",
    r"^docker |^for replica in server-1 ": "needs Docker: tests/deploy checks the files",
    r"^cd serving/deploy$|\bkubectl ": "needs a cluster: tests/deploy/test_kubernetes.py checks the files",
    r" --engine ray |^ray |RAY_ADDRESS": "needs Ray, which starts in seconds: tests/keras_transformer/bulk",
    r" --cluster ": "needs two shells or machines: tests/keras_transformer/training/cluster",
    r"^python3 -m http.server": "serves until it is stopped: tests/examples/test_page.py",
    r"\| node examples/": "needs Node.js and packages: tests/examples/test_translate.py",
    r"^tensorflow_model_server |:8501/": "needs TensorFlow Serving; the page says that it was not run",
    r"^python benchmarks/": "takes minutes; tests/benchmarks runs the code, test_pages.py parses the options",
    r'"Two dogs run." -d source=en': "needs models of two languages; other pages request the same of one",
    r" models/en-de/1 ?": "is a model of Multi30k",
    r"^python csv_to_tsv.py ": "test_how_to.py runs it with the program of the page",
    r"openssl |--tls-certificate |> san.txt$|translate.example.org": "test_how_to.py runs it",
    r"^keras-transformer distill ": "its teachers are trained in tests/keras_transformer/cli/test_distill.py",
    r"^keras-transformer translate build/demo/models/fr-en/1 < ": "shows the error of a damaged version",
}

#: Options that are appended to a command of ours.
FEWER = {
    r"^train (?!.* --resume)": "--steps 1",  # of 640 to 50,000
    r"^train .* --resume --steps ": "--steps 2",
    r"^phrasebook ": "--pairs 60",  # of 300 to 20,000
}

#: Pages whose programs run between their commands if they use what these have made; others have tests.
PROGRAMS = ["README.md", "docs/how-to/translate.md", "docs/tutorials/translation.md"]

#: Files that a page says its commands write, beside those that options name.
WRITTEN = {
    "docs/how-to/read-attention.md": ["attention.html"],
    "docs/how-to/translate-a-corpus.md": ["out/a.fr", "scored/a.jsonl"],
    "docs/tutorials/translation.md": ["build/tutorial/run/curves.png"],
    "docs/tutorials/walkthrough.md": ["build/walkthrough/index.html"],
}

#: What is there before the first command of a page: runs in build/, and texts.
RUNS = ["run", "demo/run", "other", "one", "teacher", "student", "en-fr", "fr-en", "several/run"]
TEXTS = ["train", "test", "more", "a", "letters", "mine", "theirs"]


def commands(page: Path) -> list[str]:
    """Return the commands in the shell blocks of a page, those after "$ " in any block, and PROGRAMS."""
    found = []
    for kind, block in FENCED.findall(page.read_text("utf-8")):
        lines = re.sub(r"(?:\\|(?<=\|))\n", " ", block).splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += prompted or (lines if kind == "sh" else [])
        if kind == "python" and name_of(page) in PROGRAMS and re.search(r'"(build/|127\.)', block):
            found.append(block)
    return [line.replace(f".venv/bin/{PROGRAM}", PROGRAM).strip() for line in found]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


SHOWN = {name_of(page): commands(page) for page in PAGES}


def is_run(command: str) -> bool:
    return not any(re.search(pattern, command) for pattern in NOT_RUN)


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, small_tiny():
        for name, value in {"PHRASES": 200, "REPEATED": 1, "HELD_OUT": 10}.items():
            patch.setattr(corpus_options, name, value)
        patch.setattr(prepare, "HELD_OUT_SHARE", 5)
        tf.config.run_functions_eagerly(True)
        yield
        tf.config.run_functions_eagerly(False)


class Shell:
    """A shell in the current directory, which runs the commands of this project in this process.

    A training, or a walkthrough, is a copy of an earlier one with the same words but for the directory. An
    export is a copy of `exported`, of which there is one server: other tests export and serve.

    Args:
        exported: A version.
        server: Addresses of a server, for gRPC and HTTP, which are in place of those on the pages.
    """

    def __init__(self, exported: Path, server: tuple[str, str]) -> None:
        self._exported = exported
        self._addresses = dict(zip(("127.0.0.1:50051", "127.0.0.1:8080"), server, strict=True))
        self._made: dict[str, Path] = {}

    def run(self, command: str) -> None:
        """Run a command line and assert that each of its programs ends well, or run a program in Python."""
        for shown, here in self._addresses.items():
            command = command.replace(shown, here)
        if "\n" in command:
            exec(compile(command, "a page", "exec"), {})
        elif PROGRAM not in command:
            subprocess.run(["sh", "-ec", command], check=True, timeout=60, capture_output=True)
        else:
            lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            self._run_pipeline([*stage] for bar, stage in groupby(lexer, "|".__eq__) if not bar)

    def _run_pipeline(self, stages: Iterable[list[str]]) -> None:
        given = Path(os.devnull)
        for index, words in enumerate(stages):
            end = words.index(">") if ">" in words else len(words)
            output = Path(*words[end + 1 :] or [f"output-{index}"])
            with given.open("rb") as source, output.open("w", encoding="utf-8") as target:
                if words[0] == PROGRAM:
                    self._run_ours(words[1:end], source, target)
                else:
                    subprocess.run(words[:end], stdin=source, stdout=target, check=True, timeout=60)
            given = output

    def _run_ours(self, words: list[str], source: IO[bytes], target: IO[str]) -> None:
        line = shlex.join(words)
        key = re.sub(r" --(run|output) \S+", "", line)
        paths = [Path(path) for option, path in pairwise(words) if option in ("--run", "--output", "--worst")]
        if words[0] == "serve":
            assert [*Path(words[1]).glob("*/*/manifest.json")]
        elif words[0] == "export":
            assert Path(words[1]).exists()
            copytree(self._exported, paths[0])
        elif key in self._made:
            copytree(self._made[key], paths[0])
        else:
            added = [more for pattern, more in FEWER.items() if re.search(pattern, line)]
            with pytest.MonkeyPatch.context() as patch, redirect_stdout(target):
                patch.setattr(sys, "stdin", source)
                assert main([*words, *" ".join(added).split()]) == 0, line
            if words[0] in ("train", "walkthrough") and "--resume" not in words:
                self._made[key] = paths[0].resolve()
        assert [path for path in paths if not path.exists()] == [], line


@pytest.fixture(scope="module")
def shell(exported: Path) -> Iterator[Shell]:
    """Yield a shell beside a server."""
    with serving_both(exported.parents[1]) as (_, grpc, http):
        yield Shell(exported, (grpc, http))


@pytest.fixture(scope="module")
def presupposed(shell: Shell, exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with what the pages presuppose: texts, runs, a version, the examples."""
    directory = tmp_path_factory.mktemp("presupposed")
    everything = list(phrasebook("fr-en", "test", 120))
    pairs, others = everything[:60], everything[60:]
    french, english = ("".join(f"{text}\n" for text in side) for side in zip(*pairs, strict=True))
    texts = {f"{name}.{code}": french for name in TEXTS for code in ("fr", "de")}
    texts |= {f"{name}.en": english for name in TEXTS}
    for name, rows in {"letters.tsv": pairs, "general.tsv": others}.items():
        texts[name] = "".join("\t".join(row) + "\n" for row in rows)
    texts |= {"fr.txt": french * 20, "en.txt": english * 20, "in/a.jsonl": '{"text": "Merci."}\n'}
    (directory / "in").mkdir()
    for name, text in texts.items():
        (directory / name).write_text(text, "utf-8")
    for name in ("corpus.fr.gz", "in/a.fr.gz"):
        (directory / name).write_bytes(gzip.compress(french.encode()))
    with chdir(directory):
        shell.run(f"{PROGRAM} train --phrasebook fr-en --run trained")
    links = {f"build/{run}": directory / "trained" for run in RUNS}
    links["tuned.keras"] = directory / "trained" / "model.keras"
    links["build/demo/models"] = exported.parents[1]
    links["opus-mt-fr-en"] = ROOT / "tests" / "keras_transformer" / "pretrained" / "golden" / "relu"
    links["examples"] = ROOT / "examples"
    for name, target in links.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).symlink_to(target)
    return directory


@pytest.mark.parametrize("page", [page for page, shown in SHOWN.items() if any(map(is_run, shown))])
def test_the_commands_of_a_page_run_one_after_the_other(
    page: str, presupposed: Path, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copytree(presupposed, tmp_path / "page", symlinks=True))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for command in filter(is_run, SHOWN[page]):
        shell.run(command)
    assert [name for name in WRITTEN.get(page, ()) if not Path(name).is_file()] == []


def test_the_first_commands_of_the_page_on_translation_write_the_answers_of_the_model(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "run").mkdir(parents=True)
    small_model().save(tmp_path / "build" / "run" / "model.keras")
    (tmp_path / "letters.fr").write_text("Merci.\n", "utf-8")
    (tmp_path / "corpus.fr.gz").write_bytes(gzip.compress(b"Non.\n"))
    for command in SHOWN["docs/how-to/translate.md"][:3]:
        shell.run(command)
    answers = [Path(name).read_text("utf-8") for name in ("output-1", "letters.en", "corpus.en")]
    assert len(set(answers)) == 3
    model = TranslationModel.load("build/run")
    assert "".join(answers).splitlines() == model.translate(["Je suis étudiant.", "Merci.", "Non."])


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_what_is_not_run_is_on_a_page(pattern: str) -> None:
    assert any(re.search(pattern, command) for shown in SHOWN.values() for command in shown)


def test_the_programs_of_every_page_are_run() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    pages = [page for page in PAGES if "\n```python\n" in page.read_text("utf-8")]
    assert [page for page in pages if f'{page.name}"' not in tests] == []


@pytest.mark.parametrize("page", [page for page in PROGRAMS if page != "README.md"])
def test_no_program_of_a_page_is_left_out(page: str) -> None:
    programs = [block for kind, block in FENCED.findall((ROOT / page).read_text("utf-8")) if kind == "python"]
    assert programs
    assert [program for program in programs if program.strip() not in SHOWN[page]] == []
