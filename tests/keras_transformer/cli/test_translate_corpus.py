"""`keras-transformer translate --engine`: the same bytes as one process gives, in a directory."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from tests.support.commands import failed
from tests.support.texts import HOSTILE

TEXTS = [
    *(pair.source for pair in phrasebook("fr-en", "train", 40)),
    *(text for text in HOSTILE if "\n" not in text and len(text) < 1000),
    "",
    "  Merci.  Où est la gare ?\r",
    "a\u2028b\u0085c\x0bd\x0ce",
]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """in/a.fr.gz and in/b.fr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    content = "".join(f"{text}\n" for text in TEXTS).encode("utf-8", "replace")
    (tmp_path / "in" / "a.fr.gz").write_bytes(gzip.compress(content * 12))
    (tmp_path / "in" / "b.fr").write_bytes(content.removesuffix(b"\n"))
    return tmp_path


def assert_same_bytes(
    model: Path, names: list[str], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ["--engine", "processes", "--workers", "2", "--input", "in/*", "--output", "out"]
    assert main(["translate", str(model), *engine, *options]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"Translating {len(names)} file" in shown.err
    for name in names:
        (source,) = Path("in").glob(f"{name}*")
        assert main(["translate", str(model), "--input", str(source), *options]) == 0
        assert (Path("out") / name).read_bytes() == capsys.readouterr().out.encode()
        assert f"wrote out/{name}\n" in shown.err


@pytest.mark.parametrize("options", [[], ["--scores", "--beam", "2", "--length-penalty", "0.5"]])
def test_the_bytes_are_those_of_one_process(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert_same_bytes(exported, ["a.fr", "b.fr"], options, capsys)


def test_a_run_gives_all_answers_of_the_search_as_json(
    run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "in" / "a.fr.gz").unlink()
    assert_same_bytes(run, ["b.fr"], ["--json"], capsys)


def test_a_worker_loads_neither_tensorflow_nor_keras_nor_ray(exported: Path) -> None:
    code = (
        "import sys; from argparse import Namespace; from pathlib import Path; "
        "from keras_transformer.cli._bulk import SEARCH, open_in_worker; "
        "translate = open_in_worker(Namespace(model=Path(sys.argv[1]), **SEARCH)); "
        "assert len(translate(['Merci.'])) == 1; "
        "assert not {'tensorflow', 'keras', 'ray', 'pyarrow', 'pandas'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(exported)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--engine", "threads"], "'processes', 'ray'"),
        (["--engine", "processes"], "--input and --output"),
        (["--engine", "processes", "--output", "out"], "--input and --output"),
        (["--engine", "processes", "--input", "in/*"], "--input and --output"),
        (["--output", "out"], "--engine"),
        (["--workers", "2"], "--engine"),
        (["--column", "text"], "--engine"),
        (["--engine", "processes", "--input", "in/*", "--output", "out", "--workers", "0"], "at least 1"),
        (["--engine", "processes", "--input", "in/*", "--output", "out", "--json"], "--json"),
        (["--engine", "processes", "--input", "in/*", "--output", "out", "--ca", "ca.pem"], "--ca"),
    ],
)
def test_wrong_options_are_refused_with_the_usage(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str], named: str
) -> None:
    assert named in failed(capsys, "translate", exported, *options, status=2)
    assert not Path("out").exists()


def test_a_server_is_no_model_of_an_engine(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--engine", "ray", "--input", "in/*", "--output", "out"]
    assert "exported version" in failed(capsys, "translate", "grpc://127.0.0.1:1", *options, status=2)


@pytest.mark.parametrize(
    ("pattern", "output", "named"),
    [
        ("in/*.de", "out", "in/*.de"),
        ("in/*", "in", "--output"),
        ("in/*", "in/b.fr", "in/b.fr"),
    ],
)
def test_files_that_cannot_be_translated_are_refused_before_a_model_is_opened(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str], pattern: str, output: str, named: str
) -> None:
    options = ["--engine", "processes", "--input", pattern, "--output", output]
    assert named in failed(capsys, "translate", exported, *options)


def test_a_gzip_file_that_is_cut_off_ends_the_command_with_its_name(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (corpus / "in" / "a.fr.gz").read_bytes()
    (corpus / "in" / "a.fr.gz").write_bytes(whole[:-20])
    options = ["--engine", "processes", "--input", "in/*", "--output", "out", "--workers", "1"]
    assert "a.fr.gz is cut off" in failed(capsys, "translate", exported, *options)


def test_a_model_that_is_none_is_refused_before_the_output_is_made(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--engine", "processes", "--input", "in/*", "--output", "out"]
    assert "does not exist" in failed(capsys, "translate", "nowhere", *options)
    assert not Path("out").exists()


def test_without_ray_its_engine_is_refused_with_the_extra_that_has_it(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    message = failed(capsys, "translate", exported, "--engine", "ray", "--input", "in/*", "--output", "out")
    assert "needs ray" in message
    assert "`scale`" in message
    assert "--engine processes" in message


def test_another_model_or_other_options_are_refused_where_a_translation_was_begun(
    exported: Path, another: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--engine", "processes", "--input", "in/b.fr", "--output", "out"]
    assert main(["translate", str(exported), *options]) == 0
    assert "another model" in failed(capsys, "translate", another, *options)
    assert "another beam" in failed(capsys, "translate", exported, *options, "--beam", "2")
    assert main(["translate", str(exported), *options]) == 0
    assert "nothing was left" in capsys.readouterr().err
    assert json.loads(Path("out/.bulk/job.json").read_text())["inputs"].keys() == {"b.fr"}


def test_after_a_wrong_column_the_right_one_is_taken(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.jsonl").write_text('{"text": "Merci."}\n')
    command = ["translate", str(exported), "--engine", "processes", "--workers", "1"]
    command += ["--input", "a.jsonl", "--output", "out", "--column"]
    assert "no column 'txt'" in failed(capsys, *command, "txt")
    assert main([*command, "text"]) == 0
    assert json.loads(Path("out/a.jsonl").read_text())["text"] == "Merci."
    assert "another column" in failed(capsys, *command, "txt")


def test_after_the_conversion_of_a_file_to_utf_8_the_same_command_does_the_rest(
    exported: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in/c.fr").write_bytes(b"Merci.\n" * 500 + "Café.\n".encode("latin-1"))
    options = ["--engine", "processes", "--workers", "1", "--input", "in/[bc].fr", "--output", "out"]
    assert "line 501: 0xE9" in failed(capsys, "translate", exported, *options)
    Path("in/c.fr").write_text("Merci.\nCafé.\n", "utf-8")
    assert main(["translate", str(exported), *options]) == 0
    assert len(Path("out/c.fr").read_text("utf-8").splitlines()) == 2
    Path("in/b.fr").write_text("Merci.\n")
    assert "b.fr has changed" in failed(capsys, "translate", exported, *options)
