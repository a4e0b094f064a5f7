"""The examples in Node and in plain Python say what onnxruntime says in this process, to any lines."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES, LINES, expected
from tests.support.versions.imported import exported_once, texts

Program = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(params=["node", "python"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    """program(*arguments, given=bytes): one of the examples, run as its user runs it."""
    if request.param == "node":
        request.getfixturevalue("packages")
        command = [request.getfixturevalue("node"), str(EXAMPLES / "node" / "translate.mjs")]
    else:
        command = [sys.executable, str(EXAMPLES / "python" / "translate.py")]

    def run(*arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command, *map(str, arguments)], input=given, capture_output=True, cwd=tmp_path, check=False
        )

    return run


def test_each_line_has_the_tokens_and_the_text_of_onnxruntime(program: Program, either: Path) -> None:
    done = program("--json", either, given="\n".join(LINES).encode())
    assert done.stderr == b""
    said = [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]
    assert said == expected(either, LINES)
    assert len({each["text"] for each in said}) > 20  # the answers depend on the source


def test_a_line_is_translated_as_it_would_be_alone(program: Program, version: Path) -> None:
    lines = [LINES[0], "", LINES[1]]
    texts = [each["text"] for each in expected(version, lines)]
    assert program(version, given="\n".join(lines).encode()).stdout.decode().split("\n") == [*texts, ""]
    for line, text in zip(lines, texts, strict=True):
        assert program(version, given=f"{line}\n".encode()).stdout.decode() == f"{text}\n"
    assert program(version).stdout == b""


def test_what_cannot_be_read_is_told(program: Program, version: Path, tmp_path: Path) -> None:
    done = program(tmp_path / "nowhere", given=b"a")
    assert (done.returncode, done.stdout) == (1, b"")
    assert str(tmp_path / "nowhere" / "manifest.json").encode() in done.stderr
    done = program(version, given=b"caf\xe9")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"utf-8" in done.stderr
    manifest = json.loads((version / "manifest.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    done = program(tmp_path, given=b"a")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"manifest.json has format 2, and this reads 1: use the example that came with what wrote it" in (
        done.stderr
    )


@pytest.mark.parametrize("kind", ["relu", "languages"])  # BPE, unigram
def test_the_version_of_an_imported_model_gives_the_answers_of_transformers(
    program: Program, shared: Path, kind: str
) -> None:
    version = exported_once(shared, kind)
    lines = [*texts(kind), *LINES]
    done = program("--json", version, given="\n".join(lines).encode())
    assert done.stderr == b""
    said = [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]
    assert [each["text"] for each in said[: len(texts(kind))]] == [*texts(kind).values()]
    assert said == expected(version, lines)


def test_without_a_version_it_says_how_it_is_used(program: Program) -> None:
    done = program()
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"usage: " in done.stderr and b"translate" in done.stderr


def test_python_needs_nothing_of_this_project_and_no_framework(version: Path, tmp_path: Path) -> None:
    blocked = ["keras_transformer", "export", "keras", "tensorflow", "tensorflow_text", "torch", "jax"]
    code = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({blocked}))  # None: importing it is an error
sys.argv = ["translate.py", "--json", {str(version)!r}]
runpy.run_path({str(EXAMPLES / "python" / "translate.py")!r}, run_name="__main__")
"""
    run = subprocess.run(
        [sys.executable, "-c", code], input=LINES[0].encode(), capture_output=True, cwd=tmp_path, check=True
    )
    assert [json.loads(run.stdout)] == expected(version, LINES[:1])
