"""`keras-transformer train --tokenizer DIR`: SentencePiece models that are there."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from tests.support.commands import failed
from tests.support.small_training import small_tiny

ONE_STEP = ["--steps", "1", "--batch-tokens", "512", "--max-tokens", "64", "--precision", "float32"]
LANGUAGES = ["--source-lang", "fr", "--target-lang", "en"]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with small_tiny():
        yield


def model(**ids: int) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(text for pair in phrasebook("fr-en", "train", 200) for text in pair),
        model_writer=written,
        model_type="unigram",
        vocab_size=300,
        **ids,
    )
    return written.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizers")
    pairs = phrasebook("fr-en", "train", 200)
    (folder / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    for name, content in (
        ("good", model(pad_id=0, unk_id=1, bos_id=2, eos_id=3)),
        ("late", model(pad_id=3)),
        ("none", model()),
        ("damaged", b"SentencePiece"),
    ):
        (folder / name).mkdir()
        (folder / name / "shared.model").write_bytes(content)
    (folder / "empty").mkdir()
    return folder


def test_the_run_has_the_pieces_of_the_model_and_its_own_languages(folder: Path, tmp_path: Path) -> None:
    words = ["--pairs", folder / "a.tsv", *LANGUAGES, "--tokenizer", folder / "good", "--run", tmp_path / "r"]
    assert main(["train", *map(str, words), *ONE_STEP]) == 0
    tokenizer = TranslationModel.load(tmp_path / "r").tokenizer
    assert tokenizer.source_model == (folder / "good" / "shared.model").read_bytes()
    assert (tokenizer.source_lang, tokenizer.target_lang) == ("fr", "en")
    recipe = json.loads((tmp_path / "r" / "recipe.json").read_bytes())
    assert (recipe["tokenizer"], recipe["joint"], recipe["vocabulary_size"]) == ("unigram", True, None)
    # the tokenizer directory of a run is one, too
    assert Tokenizer.load(tmp_path / "r" / "tokenizer").get_config() == tokenizer.get_config()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("bep", "is bpe, unigram, or a directory with SentencePiece models; got "),
        ("empty", "must hold either shared.model, or source.model and target.model"),
        ("damaged", "shared.model cannot be used"),
        ("none", "the model has no padding, start or end piece"),
        ("late", "has the id 3; it must be 0"),
    ],
)
def test_what_is_no_tokenizer_is_refused_before_anything_is_written(
    folder: Path, name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--pairs", folder / "a.tsv", *LANGUAGES, "--tokenizer", folder / name, "--run", tmp_path / "r"]
    said = failed(capsys, "train", *words, "--steps", 0, status=2)
    assert why in said
    assert "steps must be" in said  # every problem at once
    assert not (tmp_path / "r").exists()


def test_a_size_beside_it_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--run", folder / "r", "--tokenizer", folder / "good", "--vocabulary-size", 400]
    assert "leave out --vocabulary-size" in failed(capsys, "train", *words, status=2)
