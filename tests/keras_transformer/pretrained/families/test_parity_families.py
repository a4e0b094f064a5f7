"""The families beside transformers, live: `make test-parity`. Weights of other seeds than the fixtures'."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer.models import Bert, DistilBert, MaskedLanguageModel, TextClassifier, ViT
from tests.support import family_kinds as kinds
from tests.support.close import assert_close

pytestmark = [pytest.mark.parity, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore")]

HEADS = {
    "MaskedLM": MaskedLanguageModel,
    "PreTraining": MaskedLanguageModel,
    "Classification": TextClassifier,
}
LARGER = {"hidden_size": 96, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 200}
ALL = {
    **{f"{name} {seed}": (kind, seed) for name, kind in kinds.KINDS.items() for seed in (1, 2)},
    "bert larger": ({**kinds.KINDS["bert_sharded"], **LARGER}, 3),
    "vit larger": ({**kinds.KINDS["vit"], **LARGER}, 3),
}


@pytest.mark.parametrize("name", ALL)
def test_it_computes_what_transformers_computes(name: str, tmp_path: Path) -> None:
    kind, seed = ALL[name]
    expected = kinds.expected(kinds.make(tmp_path, kind, seed), tmp_path)
    if kind["class"].startswith("ViT"):
        if "logits" in expected:
            model = ViT.from_pretrained(tmp_path)
            assert_close(model(model.pixels(expected["images"])), expected["logits"])
        return
    inputs = {key: expected[key] for key in ("ids", "token_types") if key in expected}
    encoder = (DistilBert if kind["class"].startswith("Distil") else Bert).from_pretrained(tmp_path)
    assert_close(encoder(inputs), expected["hidden"])
    texts = encoder.inputs(kinds.TEXTS, kinds.PAIRS)
    np.testing.assert_array_equal(keras.tree.flatten(texts)[0], expected["text_ids"])
    for ending, head in HEADS.items():
        if kind["class"].endswith(ending):
            assert_close(head.from_pretrained(tmp_path)(inputs), expected["logits"])
