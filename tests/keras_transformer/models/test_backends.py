"""A translation model is trained, searched, scored and saved on whatever backend Keras runs on."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import LabelSmoothedCrossEntropy, Tokenizer, TranslationModel, text_batches
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.models.network import Network
from keras_transformer.models.translate import search_ids

START, END = 2, 3
PAIRS = [("un chat", "a cat"), ("un chien", "a dog"), ("deux chats", "two cats")] * 8


def test_it_learns_translates_scores_and_is_saved(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(PAIRS, 280)
    keras.utils.set_random_seed(0)
    model = TranslationModel(
        Network(1, 1, 32, 32, 2, dropout=0.0), tokenizer.source_size, tokenizer=tokenizer
    )
    model.build()
    model.compile(keras.optimizers.Adam(5e-3), LabelSmoothedCrossEntropy(0.1))
    rows = tokenizer.encode_source(["un chien", "deux chats", "un chat"])
    before = search_ids(model, rows, Search(START, END))
    batches = text_batches(PAIRS, tokenizer, batch_tokens=64, shapes=1)
    losses = model.fit(batches, epochs=15, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 3
    for beam in (1, 3):
        search = Search(START, END, beam)
        found = search_ids(model, rows, search)
        assert [[answer.ids for answer in answers] for answers in found] == search_traced(
            model, rows, search, 24
        )
    assert search_ids(model, rows, Search(START, END)) != before
    assert model.translate(["un chien", "deux chats"]) == ["a dog", "two cats"]

    ((answer,),) = model.hypotheses(["un chat"])
    given = np.array([[START, *answer.tokens]], np.int32)
    logits = model({"source": np.array(rows[2:], np.int32), "target": given})
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))[0]
    said = [*answer.tokens, END]
    np.testing.assert_allclose(answer.log_probs, log_probs[range(len(said)), said], rtol=0, atol=1e-4)

    model.save(tmp_path / "model.keras")
    assert TranslationModel.load(tmp_path).translate(["un chien"]) == ["a dog"]


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="a run is trained on TensorFlow")
def test_a_run_on_another_backend_is_refused_before_any_work() -> None:
    from keras_transformer.training.trainer import Trainer, TrainingError

    with pytest.raises(TrainingError, match=f"the backend of this process is {keras.backend.backend()}"):
        Trainer(None, None)
