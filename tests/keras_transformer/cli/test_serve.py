"""`keras-transformer serve`: what its help explains, what it refuses; tests/serving has the server itself."""

import re
from pathlib import Path

import pytest

from keras_transformer.cli import main
from tests.support.serving.certificates import Files

OPTIONS = {
    "--host": "127.0.0.1",
    "--port": "50051",
    "--grace": "30",
    "--precision": "float32",
    "--slots": "32",
    "--queue": "1,024",
    "--prefill": "512",
    "--threads": "1",
    "--characters": "5,000",
    "--tokens": "2,048",
    "--segments": "128",
    "--message-bytes": "4,194,304",
}


def refused(*arguments: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["serve", *arguments])
    assert end.value.code == 2


def test_the_help_explains_every_limit_with_what_it_usually_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["serve", "--help"])
    assert end.value.code == 0
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    listed = text[text.index(" options: ") :]
    for option, usual in OPTIONS.items():
        explained = re.search(rf" {option} \S+ (.*?)(?= --[a-z]|$)", listed)
        assert explained, option
        assert len(explained[1]) > 20, option
        assert usual in explained[1], option
    assert "lines that begin with # are comments" in listed


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--port", "65536", "a port is a number from 0 to 65535; got 65536"),
        ("--port", "-1", "a port is a number from 0 to 65535; got -1"),
        ("--grace", "-1", "a number of seconds, at least 0, is needed; got -1"),
        ("--grace", "nan", "a number of seconds, at least 0, is needed; got nan"),
        ("--slots", "0", "--slots must be at least 1, and at most 4,096; got 0"),
        ("--queue", "many", "--queue must be at least 1, and at most 1,000,000; got many"),
        ("--precision", "int4", "invalid choice: 'int4'"),
    ],
)
def test_wrong_values_are_wrong_usage(
    option: str, value: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(str(tmp_path), f"{option}={value}")
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tls-certificate", "c.pem"], "--tls-certificate and --tls-key go together; got c.pem alone"),
        (["--tls-key", "k.pem"], "--tls-certificate and --tls-key go together; got k.pem alone"),
        (
            ["--tls-client-ca", "ca.pem"],
            "--tls-client-ca needs --tls-certificate and --tls-key; got ca.pem alone",
        ),
    ],
)
def test_half_of_what_encrypts_is_wrong_usage(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(str(tmp_path), *options)
    assert told in capsys.readouterr().err


def test_files_that_cannot_be_used_are_failures_before_anything_listens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = Files(tmp_path)
    certificate, key = map(str, files.server)
    pair = ["--tls-certificate", certificate, "--tls-key"]
    no_file = "cannot be read (No such file or directory); name a readable file"
    for options, told in [
        ([*pair, "none.pem"], f"none.pem {no_file}."),
        ([*pair, str(files.client[1])],
         f"{files.client[1]} is not the key of {certificate}; name two that belong together."),
        ([*pair, key, "--tls-client-ca", "none.pem"], f"none.pem {no_file}."),
        ([*pair, key, "--tls-client-ca", key],
         f"{key} has no certificate of an authority; name a PEM file with one."),
        (["--token-file", "none"], f"none {no_file}."),
        (["--token-file", str(files.tokens("# x", " "))],
         f"{tmp_path}/tokens has no token; write one per line, such as `openssl rand -hex 32` prints."),
    ]:  # fmt: skip
        assert main(["serve", str(tmp_path), *options]) == 1
        assert capsys.readouterr().err == f"keras-transformer serve: {told}\n"


def test_a_directory_has_to_be_named() -> None:
    refused()


def test_a_directory_without_models_is_a_failure_that_says_what_to_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path), "--port", "0"]) == 1
    assert capsys.readouterr().err == (
        f"keras-transformer serve: {tmp_path} has no models; name a directory that "
        "`keras-transformer export` wrote, or one that holds such directories as NAME/VERSION.\n"
    )


def test_what_serving_needs_and_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("keras_transformer.cli.serve.NEEDED", ("grpc", "not_there", "not.there.either"))
    assert main(["serve", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "keras-transformer serve: serving needs not_there and not.there.either, not installed in this "
        "environment: install the package from its clone with its extra `serve`.\n"
    )
