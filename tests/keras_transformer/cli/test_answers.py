"""What `translate` prints besides text: beams, scores, JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Non.", "Deux cafés, s'il vous plaît."]


@pytest.fixture
def said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """said(*options, lines=TEXTS): what the command prints for these lines."""

    def said(*options: str, lines: list[str] = TEXTS) -> str:
        path = tmp_path / "lines.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        assert main(["translate", str(run), "--input", str(path), *options]) == 0
        return capsys.readouterr().out

    return said


def test_a_beam_prints_its_best_answer(run: Path, model: TranslationModel, said: Callable[..., str]) -> None:
    assert said("--beam", "3").splitlines() == model.translate(TEXTS, beam=3)
    assert said("--max-tokens", "2").splitlines() == [
        found[0].text for found in model.hypotheses(TEXTS, max_tokens=2)
    ]


def test_a_score_stands_before_its_line_and_a_blank_line_has_none(
    model: TranslationModel, said: Callable[..., str]
) -> None:
    lines = said("--scores", "--no-loop-guard", lines=[TEXTS[0], "", TEXTS[1]]).splitlines()
    expected = model.hypotheses(TEXTS[:2], loop_guard=False)
    assert lines == [
        f"{expected[0][0].score:.4f}\t{expected[0][0].text}",
        "\t",
        f"{expected[1][0].score:.4f}\t{expected[1][0].text}",
    ]


def test_as_json_a_line_is_all_that_was_found(model: TranslationModel, said: Callable[..., str]) -> None:
    line, blank = map(json.loads, said("--json", "--beam", "2", lines=[TEXTS[0], ""]).splitlines())
    (sentence,) = line["sentences"]
    (expected,) = model.hypotheses(TEXTS[:1], beam=2)
    assert line["text"] == expected[0].text
    assert sentence["source"] == TEXTS[0]
    assert sentence["pieces"][-1] == "</s>"
    assert [answer["text"] for answer in sentence["answers"]] == [each.text for each in expected]
    for answer, each in zip(sentence["answers"], expected, strict=True):
        assert answer["pieces"] == model.tokenizer.pieces_target(each.tokens)
        np.testing.assert_allclose(answer["log_probs"], each.log_probs, rtol=0, atol=1e-5)
        assert len(answer["alignment"]) == len(answer["log_probs"])
        assert max(answer["alignment"]) < len(sentence["pieces"])
    assert blank == {"text": "", "score": None, "sentences": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "0"], "argument --beam: a beam keeps at least 1 answer, and at most 256; got 0"),
        (["--beam", "two"], "argument --beam: a beam keeps at least 1 answer, and at most 256; got two"),
        (
            ["--max-tokens", "0"],
            "argument --max-tokens: an answer may have at least 1 token, and at most 65,536; got 0",
        ),
        (
            ["--max-tokens", "-1"],
            "argument --max-tokens: an answer may have at least 1 token, and at most 65,536; got -1",
        ),
        (["--scores", "--json"], "argument --json: not allowed with argument --scores"),
    ],
)
def test_search_options_that_make_no_sense_are_wrong_usage(
    run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["translate", str(run), *options])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
