"""`keras-transformer translate grpc://...`: what a version prints, from a server, and how it fails."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keras_transformer.cli import main
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.server import Server
from tests.support.commands import failed
from tests.support.serving.certificates import Files
from tests.support.serving.echo import run
from tests.support.serving.serve_process import serving

LINES = [
    "Je suis étudiant.",
    "",
    " \t ",
    "  Où est la gare ? Merci. ",
    "M. Petit dort, " * 12 + "et moi aussi.",
    *(f"Bonjour, {number} !" for number in range(150)),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def server(exported: Path) -> Iterator[str]:
    with serving(exported, "--characters", 1000) as (_, address):
        yield f"grpc://{address}"


@pytest.fixture(scope="module")
def secret_server(exported: Path, files: Files) -> Iterator[str]:
    """With all that can be asked for."""
    certificate, key = files.server
    options = ["--tls-certificate", certificate, "--tls-key", key, "--tls-client-ca", files.ca]
    with serving(exported, *options, "--token-file", files.tokens("secret", "other")) as (_, address):
        yield f"grpcs://{address}"


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    path = tmp_path / "letters.fr"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def failure(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["translate", "--input", os.devnull, *map(str, arguments)]) == 1
    return capsys.readouterr().err.splitlines()[-1].removeprefix("keras-transformer translate: ")


@pytest.mark.parametrize(
    "options", [[], ["--scores"], ["--beam", "4", "--length-penalty", "0.5", "--scores"]]
)
@pytest.mark.parametrize("place", ["", "/fr-en", "/fr-en/1"])
def test_a_server_prints_what_its_version_prints(
    options: list[str],
    place: str,
    exported: Path,
    server: str,
    letters: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [*options, "--no-loop-guard"]  # an untrained model repeats itself
    assert main(["translate", str(exported), "--input", str(letters), *options]) == 0
    expected = capsys.readouterr().out
    assert main(["translate", f"{server}{place}", "--input", str(letters), *options]) == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert out.count("\n") == len(LINES)
    assert err.startswith(f"Translating fr to en with {server} ...\n{len(LINES)} lines, ")


def test_neither_framework_nor_runtime_is_loaded_for_it(server: str, letters: Path) -> None:
    code = (
        "import json, sys; from keras_transformer.cli import main; "
        f"main(['translate', {server!r}, '--input', {str(letters)!r}]); "
        "print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "grpc" in loaded
    assert not {"tensorflow", "keras", "onnxruntime", "onnx", "sentencepiece", "numpy"} & loaded


def test_a_server_that_wants_everything_gets_it(
    exported: Path, secret_server: str, files: Files, letters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files.directory / "mine").write_text("# mine\nother\n")
    certificate, key = files.client
    options = ["--ca", files.ca, "--certificate", certificate, "--key", key]
    options += ["--token-file", files.directory / "mine"]
    assert main(["translate", str(exported), "--input", str(letters)]) == 0
    expected = capsys.readouterr().out
    assert main(["translate", secret_server, "--input", str(letters), *map(str, options)]) == 0
    assert capsys.readouterr().out == expected
    told = failure(capsys, secret_server, *options[:-2])
    assert told.startswith(f"{secret_server}: UNAUTHENTICATED: ")
    assert told.endswith(": name a file that contains the token with --token-file.")
    for some in (options[:2], options[2:]):
        told = failure(capsys, secret_server, *some)
        assert told.startswith(f"{secret_server}: UNAVAILABLE: ")
    told = failure(capsys, secret_server, *options[:-1], files.directory / "tokens")
    assert told == f"{files.directory}/tokens has 2 tokens: keep only your own."


def test_the_lines_before_one_that_is_refused_are_printed(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["Merci."] * 100 + ["a" * 1001] + ["Merci."] * 100
    (tmp_path / "letters").write_text("\n".join(lines))
    assert main(["translate", server, "--input", str(tmp_path / "letters")]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 100
    assert err.splitlines()[-2:] == [
        "100 lines done",
        f"keras-transformer translate: {server}: INVALID_ARGUMENT: "
        "text has 1,001 characters; the limit is 1,000. Split it into several requests.",
    ]


def test_who_is_not_there_is_told_with_what_may_be_the_matter(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for address in ("grpc://127.0.0.1:1", server.replace("grpc:", "grpcs:")):
        told = failure(capsys, address)
        assert told.startswith(f"{address}: UNAVAILABLE: ")
        assert told.endswith(": does it run, and with TLS as grpcs://, without as grpc://?")


def test_a_model_that_is_not_there_is_told_with_those_that_are(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failure(capsys, f"{server}/de-en") == (f"{server} has fr-en: name one of them, as {server}/fr-en.")
    assert failure(capsys, f"{server}/fr-en/2") == (
        f"{server} has no version 2 of fr-en that answers: name one of 1."
    )


@pytest.mark.parametrize("refused", [{}, {("fr-en", 1): "it is damaged"}])
@pytest.mark.parametrize("place", ["", "/fr-en", "/fr-en/1"])
def test_a_server_without_any_model_is_told_with_what_to_do(
    place: str, refused: dict[tuple[str, int], str], capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        server = Server(Limits())
        address = f"grpc://127.0.0.1:{await server.start('127.0.0.1', 0)}"
        await server.open(Registry([], refused))
        try:
            told = await asyncio.to_thread(failure, capsys, f"{address}{place}")
        finally:
            await server.drain(0)
        assert told == (
            f"{address} serves no model at the moment: repeat the command later. "
            "If a version was refused, the server's log has the reason."
        )

    run(scenario)


def test_what_only_a_run_can_is_refused(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["translate", server, "--input", os.devnull, "--max-tokens", 4, "--json"]
    assert failed(capsys, *command, status=2) == (
        f"error: {server} is a server: leave out --max-tokens, --json, or name the run that its model was "
        "exported from."
    )


def test_a_beam_that_is_too_wide_for_a_server_is_told(
    server: str, letters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", server, "--input", str(letters), "--beam", "9"]) == 1
    assert "options.beam must be at most 8; got 9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["grpc://localhost"],
            "a server is grpc://HOST:PORT or grpcs://HOST:PORT, then perhaps /NAME/VERSION",
        ),
        (["http://localhost:5"], "got http://localhost:5"),
        (["grpc://localhost:x"], "got grpc://localhost:x"),
        (["grpc://:5"], "got grpc://:5"),
        (["grpc://me@localhost:5"], "got grpc://me@localhost:5"),
        (["grpc://localhost:5/a/b"], "got grpc://localhost:5/a/b"),
        (["grpc://localhost:5?a"], "got grpc://localhost:5?a"),
        (["build/run", "--ca", "f"], "--ca is for a server, as grpc://HOST:PORT; got build/run"),
        (
            ["grpc://h:5", "--key", "f"],
            "--key is for a server with TLS, as grpcs://HOST:PORT; got grpc://h:5",
        ),
    ],
)
def test_wrong_addresses_are_wrong_usage(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "--input", os.devnull, *arguments])
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_files_that_cannot_be_used_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--ca", "--token-file"):
        assert failure(capsys, "grpcs://127.0.0.1:1", option, tmp_path / "none") == (
            f"{tmp_path}/none cannot be read (No such file or directory); name a readable file."
        )
    assert failure(capsys, "grpcs://127.0.0.1:1", "--key", tmp_path) == (
        "a client's certificate and its key go together; give both, or neither."
    )
