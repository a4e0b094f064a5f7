"""The certificate tells what each runtime really says: sums that match prove nothing to it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from export.artifact.golden import BEAM, NEAR_TIE
from export.artifact.manifest import open_version
from export.formats.writers.ctranslate2 import write_ctranslate2
from export.isolated import ReplyError, ask
from export.verify import Certificate, certificate
from keras_transformer import TranslationModel
from keras_transformer.cli import main
from tests.support.versions.damages import golden, summed_again, written
from tests.support.versions.small_model import SENTENCES, exported, small_model


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


@pytest.fixture
def version(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "1"))


def certified(directory: Path) -> Certificate:
    version = open_version(directory)
    return certificate(version, notify=lambda line: None)


def first(**changes: object) -> Callable[[list[bytes]], list[bytes]]:
    """The first golden line with other values."""
    return lambda lines: [json.dumps(json.loads(lines[0]) | changes).encode() + b"\n", *lines[1:]]


def other_answer(directory: Path, margin: float) -> None:
    """The first golden sentence has another answer than the weights give, which was so near."""
    tokenizer = open_version(directory).tokenizer
    ids = [5, 6, 7, tokenizer.eos_id]
    golden(directory, first(target_ids=ids, target=tokenizer.decode_target([ids])[0], margin=margin))


def test_of_a_version_as_it_was_exported_every_token_and_score_is_the_models(version: Path) -> None:
    found = certified(version)
    assert [row.beam for row in found.rows] == [1, BEAM]
    for row in found.rows:
        assert (row.runtime, row.precision, row.sentences, row.identical) == (
            "ctranslate2",
            "float32",
            24,
            24,
        )
        assert row.near_ties == 0
        assert row.score_difference is not None and row.score_difference < 1e-5
        assert row.bleu is not None and row.bleu_change == 0.0
        assert row.sentences_per_second > 0
    assert found.differences == found.broken == ()


def test_other_weights_with_the_right_sums_break_the_promise(version: Path) -> None:
    other = small_model()
    kernel = other.decoder.blocks[0].feed_forward.outer.kernel
    kernel.assign(kernel * 1.5)
    shutil.rmtree(version / "ctranslate2")
    write_ctranslate2(other, version / "ctranslate2")
    summed_again(version, "ctranslate2/model.bin")
    found = certified(version)
    row, searched = found.rows
    assert row.identical < 24
    assert searched.identical < 24
    assert len(found.differences) == 48 - row.identical - searched.identical
    assert found.broken == (
        f"ctranslate2 float32 answers {24 - row.identical} of 24 sentences differently from the model, "
        "although the model's two highest logits differed by 0.0001 or more",
        *found.broken[1:],
    )
    for each in found.differences:
        assert each.source in {sentence.source for sentence in SENTENCES}
        assert each.beam == BEAM or not each.near_tie


def test_another_answer_is_excused_and_listed_where_the_model_could_hardly_decide(version: Path) -> None:
    other_answer(version, margin=0.99e-4)
    found = certified(version)
    assert (found.rows[0].identical, found.rows[0].near_ties) == (23, 1)
    assert found.broken == ()
    (difference,) = found.differences
    assert difference.near_tie
    assert difference.source == SENTENCES[0].source


def test_it_is_not_excused_where_the_model_was_sure(version: Path) -> None:
    other_answer(version, margin=1e-4)
    found = certified(version)
    assert (found.rows[0].identical, found.rows[0].near_ties) == (23, 0)
    assert found.broken == (
        "ctranslate2 float32 answers 1 of 24 sentences differently from the model, although the model's two "
        "highest logits differed by 0.0001 or more",
    )


@pytest.mark.parametrize("margin", [0.99e-4, 1e-4])
def test_another_answer_of_a_beam_is_judged_by_the_margin_of_its_search(
    version: Path, margin: float, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = open_version(version).tokenizer
    ids = [5, 6, 7, tokenizer.eos_id]
    (target,) = tokenizer.decode_target([ids])
    golden(version, first(beam={"target": target, "target_ids": ids, "score": -1.0, "margin": margin}))
    found = certified(version)
    greedy, searched = found.rows
    near_tie = margin < NEAR_TIE
    assert (greedy.identical, searched.identical, searched.near_ties) == (24, 23, int(near_tie))
    assert [(each.beam, each.near_tie) for each in found.differences] == [(BEAM, near_tie)]
    assert (found.broken == ()) is near_tie
    assert main(["verify", str(version)]) == (0 if near_tie else 1)
    out, err = capsys.readouterr()
    assert f"ctranslate2 with a beam of {BEAM}, margin" in out
    assert near_tie or "with a beam of 5 answers 1 of 24 sentences differently from the model" in err


def test_a_version_without_beams_as_earlier_releases_exported_it_is_verified_greedily(version: Path) -> None:
    def without(lines: list[bytes]) -> list[bytes]:
        sentences = [json.loads(line) for line in lines]
        for each in sentences:
            del each["beam"]
        return [json.dumps(each).encode() + b"\n" for each in sentences]

    golden(version, without)
    found = certified(version)
    assert [row.beam for row in found.rows] == [1]
    assert found.broken == ()


def test_a_score_that_is_another_breaks_the_promise(version: Path) -> None:
    right = open_version(version).golden[0].score
    golden(version, first(score=right + 2e-4))
    found = certified(version)
    assert found.rows[0].identical == 24
    assert found.broken == (
        "ctranslate2 float32 gives scores that differ by up to 0.0002; 0.0001 is allowed",
    )


def test_without_references_there_is_no_bleu_and_the_rest_is_judged(version: Path) -> None:
    def without(lines: list[bytes]) -> list[bytes]:
        return [json.dumps(json.loads(line) | {"reference": None}).encode() + b"\n" for line in lines]

    golden(version, without)
    found = certified(version)
    assert (found.rows[0].bleu, found.rows[0].bleu_change, found.rows[0].identical) == (None, None, 24)
    assert found.broken == ()


def test_bleu_is_of_the_sentences_whose_reference_is_known(version: Path) -> None:
    longest = max((each.target for each in open_version(version).golden), key=lambda text: len(text.split()))

    def only_one(lines: list[bytes]) -> list[bytes]:
        """The model's own answer is right, and of all others nobody knows."""
        sentences = [json.loads(line) for line in lines]
        for each in sentences:
            each["reference"] = longest if each["target"] == longest else None
        return [json.dumps(each).encode() + b"\n" for each in sentences]

    golden(version, only_one)
    assert certified(version).rows[0].bleu == 100.0


def test_a_runtime_whose_library_is_not_installed_is_a_broken_promise_with_the_remedy(
    version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['ctranslate2'] = None")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = certified(version)
    assert found.rows == ()
    assert found.broken == (
        "ctranslate2 float32 needs ctranslate2, not installed in this environment: "
        "install the package from its clone with its extra `export`",
    )


def test_a_runtime_that_cannot_read_its_files_is_a_broken_promise_that_says_why(version: Path) -> None:
    (version / "ctranslate2" / "model.bin").write_bytes(b"\x06\0\0\0nonsense")
    summed_again(version, "ctranslate2/model.bin")
    found = certified(version)
    assert found.rows == ()
    (broken,) = found.broken
    assert broken.startswith("ctranslate2 float32 failed with status ")
    assert "RuntimeError" in broken


def test_a_runtime_that_crashes_takes_nothing_else_with_it(
    version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ctranslate2.py").write_text("import os; os.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    opened = open_version(version)
    with pytest.raises(ReplyError) as told:
        ask(opened.manifest.runtimes[0], opened.directory, 1024, [opened.golden[0].source_ids], ["Oui."])
    assert str(told.value).startswith("ctranslate2 float32 failed with status -6")


def test_what_a_runtime_prints_does_not_disturb_its_answers(
    version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import atexit; atexit.register(print, 'good bye')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    opened = open_version(version)
    first = opened.golden[0]
    asked = ask(opened.manifest.runtimes[0], version, 1024, [first.source_ids], [first.source])
    assert asked.ids == [list(first.target_ids)]
    assert asked.texts is None


def test_a_source_that_says_nothing_has_no_answer(version: Path) -> None:
    opened = open_version(version)
    row = opened.golden[0].source_ids
    asked = ask(opened.manifest.runtimes[0], version, 1024, [[3], row, [3]], ["", "Oui.", ""])
    assert asked.ids == [[], list(opened.golden[0].target_ids), []]
    assert asked.scores[0] == asked.scores[2] == 0.0


def test_a_long_source_has_an_answer_within_its_limit(tmp_path: Path) -> None:
    version = exported(small_model(max_length=20), tmp_path / "1", "ctranslate2")
    assert max(len(each.source_ids) for each in version.golden) == 20
    assert max(len(each.target_ids) for each in version.golden) == 20
    found = certified(version.directory)
    assert found.broken == found.differences == ()


def test_a_manifest_that_promises_more_than_the_directory_holds_is_no_version(version: Path) -> None:
    written(version, lambda values: values["formats"].update(onnx=["float32"]))
    with pytest.raises(ValueError, match=r"files must have onnx/encoder\.onnx for onnx"):
        open_version(version)
