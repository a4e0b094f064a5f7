"""`keras-transformer verify`: the certificate as people and machines read it, and how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook

PAIRS = list(phrasebook("fr-en", "valid", 10))


@pytest.fixture(scope="module")
def whole(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("version")
    model.save(directory / "model.keras")
    for name, side in (("a.fr", 0), ("a.en", 1)):
        (directory / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    golden = ["--golden", str(directory / "a.fr"), "--golden-reference", str(directory / "a.en")]
    export = ["export", str(directory / "model.keras"), "--output", str(directory / "1")]
    assert main([*export, "--format", "ctranslate2", *golden]) == 0
    return directory / "1"


@pytest.fixture
def broken(whole: Path, tmp_path: Path) -> Path:
    """The first golden answer is another one, and every sum is right."""
    version = Path(shutil.copytree(whole, tmp_path / "1"))
    lines = (version / "golden.jsonl").read_bytes().splitlines()
    first = json.loads(lines[0])
    first |= {"target_ids": [*first["target_ids"], *first["target_ids"]], "target": 2 * first["target"]}
    content = b"".join(line + b"\n" for line in [json.dumps(first).encode(), *lines[1:]])
    (version / "golden.jsonl").write_bytes(content)
    manifest = json.loads((version / "manifest.json").read_bytes())
    manifest["files"]["golden.jsonl"] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (version / "manifest.json").write_text(json.dumps(manifest))
    return version


def test_the_certificate_is_a_table_with_a_row_for_each_runtime(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(whole)]) == 0
    out, err = capsys.readouterr()
    title, headings, *rows = out.splitlines()
    assert title == f"{whole}: fr to en, 10 golden sentences"
    assert headings.split()[:5] == ["runtime", "precision", "beam", "sentences", "identical"]
    for row, beam in zip(rows, ("1", "5"), strict=True):
        assert row.split()[:7] == ["ctranslate2", "float32", beam, "10", "10", "-", "0"]
        assert row.split()[9] == "+0.00"
        assert len(row) == len(headings)
    assert err.startswith("asking ctranslate2 float32: 10 sentences ...\n")


def test_machines_get_one_object(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(whole), "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["version"], found["kept"], found["broken"], found["differences"]) == (
        str(whole), True, [], [],
    )  # fmt: skip
    assert [(row["beam"], row["identical"]) for row in found["rows"]] == [(1, 10), (5, 10)]
    assert {(row["runtime"], row["precision"]) for row in found["rows"]} == {("ctranslate2", "float32")}


def test_a_broken_promise_is_shown_told_and_the_exit_status(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(broken)]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[2].split()[:7] == ["ctranslate2", "float32", "1", "10", "9", "-", "0"]
    assert lines[4].startswith("  broken, ctranslate2, margin ")
    assert lines[4].endswith(f": {PAIRS[0].source!r}")
    expected, answered = (line.partition(":")[2].strip() for line in lines[5:])
    assert expected != answered
    assert err.splitlines()[-1] == (
        f"keras-transformer verify: {broken} breaks its promise: ctranslate2 float32 answers 1 of 10 "
        "sentences differently from the model, although the model's two highest logits differed by 0.0001 "
        "or more."
    )
    assert main(["verify", str(broken), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] is False
    assert [each["source"] for each in found["differences"]] == [PAIRS[0].source]


def test_wrong_usage_is_status_2() -> None:
    with pytest.raises(SystemExit) as end:
        main(["verify"])
    assert end.value.code == 2


def test_an_interrupt_ends_the_runtime_that_was_asked_as_well(whole: Path, tmp_path: Path) -> None:
    # a runtime that says that it is there, and then nothing for good; the pipe is open as long as it lives
    told = tmp_path / "told"
    (tmp_path / "ctranslate2.py").write_text(
        f"import time; told = open({str(told)!r}, 'w')\n"
        "print('here', file=told, flush=True); time.sleep(10_000)"
    )
    os.mkfifo(told)
    command = [sys.executable, "-m", "keras_transformer", "verify", str(whole)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with (
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process,
        told.open() as runtime,
    ):
        assert runtime.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert runtime.read() == ""  # until it is gone
    assert process.returncode == 130
    assert err.splitlines()[-1] == "keras-transformer verify: interrupted"
