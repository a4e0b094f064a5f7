"""Golden sentences are what the model says, with how sure it was."""

import json
from dataclasses import replace

import numpy as np
import pytest

from export.artifact.golden import BEAM, Golden, GoldenError, check_tokenized, golden_lines, read_golden
from export.golden_answers import golden_answers
from export.golden_sentences import SourceSentence, chosen, evenly
from keras_transformer import TranslationModel
from tests.support.versions.small_model import PAIRS, SENTENCES, small_model

TEXTS = [each.source for each in SENTENCES]


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


@pytest.fixture(scope="module")
def golden(model: TranslationModel) -> list[Golden]:
    return golden_answers(model, model.tokenizer, SENTENCES)


def test_they_are_the_models_greedy_answers_with_their_scores(
    model: TranslationModel, golden: list[Golden]
) -> None:
    assert [each.source for each in golden] == TEXTS
    assert [each.reference for each in golden] == [each.reference for each in SENTENCES]
    for each, (answer,) in zip(golden, model.hypotheses(TEXTS, loop_guard=False), strict=True):
        assert each.target == answer.text
        assert [number for number in each.target_ids if number != 3] == answer.tokens
        assert len(each.target_ids) == len(answer.log_probs)
        # summed step by step in ONNX Runtime, and over whole answers in TensorFlow: float32 rounding apart
        assert each.score == pytest.approx(answer.score, abs=1e-5)
    ended = [each.target_ids[-1] == 3 for each in golden]
    assert 0 < sum(ended) < len(ended)  # of both kinds there are some


def test_a_margin_is_the_smallest_distance_of_the_first_two_logits_over_the_steps(
    model: TranslationModel, golden: list[Golden]
) -> None:
    for each in golden:
        given = [2, *each.target_ids[:-1]]
        logits = np.asarray(model({"source": np.array([each.source_ids]), "target": np.array([given])}))[0]
        assert logits.argmax(axis=1).tolist() == list(each.target_ids)
        second, first = np.sort(logits, axis=1)[:, -2:].T
        assert each.margin == pytest.approx((first - second).min(), abs=1e-5)


def test_each_has_the_best_answer_of_a_beam_and_how_near_another_one_was(
    model: TranslationModel, golden: list[Golden]
) -> None:
    found = model.hypotheses(TEXTS, beam=BEAM, alignment=False, loop_guard=False)
    for each, (best, *_) in zip(golden, found, strict=True):
        searched = each.searched()
        assert searched is not None
        assert (searched.source, searched.reference, searched.beam) == (each.source, each.reference, None)
        assert searched.target == best.text
        assert len(searched.target_ids) == len(best.log_probs)
        assert searched.score == pytest.approx(best.score, abs=1e-5)
        assert 0 <= searched.margin < 1
    assert any(each.beam is not None and each.beam.target != each.target for each in golden)


def test_a_long_source_is_cut_to_what_the_model_takes() -> None:
    model = small_model(max_length=12)
    (cut,) = golden_answers(model, model.tokenizer, [SourceSentence(" ".join(TEXTS))])
    assert len(cut.source_ids) == 12
    assert cut.source_ids[-1] == 3
    assert len(cut.target_ids) <= 12
    check_tokenized([cut], model.tokenizer, 12)
    with pytest.raises(GoldenError):
        check_tokenized([cut], model.tokenizer, 13)


def test_what_is_written_is_read_again_with_every_sign_in_it(
    model: TranslationModel, golden: list[Golden]
) -> None:
    odd = replace(golden[0], source='a\u2028b\x85c\x0b"\\d\n\r', reference=None)
    content = golden_lines([odd, *golden])
    assert read_golden(content) == (odd, *golden)
    assert content.count(b"\n") == len(golden) + 1
    assert list(json.loads(content.splitlines()[0])) == [
        "source", "source_ids", "target", "target_ids", "score", "margin", "reference", "beam",
    ]  # fmt: skip


def test_every_damaged_line_is_told_with_its_number(golden: list[Golden]) -> None:
    good, *_ = golden_lines(golden[:1]).splitlines()
    with pytest.raises(GoldenError) as told:
        damaged = good.replace(b'"score": ', b'"score": "",  "x": ', 1)
        read_golden(b"\n".join([good, b"{", good, b"[1]", damaged]))
    assert told.value.problems == [
        ", line 2: it is not JSON: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
        ", line 4: it must be an object; got [1]",
        ", line 5: x is not a known key",
        ', line 5: score must be a number; got ""',
    ]


def test_sentences_are_taken_at_even_distances_and_blank_ones_never(model: TranslationModel) -> None:
    assert evenly(range(10), 5) == [0, 2, 4, 6, 8]
    assert evenly(range(10), 3) == [0, 3, 6]
    assert evenly(range(3), 10) == [0, 1, 2]
    assert evenly([], 10) == []
    given = [
        SourceSentence("Non."),
        SourceSentence(""),
        SourceSentence(" \u200b "),
        SourceSentence("Oui.", "Yes."),
        SourceSentence("Merci."),
    ]
    assert chosen(given, 2, model.tokenizer).golden == [given[0], given[3]]
    assert chosen(given, 9, model.tokenizer).golden == [given[0], given[3], given[4]]


def test_int8_is_calibrated_on_sentences_that_are_not_golden_if_there_are_enough(
    model: TranslationModel,
) -> None:
    given = [SourceSentence(pair.source, pair.target) for pair in PAIRS]
    assert len(set(given)) == 200
    golden, calibration = chosen(given, 100, model.tokenizer)
    assert (len(golden), len(calibration)) == (100, 32)
    assert not set(golden) & set(calibration)
    assert chosen(given, 200, model.tokenizer).calibration == evenly(given, 32)
