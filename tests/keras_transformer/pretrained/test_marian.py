"""A MarianMT directory computes here what it computes in transformers: logits, tokens and texts.

golden/ holds directories with random weights and what transformers computed for them;
tests/support/marian_kinds.py made them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras import ops

from keras_transformer import TranslationModel

GOLDEN = Path(__file__).parent / "golden"
KINDS = sorted(path.name for path in GOLDEN.iterdir())
TOLERANCE = 1e-4


class Imported:
    """A kind, as transformers has it and as it is here."""

    def __init__(self, name: str) -> None:
        self.directory = GOLDEN / name
        self.expected: dict[str, Any] = json.loads((self.directory / "expected.json").read_bytes())
        self.model = TranslationModel.from_pretrained(self.directory)
        self.tokenizer = self.model.tokenizer
        assert self.tokenizer is not None
        names = ["vocab.json", "vocab.json"]
        if (self.directory / "target_vocab.json").exists():
            names[1] = "target_vocab.json"
        source, target = (json.loads((self.directory / name).read_bytes()) for name in names)
        ours = [{piece: number for number, piece in enumerate(each)} for each in self.tokenizer.vocabularies]
        self.source_ids = {number: ours[0][piece] for piece, number in source.items()}
        self.target_ids = {number: ours[1][piece] for piece, number in target.items()}
        self.padding = target["<pad>"]

    def answer(self, ids: list[int]) -> list[int]:
        """An answer of transformers in the ids here, without its start and what follows its end."""
        own = [self.target_ids[number] for number in ids[1:]]
        return own[: own.index(3)] if 3 in own else own


@pytest.fixture(scope="module", params=KINDS)
def imported(request: pytest.FixtureRequest) -> Imported:
    return Imported(request.param)


def test_a_text_has_the_tokens_that_it_has_in_transformers(imported: Imported) -> None:
    for text, expected in imported.expected.items():
        (ids,) = imported.tokenizer.encode_source([text])
        assert ids == [imported.source_ids[number] for number in expected["source"]], text


def test_the_logits_are_those_of_transformers_at_every_position(imported: Imported) -> None:
    logits = np.load(imported.directory / "logits.npz")
    for place, expected in enumerate([*imported.expected.values()][: len(logits.files)]):
        source = [imported.source_ids[number] for number in expected["source"]]
        target = [2, *(imported.target_ids[number] for number in expected["answer"][1:-1])]
        found = ops.convert_to_numpy(
            imported.model({"source": np.array([source]), "target": np.array([target])})
        )[0]
        columns = [imported.target_ids[number] for number in range(len(imported.target_ids))]
        assert np.abs(logits[str(place)]).max() > 3
        np.testing.assert_allclose(found[:, columns], logits[str(place)], rtol=0, atol=TOLERANCE)


def test_the_greedy_tokens_and_texts_are_those_of_transformers(imported: Imported) -> None:
    texts = [*imported.expected]
    answers = imported.model.hypotheses(texts, alignment=False, loop_guard=False)
    for text, (answer,) in zip(texts, answers, strict=True):
        expected = imported.expected[text]
        assert answer.tokens == imported.answer(expected["answer"]), text
        assert answer.text == expected["translation"], text


def test_translate_gives_these_texts(imported: Imported) -> None:
    texts = [*imported.expected]
    assert imported.model.translate(texts, loop_guard=False) == [
        each["translation"] for each in imported.expected.values()
    ]


def test_the_random_answers_differ_from_text_to_text_and_step_to_step() -> None:
    """Else equal answers would show nothing."""
    answers = [
        tuple(each["answer"])
        for name in KINDS
        for each in json.loads((GOLDEN / name / "expected.json").read_bytes()).values()
    ]
    assert len(set(answers)) > len(answers) * 0.8
    assert np.mean([len(set(answer)) for answer in answers]) > 3
