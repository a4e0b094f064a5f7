"""A translation model that Keras has quantized, or that has LoRA, is saved, loaded and translates."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.models.network import Network
from tests.support import fork_server
from tests.support.lora import with_lora

pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")

TEXTS = ["Merci.", "Je suis étudiant.", "Où est la gare ?"]
LOAD = """
import json
import sys
import numpy as np
from keras_transformer import TranslationModel
model = TranslationModel.load(sys.argv[1])
logits = model({name: np.array(ids) for name, ids in json.loads(sys.argv[2]).items()})
print(json.dumps([model.translate(json.loads(sys.argv[3]), loop_guard=False), np.asarray(logits).tolist()]))
"""


@pytest.mark.parametrize(
    ("joint", "change"),
    [
        (True, lambda model: model.quantize("int8")),
        (False, lambda model: model.quantize("int4")),
        (False, with_lora),
    ],
    ids=["int8", "int4 of two vocabularies", "LoRA of two vocabularies"],
)
def test_a_new_process_loads_it_and_translates_the_same(
    small: Network,
    tokenizer: Tokenizer,
    separate_tokenizer: Tokenizer,
    tmp_path: Path,
    joint: bool,
    change: Callable[[TranslationModel], object],
) -> None:
    keras.utils.set_random_seed(1)
    chosen = tokenizer if joint else separate_tokenizer
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "inner_width": 24, "num_heads": 2}
    model = TranslationModel.from_preset("tiny", chosen, **sizes)
    change(model)
    ids = {"source": [[5, 6, 7, 3], [8, 3, 0, 0]], "target": [[2, 9, 10], [2, 4, 0]]}
    logits = model({name: np.array(rows) for name, rows in ids.items()})
    model.save(tmp_path / "model.keras")

    ran = fork_server.run(
        [sys.executable, "-c", LOAD, tmp_path / "model.keras", json.dumps(ids), json.dumps(TEXTS)],
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    translated, found = json.loads(ran.stdout)
    np.testing.assert_allclose(found, logits, rtol=0, atol=1e-5)
    assert translated == model.translate(TEXTS, loop_guard=False)
    assert any(translated)
