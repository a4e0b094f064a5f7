"""The selection of translations: what a student does not learn, and why."""

from pathlib import Path

import pytest

from keras_transformer.text.cleaning import CleaningRules
from keras_transformer.text.corpus import CorpusError, Pair, read_pairs
from keras_transformer.training.distillation import BACK, TEACHER
from keras_transformer.training.distillation.folder import Folder
from keras_transformer.training.distillation.selection import Selection, select

RULES = CleaningRules(drop_duplicates=False)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "run")


def selected(
    folder: Folder, texts: list[str], translations: list[str], drop_worst: float, part: str = TEACHER
) -> tuple[list[Pair], Selection]:
    for path, lines in ((folder.texts(part), texts), (folder.translated(part), translations)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    selection = select(folder, part, RULES, drop_worst)
    return list(read_pairs([folder.pairs(part)], "", "")), selection


def test_loops_copies_empty_lines_and_wrong_lengths_are_dropped_with_their_reasons(folder: Folder) -> None:
    copy = "je ne sais pas traduire cela"
    texts = ["un chat", "deux chats", copy, "rien", "oui", "trois chats"]
    translations = [
        "-0.1000\ta cat",
        "-0.2000\ttwo\tloop",
        f"-0.3000\t{copy}",
        "-0.4000\t",
        f"-0.5000\t{'yes ' * 30}",
        "-0.6000\tthree cats",
    ]
    pairs, selection = selected(folder, texts, translations, 0.0)
    assert pairs == [Pair("un chat", "a cat"), Pair("trois chats", "three cats")]
    assert selection.report.read == 6
    assert selection.report.kept == 2
    assert selection.report.dropped == {"loop": 1, "copy": 1, "empty": 1, "length ratio above 4.0": 1}
    # the loop does not count: (0.1 + 0.3 + 0.4 + 0.5 + 0.6) / 5
    assert selection.mean_score == pytest.approx(-0.38)
    assert selection.lowest_score == -0.6


def test_so_many_of_the_lowest_scores_are_dropped(folder: Folder) -> None:
    texts = [f"texte {number}" for number in range(20)]
    translations = [f"-{number}.5000\ttext {number}" for number in range(20)]
    pairs, selection = selected(folder, texts, translations, 0.1)
    assert [pair.source for pair in pairs] == texts[:18]
    assert selection.report.dropped == {"low score": 2}
    assert selection.lowest_score == -17.5


def test_a_backward_model_has_made_the_source_and_the_text_is_the_target(folder: Folder) -> None:
    pairs, _ = selected(folder, ["a cat"], ["-0.1000\tun chat"], 0.05, BACK)
    assert pairs == [Pair("un chat", "a cat")]


def test_a_teacher_that_only_loops_is_an_error_with_its_loops(folder: Folder) -> None:
    with pytest.raises(CorpusError, match=r"nothing of 2 pairs: loop \(2\)"):
        selected(folder, ["a", "b"], ["-1.0000\tx\tloop", "-1.0000\ty\tloop"], 0.05)
    assert not folder.pairs(TEACHER).exists()
