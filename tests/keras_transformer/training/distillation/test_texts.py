"""The first stage of a distillation: what is translated, what is held out, and what is learned as it is."""

from pathlib import Path

import pytest

from keras_transformer.text.corpus import CorpusError, Pair, read_pairs, read_text
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.distillation import BACK, MONOLINGUAL, ORIGINAL, TEACHER
from keras_transformer.training.distillation.folder import Folder
from keras_transformer.training.distillation.texts import write_texts
from tests.support.teacher import PAIRS


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "run")
    folder.path.mkdir(parents=True)
    return folder


def corpus(directory: Path, pairs: list[Pair], **options: object) -> Corpus:
    path = write(directory / "corpus.tsv", ["\t".join(pair) for pair in pairs])
    return Corpus("fr", "en", pairs=[str(path)], **options)


def lines(path: Path) -> list[str]:
    return list(read_text([path]))


def test_each_source_is_translated_once_and_no_held_out_one(folder: Folder, tmp_path: Path) -> None:
    pairs = [*PAIRS, *(Pair(source, f"{target}!") for source, target in PAIRS), Pair("", "nothing")]
    write_texts(folder, corpus(tmp_path, pairs), [], [], lambda line: None)
    held_out, original = lines(folder.valid[0]), list(read_pairs([folder.pairs(ORIGINAL)], "", ""))
    assert held_out
    assert len(held_out) == len(lines(folder.valid[1]))
    translated = lines(folder.texts(TEACHER))
    assert sorted(translated + held_out) == sorted(pair.source for pair in PAIRS)
    assert sorted(original) == sorted(pair for pair in pairs[:-1] if pair.source not in held_out)
    texts = folder.read("texts.json")
    assert texts["pairs"] == len(original)
    assert texts["sentences"] == {TEACHER: len(translated)}
    assert texts["cleaning"][ORIGINAL]["dropped"] == {"empty": 1}


def test_monolingual_text_is_cleaned_and_what_the_corpus_has_is_left_out(
    folder: Folder, tmp_path: Path
) -> None:
    held_out = [PAIRS[0]]
    valid = [write(tmp_path / f"valid.{side}", [held_out[0][side]]) for side in (0, 1)]
    options = {"valid_source": [str(valid[0])], "valid_target": [str(valid[1])]}
    more = write(
        tmp_path / "more.fr",
        [
            PAIRS[0].source,
            PAIRS[1].source,
            "un\u00a0 oiseau de mer qui vole",
            "un oiseau de mer qui vole",
            "",
            "mot " * 151,
            "12:30",
        ],
    )
    target = write(tmp_path / "more.en", ["a bird", "a bird", PAIRS[0].target, PAIRS[1].target])
    write_texts(folder, corpus(tmp_path, PAIRS[1:], **options), [more], [target], lambda line: None)
    assert lines(folder.texts(MONOLINGUAL)) == ["un oiseau de mer qui vole", "12:30"]
    assert lines(folder.texts(BACK)) == ["a bird", PAIRS[1].target]
    texts = folder.read("texts.json")
    assert texts["sentences"][MONOLINGUAL] == 2
    assert texts["cleaning"][MONOLINGUAL]["dropped"] == {
        "duplicate": 1,
        "empty": 1,
        "more than 150 words": 1,
    }


def test_a_stage_that_is_complete_is_not_done_again(folder: Folder, tmp_path: Path) -> None:
    write_texts(folder, corpus(tmp_path, PAIRS), [], [], lambda line: None)
    before = folder.texts(TEACHER).stat().st_mtime_ns
    write_texts(folder, corpus(tmp_path, PAIRS[:5]), [], [], lambda line: None)
    assert folder.texts(TEACHER).stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ([], "more.fr is empty"),
        (["", " "], "cleaning left nothing of 2 pairs"),
        ([PAIRS[3].source], "more.fr is in the corpus already"),
    ],
)
def test_monolingual_text_of_which_nothing_is_left_is_refused(
    folder: Folder, tmp_path: Path, content: list[str], named: str
) -> None:
    more = write(tmp_path / "more.fr", content)
    with pytest.raises(CorpusError, match=named):
        write_texts(folder, corpus(tmp_path, PAIRS), [more], [], lambda line: None)
    assert folder.read("texts.json") is None
