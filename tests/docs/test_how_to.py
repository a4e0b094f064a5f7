"""The programs and commands of the how-to pages run as they are shown."""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import pytest
import yaml

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.cli import main
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from serving import Client, TranslationError
from tests.support.needed import program
from tests.support.serving.serve_process import serving

ROOT = Path(__file__).parents[2]


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / "how-to" / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def with_models(directory: Path, version: Path) -> Path:
    """Return the directory, in which build/demo/models has this version, as after `make demo`."""
    (directory / "build" / "demo").mkdir(parents=True)
    (directory / "build" / "demo" / "models").symlink_to(version.parents[1])
    return directory


def test_a_loaded_model_is_fine_tuned_with_fit_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "demo" / "run").mkdir(parents=True)
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400, source_lang="fr", target_lang="en")
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    model.save("build/demo/run/model.keras")
    (program,) = blocks("fine-tune.md", "python")
    names: dict[str, Any] = {"__name__": "tuning"}

    exec(compile(program, "docs/how-to/fine-tune.md", "exec"), names)

    losses = names["model"].history.history["loss"]
    assert losses[-1] < losses[0]
    tuned = TranslationModel.load("tuned.keras")
    assert tuned.translate(["Merci."]) == names["model"].translate(["Merci."])


def test_a_table_becomes_tsv_that_training_reads(tmp_path: Path) -> None:
    (program,) = blocks("parallel-text.md", "python")
    (tmp_path / "csv_to_tsv.py").write_text(program, "utf-8")
    table = 'en,note,fr\n"A parcel, please.",,Un colis.\n"He said ""yes"".",x,"Il a\ndit oui."\n'
    (tmp_path / "letters.csv").write_text(table, "utf-8")
    (command,) = (line for line in blocks("parallel-text.md", "sh")[0].splitlines() if "csv_to_tsv" in line)

    subprocess.run(
        ["sh", "-ec", command.replace("python", sys.executable, 1)], cwd=tmp_path, check=True, timeout=60
    )

    from keras_transformer.text.corpus import read_pairs

    pairs = [tuple(pair) for pair in read_pairs([tmp_path / "letters.tsv"], "en", "fr")]
    assert pairs == [("A parcel, please.", "Un colis."), ('He said "yes".', "Il a dit oui.")]


def test_docker_run_mounts_and_publishes_what_the_image_has() -> None:
    build, run = (block.split() for block in blocks("docker.md", "sh"))
    dockerfile = (ROOT / build[build.index("--file") + 1]).read_text("utf-8")
    image = build[build.index("--tag") + 1]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    assert run[-1] == image == services["server-1"]["image"]
    (command,) = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    (mounted,) = re.findall(r"target=([^,]+)", " ".join(run))
    assert mounted == json.loads(command)[0]
    (exposed,) = re.findall(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)
    published = [value.rpartition(":")[2] for value in run if value.startswith("127.0.0.1:")]
    assert published == exposed.split()


def test_the_programs_that_ask_a_server_print_what_the_server_answers(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "\n".join(blocks("serve.md", "python"))
    with serving(exported.parents[1]) as (_, address):
        exec(compile(program.replace("127.0.0.1:50051", address), "docs/how-to/serve.md", "exec"), {})
        with Client(address) as client:
            answers = [client.translate(text) for text in ("Je suis étudiant.", "Merci.", "Où est la gare ?")]
            score = client.translate("Je suis étudiant.", scores=True).score
    *texts, last, links = capsys.readouterr().out.splitlines()
    assert texts == [answer.text for answer in answers]
    assert last == f"{answers[2].text}{score}"
    assert links.startswith("[('")


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """Run the commands of secure.md that make a token, an authority and a certificate."""
    tokens = blocks("secure.md", "sh")[0].splitlines()[0]
    for command in (tokens, blocks("secure.md", "sh")[1]):
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    return tmp_path


def test_a_secured_server_answers_a_client_that_names_authority_and_token_and_no_other(
    authority: Path, exported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(authority)
    (code,) = blocks("secure.md", "python")
    token = Path("tokens").read_text("utf-8").strip()
    command = shlex.split(blocks("secure.md", "sh")[0].partition("--host 0.0.0.0")[2].replace("\\\n", " "))
    options = [word if word.startswith("--") else str(authority / word) for word in command]
    monkeypatch.setenv("PATH", f"{Path(program('buf')).parent}{os.pathsep}{os.environ['PATH']}")
    with serving(exported.parents[1], *options) as (_, address):
        requests = blocks("secure.md", "sh")[2].replace("translate.example.org:50051", address)
        asked = subprocess.run(
            ["sh", "-ec", requests], capture_output=True, text=True, timeout=60, check=True
        )
        for written, here in (("translate.example.org:50051", address), ("8f3c...", token)):
            assert written in code
            code = code.replace(written, here)
        exec(compile(code, "docs/how-to/secure.md", "exec"), {})
        with pytest.raises(TranslationError, match="bearer token"), Client(address, tls="ca.pem") as client:
            client.translate("Je suis étudiant.")
    answer, printed = capsys.readouterr().out.splitlines()[0], asked.stdout
    assert answer in printed.partition("{")[0]
    assert json.loads(printed[printed.index("{") :])["translation"]["text"] == answer


def test_a_version_translates_in_python(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(with_models(tmp_path, exported))
    (program,) = blocks("export.md", "python")
    names: dict[str, Any] = {}
    exec(compile(program, "docs/how-to/export.md", "exec"), names)
    (answer,) = names["translator"].translate(["Je suis étudiant."])
    assert answer.text


def test_an_imported_directory_translates_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    golden = ROOT / "tests" / "keras_transformer" / "pretrained" / "golden"
    (tmp_path / "opus-mt-fr-en").symlink_to(golden / "relu")
    (program,) = blocks("import.md", "python")
    names: dict[str, Any] = {}
    exec(compile(program, "docs/how-to/import.md", "exec"), names)
    assert names["model"].translate([""]) == [""]


def test_the_program_of_the_first_page_builds_a_model() -> None:
    text = (ROOT / "docs" / "index.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(program, "docs/index.md", "exec"), names)
    assert names["model"].output_shape == (None, 2)


def test_other_runtimes_open_a_version_as_their_page_does(
    everything: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(with_models(tmp_path, everything))
    code = "\n".join(blocks("other-runtimes.md", "python"))
    exec(compile(code, "docs/how-to/other-runtimes.md", "exec"), {})
    saved_model, beam, ctranslate2 = capsys.readouterr().out.splitlines()
    assert saved_model.startswith(f"{ctranslate2} [-")
    assert beam.count("', '") == 4


def test_a_corpus_is_translated_by_the_commands_of_its_page(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(with_models(tmp_path, exported))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.fr.gz").write_bytes(gzip.compress(b"Merci.\n" * 3))
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "Merci."}\n', "utf-8")
    text, columns, _ = blocks("translate-a-corpus.md", "sh")
    for command in (text, columns):
        assert main(shlex.split(command)[1:]) == 0
    (answer,) = set((tmp_path / "out" / "a.fr").read_text("utf-8").splitlines())
    (line,) = (tmp_path / "scored" / "a.jsonl").read_text("utf-8").splitlines()
    assert {**json.loads(line), "score": None} == {"text": "Merci.", "translation": answer, "score": None}
