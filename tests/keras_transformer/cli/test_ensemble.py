"""`translate RUN RUN2 ...` and `evaluate RUN RUN2 ...`: several models that translate together."""

import json
import shutil
from pathlib import Path

import pytest

from keras_transformer import TranslationEnsemble, TranslationModel
from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer
from tests.support.commands import failed

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Deux cafés, s'il vous plaît. Merci."]


@pytest.fixture(scope="module")
def second(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the tokenizer of `run` and other weights."""
    path = tmp_path_factory.mktemp("second")
    other = model.with_policy("float32")
    for weight in other.trainable_variables:
        weight.assign(weight[::-1])
    other.save(path / "model.keras")
    return path


@pytest.fixture(scope="module")
def ensemble(run: Path, second: Path) -> TranslationEnsemble:
    return TranslationEnsemble.load([run, second])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.fr"
    path.write_text("".join(f"{line}\n" for line in TEXTS), "utf-8")
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_translate_prints_what_the_ensemble_translates(
    run: Path, second: Path, text: Path, ensemble: TranslationEnsemble, capsys: pytest.CaptureFixture[str]
) -> None:
    for beam in (1, 3):
        out = printed(capsys, "translate", run, second, "--input", text, "--beam", beam)
        assert out.splitlines() == ensemble.translate(TEXTS, beam=beam)
        assert out != printed(capsys, "translate", run, "--input", text, "--beam", beam)
        assert out != printed(capsys, "translate", second, "--input", text, "--beam", beam)


def test_a_model_twice_translates_and_scores_as_the_model(
    run: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--input", text, "--json", "--beam", 2]
    assert printed(capsys, "translate", run, run, *options) == printed(capsys, "translate", run, *options)


def test_an_engine_writes_what_one_process_prints_and_refuses_another_ensemble(
    run: Path,
    second: Path,
    text: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = text.parent / "out"
    engine = ["--engine", "processes", "--workers", "1", "--input", text, "--output", out]
    assert printed(capsys, "translate", run, second, *engine) == ""
    expected = printed(capsys, "translate", run, second, "--input", text)
    assert (out / text.name).read_text("utf-8") == expected
    assert "another model" in failed(capsys, "translate", run, *engine)
    assert "another model" in failed(capsys, "translate", second, run, *engine)


def test_evaluate_scores_the_ensemble_under_the_names_of_its_models(
    run: Path, second: Path, text: Path, ensemble: TranslationEnsemble, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = text.with_name("text.en")
    reference.write_text("".join(f"{line}\n" for line in ensemble.translate(TEXTS)), "utf-8")
    options = ["--source", text, "--reference", reference, "--compare", second, "--json"]
    result = json.loads(printed(capsys, "evaluate", run, second, *options))
    assert result["system"] == f"{run} + {second}"
    assert result["exact"] == len(TEXTS)
    assert result["other"] == str(second)


@pytest.fixture(scope="module")
def unlike(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that are in no ensemble with `run`, by what is different."""
    directory = tmp_path_factory.mktemp("unlike")
    config = model.tokenizer.get_config()
    pairs = list(phrasebook("fr-en", "train", 200))
    tokenizers = {
        "vocabulary": Tokenizer.train(pairs, 390, source_lang="fr", target_lang="en"),
        "languages": Tokenizer.from_config({**config, "target_lang": "de"}),
        "tokenizer": None,
    }
    for name, tokenizer in tokenizers.items():
        size = tokenizer.source_size if tokenizer else model.source_vocabulary
        other = TranslationModel(model.network, size, tokenizer=tokenizer)
        other.build()
        other.save(directory / f"{name}.keras")
    return {name: directory / f"{name}.keras" for name in tokenizers}


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("vocabulary", "different vocabularies"),
        ("languages", "fr to en and"),
        ("tokenizer", "no tokenizer"),
    ],
)
@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_models_of_other_vocabularies_or_languages_are_refused_by_name(
    run: Path,
    unlike: dict[str, Path],
    text: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    named: str,
    verb: str,
) -> None:
    options = {"translate": ["--input", text], "evaluate": ["--source", text, "--reference", run / "x"]}
    message = failed(capsys, verb, run, unlike[kind], *options[verb])
    assert named in message
    assert str(unlike[kind]) in message
    if kind != "tokenizer":
        assert str(run) in message
    if kind == "vocabulary":
        assert f"--tokenizer {run}/tokenizer" in message
    with pytest.raises(ValueError, match=named):
        TranslationEnsemble.load([run, unlike[kind]])


def test_an_ensemble_is_of_runs_and_not_of_versions_and_servers(
    run: Path, tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = tmp_path / "fr-en" / "1"
    exported.mkdir(parents=True)
    (exported / "manifest.json").write_text("{}")
    options = ["--input", text]
    assert f"leave out {run}" in failed(capsys, "translate", exported, run, *options, status=2)
    assert "exported version" in failed(capsys, "translate", run, exported, *options)
    address = "grpc://127.0.0.1:1"
    assert f"leave out {run}" in failed(capsys, "translate", address, run, *options, status=2)
    scored = ["--source", text, "--reference", text.with_name("text.en")]
    shutil.copy(text, text.with_name("text.en"))
    assert "exported version" in failed(capsys, "evaluate", exported, run, *scored)


def test_an_ensemble_needs_a_model_and_graphs(model: TranslationModel) -> None:
    with pytest.raises(ValueError, match="at least one model"):
        TranslationEnsemble([])

    class Other(TranslationModel):
        pass

    other = Other.from_config(model.get_config())
    other.build()
    with pytest.raises(ValueError, match="no ONNX graphs"):
        TranslationEnsemble([model, other])
