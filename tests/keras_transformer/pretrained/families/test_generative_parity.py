"""GPT-2, Llama and T5 beside transformers, live: `make test-parity`. More kinds than are kept in golden/."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras import ops

from keras_transformer.models import GPT2, T5, Llama
from tests.support import generative_kinds as kinds

pytestmark = [pytest.mark.parity, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore")]

ALL: dict[str, dict[str, Any]] = {**kinds.KINDS, **kinds.MORE_KINDS}
CLASSES = {"gpt2": GPT2, "llama": Llama, "t5": T5}


@pytest.mark.parametrize("name", ALL)
def test_logits_and_greedy_tokens_are_equal(name: str, tmp_path: Path) -> None:
    """Tokens are compared up to the first step at which two logits of transformers nearly tie."""
    theirs = kinds.make(tmp_path / name, ALL[name], seed=7)
    model = CLASSES[name.partition("_")[0]].from_pretrained(tmp_path / name)
    for seed in range(3):
        found = kinds.expected(theirs, seed)
        ids, is_t5 = found["ids"].astype("int32"), isinstance(model, T5)
        given = {"source": ids, "target": found["target"].astype("int32")} if is_t5 else ids
        logits, expected = ops.convert_to_numpy(model(given)), found["logits"]
        real = np.ones(expected.shape[:2], bool)
        if not is_t5:
            real = np.arange(24) < found["lengths"][:, None]
        worst = np.abs(logits[real] - expected[real]).max() / np.abs(expected).max()
        prompts = [row[:length].tolist() for row, length in zip(ids, found["lengths"], strict=True)]
        tokens = [row + [0] * (kinds.STEPS - len(row)) for row in model.generate(prompts, kinds.STEPS)]
        equal = tokens == found["tokens"].tolist()
        print(f"{name}: logits {worst:.2g}, tokens equal: {equal}, smallest margin {found['margin']:.2g}")
        assert worst < 1e-4
        assert equal or found["margin"] < 1e-4
