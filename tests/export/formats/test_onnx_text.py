"""text.onnx says what the model says, text to text, in ONNX Runtime with its extensions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from export.formats.writers.onnx_text import write_text_onnx
from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_sentences
from tests.support.versions.random_model import TEXTS, random_model

UNCUT = [text for text in TEXTS if "\0" not in text]
CUT = ["Merci.\0 Oui.", "\0"]

# In a process of its own: beside tensorflow-text, which has a SentencePiece too, the extensions have crashed.
ASK = """
import json, sys
import numpy as np
import onnxruntime
from onnxruntime_extensions import get_library_path
options = onnxruntime.SessionOptions()
options.register_custom_ops_library(get_library_path())
session = onnxruntime.InferenceSession(sys.argv[1], options)
answers = []
for texts in json.load(sys.stdin):
    translation, score = session.run(["translation", "score"], {"text": np.array(texts, object)})
    answers.append([translation.tolist(), score.tolist()])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module", params=[{}, {"joint": False}], ids=str)
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return random_model(**request.param)


@pytest.fixture(scope="module")
def answers(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Of all texts in one batch, of each alone, and of those that are cut."""
    path: Path = tmp_path_factory.mktemp("written") / "text.onnx"
    write_text_onnx(model, path)
    batches = json.dumps([UNCUT, *([text] for text in UNCUT), CUT])
    done = subprocess.run(
        [sys.executable, "-c", ASK, path], input=batches.encode(), check=True, stdout=subprocess.PIPE
    )
    together, *alone, cut = json.loads(done.stdout)
    return together, alone, cut


def test_any_text_has_the_translation_of_the_model_and_its_score(
    model: TranslationModel, answers: Any
) -> None:
    (translations, scores), _, _ = answers
    assert translations == translate_sentences(model, UNCUT, loop_guard=False)
    for score, best in zip(scores, model.hypotheses(UNCUT, loop_guard=False), strict=True):
        assert score == pytest.approx(best[0].score if best else 0.0, abs=1e-5)


def test_a_text_has_the_same_translation_alone(model: TranslationModel, answers: Any) -> None:
    _, alone, _ = answers
    assert [translations for translations, _ in alone] == [
        [text] for text in translate_sentences(model, UNCUT, loop_guard=False)
    ]


def test_a_text_ends_at_a_nul(model: TranslationModel, answers: Any) -> None:
    _, _, (translations, _) = answers
    assert translations == translate_sentences(model, ["Merci.", ""], loop_guard=False)


def test_a_model_without_a_tokenizer_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    bare = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    bare.build()
    with pytest.raises(ValueError) as told:
        write_text_onnx(bare, tmp_path / "text.onnx")
    assert str(told.value) == "this model has no tokenizer: text.onnx translates text."
    assert list(tmp_path.iterdir()) == []
