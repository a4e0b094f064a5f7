"""`train --architecture`: a recurrent run is trained and looked at like a Transformer's, or refused."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli import main
from keras_transformer.models import RecurrentTranslationModel
from keras_transformer.models.recurrent_network import RECURRENT_PRESETS
from keras_transformer.phrasebook import phrasebook
from keras_transformer.training.recipe import Recipe
from tests.support.commands import failed

SIZES = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "units": (48, 48)}
#: The precision with which each is trained here.
PRECISIONS = {"recurrent-attention": "float32", "recurrent": "bfloat16"}
OPTIONS = [
    "--batch-tokens", "512", "--vocabulary-size", "400", "--steps", "4", "--validate-every", "2",
    "--dropout", "0.1", "--both-ways", "0",
]  # fmt: skip
TEXT = "Je suis étudiant."


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECURRENT_PRESETS, "tiny", SIZES)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in phrasebook(pairs=300)), "utf-8")
    return ["--pairs", str(path), "--source-lang", "fr", "--target-lang", "en"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two lines, and their translation."""
    directory = tmp_path_factory.mktemp("texts")
    lines = {"fr": f"{TEXT}\nMerci.\n", "en": "I am a student.\nThank you.\n"}
    for language, text in lines.items():
        (directory / language).write_text(text, "utf-8")
    return [directory / language for language in lines]


@pytest.fixture(scope="module", params=PRECISIONS)
def architecture(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def run(architecture: str, corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("trained") / "run"
    chosen = ["--architecture", architecture, "--precision", PRECISIONS[architecture]]
    assert main(["train", *corpus, "--run", str(run), *chosen, *OPTIONS]) == 0
    return run


def test_it_learns_and_its_files_say_what_it_is(
    run: Path, architecture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    history = json.loads((run / "history.json").read_bytes())
    assert [scores["step"] for scores in history] == [2, 4]
    assert history[1]["loss"] < history[0]["loss"]
    assert json.loads((run / "recipe.json").read_bytes())["architecture"] == architecture
    model = RecurrentTranslationModel.load(run)
    assert model.network.architecture == architecture
    assert {weight.dtype for weight in model.weights} <= {"float32", "uint32"}
    assert main(["info", str(run), "--json"]) == 0
    network = json.loads(capsys.readouterr().out)["network"]
    assert (network["architecture"], network["preset"], network["units"]) == (architecture, "tiny", 48)
    assert network["parameters"] == sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert main(["info", str(run)]) == 0
    assert f"tiny: {architecture}, 1 + 1 layers, width 32, 48 units" in capsys.readouterr().out
    assert main(["info", str(run), "--card"]) == 0
    assert f"| network | {architecture}, 1 + 1 layers" in capsys.readouterr().out


def test_a_run_that_stood_still_goes_on_with_the_same_bits(run: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(run, half)
    (half / "checkpoints" / "step-000000004.npz").unlink()
    assert main(["train", "--run", str(half), "--resume"]) == 0
    ours, theirs = (np.load(path / "checkpoints" / "step-000000004.npz") for path in (run, half))
    assert sorted(ours.files) == sorted(theirs.files)
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours.files)


def test_it_translates_with_every_search_and_is_scored(
    run: Path, architecture: str, texts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text, reference = texts
    capsys.readouterr()
    search = ["--beam", "2", "--no-loop-guard"]
    assert main(["translate", str(run), "--input", str(text), *search, "--json"]) == 0
    first, _ = map(json.loads, capsys.readouterr().out.splitlines())
    answers = first["sentences"][0]["answers"]
    assert len(answers) == 2
    assert bool(answers[0]["alignment"]) == (architecture == "recurrent-attention")
    assert main(["evaluate", str(run), "--source", str(text), "--reference", str(reference), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 2


def test_the_alignment_is_drawn_if_there_is_one(
    run: Path, architecture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["attention", str(run), TEXT, "--output", str(tmp_path / "heads.html")]
    if architecture == "recurrent":
        message = failed(capsys, *command)
        assert "no attention to draw: its architecture is recurrent" in message
        assert "--architecture recurrent-attention" in message
        return
    assert main(command) == 0
    page = (tmp_path / "heads.html").read_text("utf-8")
    found = re.search(r'<script type="application/json" id="heads">(.*?)</script>', page)
    assert found
    (kind,) = json.loads(found[1])["kinds"]
    assert (kind["key"], kind["shape"][:2]) == ("input-output", [1, 1])
    assert "it has input-output" in failed(capsys, *command, "--kind", "input-input")
    assert "layers 1 to 1; got layer 2" in failed(capsys, *command, "--layer", "2")


def test_an_export_is_refused_with_the_reason_and_what_to_do(
    run: Path, architecture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = failed(capsys, "export", run, "--output", tmp_path / "1")
    assert f"has the architecture {architecture}, and only Transformers are exported" in message
    assert "--architecture transformer" in message
    assert list(tmp_path.iterdir()) == []


def test_training_goes_on_from_it_with_its_architecture(
    run: Path,
    architecture: str,
    corpus: list[str],
    texts: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "other"
    valid = ["--valid-source", str(texts[0]), "--valid-target", str(texts[1])]
    options = ["--steps", "1", "--batch-tokens", "512", "--precision", "float32"]
    assert main(["train", "--from", str(run), *corpus[:2], *valid, "--run", str(other), *options]) == 0
    recipe = json.loads((other / "recipe.json").read_bytes())
    assert (recipe["architecture"], recipe["preset"]) == (architecture, None)
    assert RecurrentTranslationModel.load(other).network == RecurrentTranslationModel.load(run).network
    command = ["train", "--from", run, "--architecture", "recurrent", "--run", tmp_path / "third"]
    assert "leave out --architecture" in failed(capsys, *command, status=2)


def test_options_that_only_the_transformer_has_are_refused(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", *corpus, "--run", tmp_path / "run", "--architecture"]
    message = failed(capsys, *command, "recurrent", "--attention-dropout", "0.1", status=2)
    assert "attention_dropout and inner_dropout must be 0 with architecture='recurrent'" in message
    message = failed(capsys, *command, "recurrent", "--preset", "student", status=2)
    assert "preset must be one of tiny, small, base; got 'student'" in message
    message = failed(capsys, *command, "lstm", status=2)
    assert "architecture must be one of transformer, recurrent, recurrent-attention; got 'lstm'" in message


def test_a_recipe_of_before_is_that_of_a_transformer() -> None:
    values = Recipe().as_dict()
    del values["architecture"]
    assert Recipe.from_run(values).architecture == "transformer"
