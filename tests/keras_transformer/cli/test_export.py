"""`keras-transformer export`, and what `translate` and `info` make of its directory."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from export.artifact.manifest import Version, open_version
from keras_transformer import TranslationModel
from keras_transformer.cli import main
from keras_transformer.models.translate import translate_sentences
from keras_transformer.phrasebook import phrasebook
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run
from tests.support.commands import failed

PAIRS = list(phrasebook("fr-en", "valid", 120))
TEXTS = ["Je suis étudiant.", "", "Merci.  Où est la gare ? Non.", "  Deux cafés, s'il vous plaît. ", "Oui."]


@pytest.fixture(scope="module")
def run(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with all that an export takes from it."""
    run = Run(tmp_path_factory.mktemp("run") / "run")
    with run.begin({**Corpus(phrasebook="fr-en").as_run(), "recipe": {}}):
        pass
    run.write("cleaning.json", {"read": 210, "kept": 200})
    run.write("recipe.json", Recipe().as_dict())
    run.write_pairs("valid.jsonl", PAIRS)
    model.save(run.model)
    return run.path


@pytest.fixture(scope="module")
def version(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Version:
    output = tmp_path_factory.mktemp("models") / "fr-en" / "1"
    command = ["export", str(run), "--output", str(output), "--format", "ctranslate2", "--golden-count", "20"]
    assert main(command) == 0
    return open_version(output)


@pytest.fixture
def translated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """translated(MODEL, options): what is printed for TEXTS."""
    path = tmp_path / "input.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS))

    def translated(model: Path, *options: str) -> str:
        capsys.readouterr()
        assert main(["translate", str(model), "--input", str(path), *options]) == 0
        return capsys.readouterr().out

    return translated


# export


def test_a_run_becomes_a_version_with_its_held_out_sentences_as_the_golden_ones(
    version: Version, model: TranslationModel
) -> None:
    assert [each.source for each in version.golden] == [PAIRS[place * 6].source for place in range(20)]
    assert [each.reference for each in version.golden] == [PAIRS[place * 6].target for place in range(20)]
    assert [each.target for each in version.golden] == translate_sentences(
        model, [each.source for each in version.golden], loop_guard=False
    )
    card = version.manifest.quality
    assert card.corpus == "the phrasebook fr-en"
    assert card.pairs is not None and (card.pairs.read, card.pairs.kept) == (210, 200)
    assert [each.name for each in card.scores] == ["BLEU", "chrF", "TER"]


def test_it_says_where_it_wrote_and_what_to_run_next(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "1"
    assert main(["export", str(run), "--output", str(output), "--format", "ctranslate2"]) == 0
    out, err = capsys.readouterr()
    first, second = out.splitlines()
    assert re.fullmatch(
        rf"exported: {output}, \d+\.\d MB, in \d+\.\d s and (\d\.\d GB|\d+ MB) of memory", first
    )
    assert second == f"next:     keras-transformer verify {output}"
    assert "writing ctranslate2 ..." in err.splitlines()


def test_golden_sentences_may_come_from_files(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Merci.\n\nOui.\nNon.\n")
    (tmp_path / "a.en").write_text("Thanks.\n\nYes.\nNo.\n")
    export = [
        "export",
        str(run / "model.keras"),
        "--format",
        "ctranslate2",
        "--golden",
        str(tmp_path / "a.fr"),
    ]
    assert main([*export, "--output", str(tmp_path / "1")]) == 0
    assert [each.source for each in open_version(tmp_path / "1").golden] == ["Merci.", "Oui.", "Non."]
    assert open_version(tmp_path / "1").manifest.quality.scores == ()
    references = ["--golden-reference", str(tmp_path / "a.en"), "--golden-count", "2"]
    assert main([*export, "--output", str(tmp_path / "2"), *references]) == 0
    found = open_version(tmp_path / "2").golden
    assert [(each.source, each.reference) for each in found] == [("Merci.", "Thanks."), ("Oui.", "Yes.")]


def test_what_is_wrong_is_told_before_a_model_is_loaded(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: TranslationModel
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "a.fr").write_text("Merci.\n")
    (tmp_path / "b.en").write_text("Thanks.\nYes.\n")
    export, output = ["export", run, "--output"], tmp_path / "1"
    assert failed(capsys, *export, tmp_path / "taken") == (
        f"{tmp_path / 'taken'} exists and is never overwritten: name another, such as the next version."
    )
    assert failed(capsys, *export, output, "--format", "onnx,gguf", status=2) == (
        "error: there is no format 'gguf'; there are onnx, ctranslate2, saved_model"
    )
    assert failed(capsys, *export, output, "--format", "ctranslate2", "--quantize", "int8", status=2) == (
        "error: int8 is a precision of onnx: name such a format"
    )
    assert failed(capsys, *export, output, "--format", "ctranslate2", "--with-tokenizer", status=2) == (
        "error: a tokenizer is written into an ONNX file: name the format onnx too"
    )
    assert failed(capsys, *export, output, "--golden-reference", tmp_path / "b.en", status=2) == (
        "error: --golden-reference is the translation of --golden: give both"
    )
    assert failed(capsys, *export, output, "--golden-count", "0", status=2) == (
        "error: argument --golden-count: at least 1 golden sentence is needed, and at most 1,000,000; got 0"
    )
    assert "a.fr" in failed(
        capsys, *export, output, "--golden", tmp_path / "a.fr", "--golden-reference", tmp_path / "b.en"
    )
    assert failed(capsys, "export", tmp_path / "none", "--output", output, "--golden", tmp_path / "a.fr") == (
        f"{tmp_path / 'none'} does not exist: name a run directory or a .keras file."
    )
    model.save(tmp_path / "model.keras")
    assert failed(capsys, "export", tmp_path / "model.keras", "--output", output) == (
        f"{tmp_path / 'model.keras'} has no held-out sentences, and a version needs golden sentences: "
        "name a file of them with --golden."
    )
    (tmp_path / "blank").write_text("\n\n")
    assert failed(capsys, "export", run, "--output", output, "--golden", tmp_path / "blank") == (
        "an export needs golden sentences: give at least one that is not blank."
    )
    assert not output.exists()


def test_a_full_disk_is_told_and_nothing_is_left(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], disk_of: Callable[..., object]
) -> None:
    output = tmp_path / "fr-en" / "1"
    with disk_of(20_000):  # type: ignore[attr-defined]
        told = failed(capsys, "export", run, "--output", output, "--format", "ctranslate2")
    assert told == f"[Errno 27] File too large: '{output}'"
    assert list((tmp_path / "fr-en").iterdir()) == []


def test_a_version_is_no_run(version: Version, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (
        f"{version.directory} is an exported version, for `translate`, `evaluate`, `verify` and `info`: "
        "name the run from which it was exported."
    )
    (tmp_path / "a.fr").write_text("Merci.\n")
    (tmp_path / "a.en").write_text("Thanks.\n")
    golden = ["--golden", tmp_path / "a.fr"]
    assert failed(capsys, "export", version.directory, "--output", tmp_path / "2", *golden) == told
    assert failed(capsys, "attention", version.directory, "Merci.", "--output", tmp_path / "a.html") == told


# translate


@pytest.mark.parametrize("options", [[], ["--scores", "--no-loop-guard"]])
def test_a_version_translates_line_by_line_as_its_run_does(
    options: list[str], version: Version, run: Path, translated: Callable[..., str]
) -> None:
    assert translated(version.directory, *options) == translated(run, *options)


def test_which_runtime_translates_is_told_and_no_framework_is_loaded(version: Version) -> None:
    code = (
        "import sys; from keras_transformer.cli import main; status = main(sys.argv[1:])\n"
        "print(*sorted({'tensorflow', 'keras'} & set(sys.modules))); sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "translate", str(version.directory), "--input", os.devnull]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "\n"
    assert done.stderr == "Translating fr to en with ctranslate2 float32 ...\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--max-tokens", "9"], "--max-tokens"),
        (["--json", "--max-tokens", "2"], "--max-tokens, --json"),
    ],
)
def test_what_only_a_run_can_do_is_refused_with_the_remedy(
    options: list[str], named: str, version: Version, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(capsys, "translate", version.directory, "--input", os.devnull, *options, status=2) == (
        f"error: {version.directory} is an exported version: leave out {named}, or name the run that it was "
        "exported from."
    )


def test_a_beam_of_a_version_without_onnx_is_refused_with_the_remedy(
    version: Version, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(capsys, "translate", version.directory, "--input", os.devnull, "--beam", "4") == (
        f"{version.directory} searches no beam. ctranslate2 float32 decodes greedily: export it with "
        "--format onnx as well, or leave out --beam."
    )


def test_a_version_of_which_no_runtime_is_installed_is_refused_with_the_remedy(
    version: Version, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert failed(capsys, "translate", version.directory, "--input", os.devnull) == (
        "ctranslate2 float32 needs ctranslate2, not installed in this environment: install the package "
        "from its clone with its extra `export`."
    )


# info


def test_info_tells_what_a_version_is(
    version: Version, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["info", str(version.directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    manifest = version.manifest
    assert lines[0] == f"{version.directory}: an exported version, made {manifest.created}"
    rows = {line[:14].strip(): line[15:] for line in lines[1:]}
    assert rows["languages"] == "fr to en"
    assert rows["domain"] == "the phrasebook fr-en; 200 pairs kept of 210"
    assert rows["vocabulary"] == "400 pieces for both sides"
    assert rows["formats"] == "ctranslate2 float32"
    assert (
        rows["limits"]
        == "1,024 source tokens; for n of them an answer has at most 2 n + 10 tokens, and 1,024"
    )
    assert rows["scores"].startswith("BLEU ") and rows["scores"].endswith("on 20 golden sentences")
    assert f"on {manifest.quality.machine.processor}, 1 thread" in rows["sentences/s"]
    assert rows["network"].endswith(f"{manifest.quality.parameters:,} parameters")


@pytest.mark.parametrize("verb", ["info", "verify", "translate"])
def test_a_manifests_languages_cannot_command_the_terminal(
    verb: str, version: Version, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(version.directory, tmp_path / "1"))
    manifest = json.loads((copy / "manifest.json").read_bytes())
    manifest["languages"]["source"] = "fr\x1b[2J\x9b"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    capsys.readouterr()
    main([verb, str(copy), *(["--input", os.devnull] if verb == "translate" else [])])
    told = "".join(capsys.readouterr())
    assert r"fr\x1b[2J\x9b" in told  # and refused: languages are printable
    assert not {"\x1b", "\x9b"} & set(told)


def test_info_tells_machines_the_same_and_more(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["info", str(version.directory), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    manifest = json.loads((version.directory / "manifest.json").read_bytes())
    assert found["kind"] == "version"
    for name in ("created", "languages", "limits", "formats", "versions", "quality", "special_ids"):
        assert found[name] == manifest[name]
    assert found["network"].items() >= manifest["network"].items()
    assert found["files"]["ctranslate2"] == manifest["quality"]["bytes"]["ctranslate2"]


def test_a_version_whose_manifest_is_gone_is_still_told_from_a_run(
    version: Version, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(version.directory, tmp_path / "1"))
    (copy / "manifest.json").unlink()
    for verb, *options in (["translate", "--input", os.devnull], ["info"]):
        assert failed(capsys, verb, copy, *options) == (
            f"{copy} cannot be used as an exported version:\n"
            "  manifest.json: it is missing; name a directory that `keras-transformer export` wrote, or copy "
            "the version again from where it came, or export it again"
        )
