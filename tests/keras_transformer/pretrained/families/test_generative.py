"""GPT-2, Llama and T5 directories compute here what they compute in transformers: logits and greedy tokens.

golden/ holds directories with random weights and what transformers computed for them;
tests/support/generative_kinds.py made them.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.models import GPT2, T5, Llama
from tests.support.damage import change
from tests.support.generative_kinds import GOLDEN, KINDS

CLASSES = {"gpt2": GPT2, "llama": Llama, "t5": T5}


class Golden:
    """A kind, as transformers has it and as it is here."""

    def __init__(self, name: str) -> None:
        self.kind = CLASSES[name.partition("_")[0]]
        self.model = self.kind.from_pretrained(GOLDEN / name)
        self.expected = dict(np.load(GOLDEN / name / "expected.npz"))
        ids = self.expected["ids"].astype("int32")
        self.inputs: Any = ids
        if self.kind is T5:
            self.inputs = {"source": ids, "target": self.expected["target"].astype("int32")}
        self.prompts = [
            row[:length].tolist() for row, length in zip(ids, self.expected["lengths"], strict=True)
        ]

    def tokens(self) -> list[list[int]]:
        """The tokens that transformers generated for each prompt."""
        ends = self.model.network.end_ids
        rows = self.expected["tokens"].tolist()
        return [row[: min(map(row.index, {*ends} & {*row}), default=len(row)) + 1] for row in rows]


@pytest.fixture(scope="module", params=KINDS)
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


def test_the_logits_are_those_of_transformers_at_every_position(golden: Golden) -> None:
    logits, expected = ops.convert_to_numpy(golden.model(golden.inputs)), golden.expected["logits"]
    real = np.ones(expected.shape[:2], bool)
    if golden.kind is not T5:
        real = np.arange(real.shape[1]) < golden.expected["lengths"][:, None]
    assert np.abs(expected).max() > 3
    np.testing.assert_allclose(logits[real], expected[real], rtol=0, atol=1e-4 * np.abs(expected).max())


def test_the_greedy_tokens_are_those_of_transformers_over_fifty_steps(golden: Golden) -> None:
    assert golden.model.generate(golden.prompts, max_new_tokens=50) == golden.tokens()


def test_a_saved_model_computes_the_same_bits(golden: Golden, tmp_path: Path) -> None:
    golden.model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is golden.kind
    assert loaded.network == golden.model.network
    np.testing.assert_array_equal(
        ops.convert_to_numpy(loaded(golden.inputs)), ops.convert_to_numpy(golden.model(golden.inputs))
    )
    assert (loaded.tokenizer is None) == (golden.model.tokenizer is None)


def test_every_end_id_of_a_directory_ends_a_text(tmp_path: Path) -> None:
    """Llama 3 has several; generation_config.json comes before config.json."""
    shutil.copytree(GOLDEN / "llama", tmp_path / "model")
    change("config.json", eos_token_id=[65, 66])(tmp_path / "model")
    assert Llama.from_pretrained(tmp_path / "model").network.end_ids == (65, 66)
    prompts = [[2, 3], [4]]
    known = Llama.from_pretrained(GOLDEN / "llama").generate(prompts, 9)
    ends = [known[0][3], known[1][2], 1000]
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    model = Llama.from_pretrained(tmp_path / "model")
    expected = [row[: min(map(row.index, {*ends} & {*row})) + 1] for row in known]
    assert model.generate(prompts, 9) == expected
    assert max(map(len, expected)) < 9
    assert Llama.from_config(json.loads(json.dumps(model.get_config()))).network == model.network


def test_a_text_is_continued_by_the_tokens_of_its_tokenizer() -> None:
    model = GPT2.from_pretrained(GOLDEN / "gpt2")
    tokenizer = model.known_tokenizer()
    texts = ["then an", "été"]
    rows = tokenizer.encode(texts)
    assert tokenizer.decode(rows) == texts
    assert len(rows[0]) < len(texts[0])
    assert model.generate(texts, 9) == tokenizer.decode(model.generate(rows, 9))


def test_the_random_tokens_differ_from_step_to_step() -> None:
    """Else equal tokens would show nothing."""
    for name in KINDS:
        tokens = np.load(GOLDEN / name / "expected.npz")["tokens"]
        assert np.mean([len(set(row)) for row in tokens.tolist()]) > 4
