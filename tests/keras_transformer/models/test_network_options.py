"""Options of a network that imported models have: each changes what is computed, and nothing else."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TranslationModel
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.layers.positions import PositionalEncoding
from keras_transformer.models.network import Network
from keras_transformer.models.translate import search_ids

OPTIONS: dict[str, dict[str, Any]] = {
    "own_inner_width": {"decoder_inner_width": 40},
    "own_heads": {"decoder_num_heads": 4},
    "halves": {"positions": "sinusoidal_halves"},
    "unscaled": {"scale_embeddings": False},
    "untied": {"tied_output": False},
    "bias": {"output_bias": True},
    "untied_bias": {"tied_output": False, "output_bias": True},
    "short_answers": {"answer_tokens": 3},
    "forbidden": {"forbidden": (0, 2, 7)},
}


def built(**options: Any) -> TranslationModel:
    keras.utils.set_random_seed(3)
    model = TranslationModel(Network(1, 1, 16, 24, 2, max_length=32, **options), 30)
    model.build()
    for variable in model.weights:  # biases and normalisations begin as if they were not there
        variable.assign(variable + 0.3 * np.random.default_rng(1).normal(size=variable.shape))
    return model


@cache
def with_option(name: str) -> TranslationModel:
    """Every test gets the same model, so that none may change it."""
    return built(**OPTIONS[name])


def ids(rows: int, length: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(4, 30, (rows, length)).astype(np.int32)


@pytest.mark.parametrize("name", OPTIONS)
def test_step_by_step_it_says_what_it_says_of_the_whole_target(name: str) -> None:
    model = with_option(name)
    for rows in (1, 3):
        source, target = ids(rows, 6), ids(rows, 5, seed=1)
        whole = ops.convert_to_numpy(model.attend({"source": source, "target": target})[0])
        state = model.encode(source, 5)
        for position in range(5):
            token = ops.convert_to_tensor(target[:, position])
            logits, state = model.step(token, ops.full((rows,), position, dtype="int32"), state)
            np.testing.assert_allclose(logits, whole[:, position], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_saved_model_computes_the_same(name: str, tmp_path: Path) -> None:
    model = with_option(name)
    model.save(tmp_path / "model.keras")
    loaded = TranslationModel.load(tmp_path / "model.keras")
    assert loaded.network == model.network
    inputs = {"source": ids(2, 6), "target": ids(2, 5)}
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


@pytest.mark.parametrize("name", OPTIONS)
def test_its_parameters_are_counted(name: str) -> None:
    model = with_option(name)
    assert model.network.parameters(30) == model.count_params()


@pytest.mark.parametrize("name", OPTIONS)
def test_a_network_without_the_option_is_written_as_it_always_was(name: str) -> None:
    assert not set(Network().as_dict()) & set(OPTIONS[name])
    network = Network(**OPTIONS[name])
    assert Network.from_dict(json.loads(json.dumps(network.as_dict()))) == network


@pytest.mark.parametrize("name", OPTIONS)
def test_the_hosted_search_decodes_as_the_layers_do(name: str) -> None:
    model = with_option(name)
    rows = [[*row, 3] for row in ids(8, 6, seed=5).tolist()]
    search = Search(2, 3)
    (traced, hosted) = (
        search_traced(model, rows, search, 32),
        [[answer.ids for answer in answers] for answers in search_ids(model, rows, search)],
    )
    assert hosted == traced


def test_the_bias_is_added_to_the_logits() -> None:
    model = built(output_bias=True)
    inputs = {"source": ids(2, 6), "target": ids(2, 5)}
    before = ops.convert_to_numpy(model(inputs))
    model.projection().bias.assign(model.projection().bias + np.arange(30))
    np.testing.assert_allclose(
        ops.convert_to_numpy(model(inputs)) - before, np.tile(np.arange(30), (2, 5, 1)), atol=1e-4
    )


def test_a_forbidden_token_is_never_said_but_is_trained_as_any_other() -> None:
    free = built()
    rows = [[*row, 3] for row in ids(20, 6, seed=2).tolist()]
    said = {
        number for answers in search_traced(free, rows, Search(2, 3), 32) for ids in answers for number in ids
    }
    banned = tuple(sorted(said - {3}))[:2]
    assert banned
    model = built(forbidden=banned)
    answers = search_traced(model, rows, Search(2, 3), 32)
    assert not {number for beams in answers for ids in beams for number in ids} & set(banned)
    inputs = {"source": ids(2, 6), "target": ids(2, 5)}
    np.testing.assert_array_equal(model(inputs), free(inputs))


def test_an_answer_has_as_many_tokens_as_the_network_allows() -> None:
    model = built(answer_tokens=3, forbidden=(3,))
    rows = [[*row, 3] for row in ids(4, 6).tolist()]
    assert {len(beams[0].ids) for beams in search_ids(model, rows, Search(2, 3))} == {3}
    assert {len(beams[0].ids) for beams in search_ids(model, rows, Search(2, 3), max_tokens=2)} == {2}


def test_halves_are_the_sines_and_then_the_cosines() -> None:
    # width 4: rates 1 and 1/100; position 1: sin 1, sin 0.01, cos 1, cos 0.01
    layer = PositionalEncoding(4, "sinusoidal_halves")
    found = ops.convert_to_numpy(layer(np.zeros((1, 2, 4))))[0, 1]
    np.testing.assert_allclose(found, [np.sin(1), np.sin(0.01), np.cos(1), np.cos(0.01)], atol=1e-6)


def test_every_wrong_option_is_told_at_once() -> None:
    with pytest.raises(ValueError) as refused:
        Network(decoder_inner_width=0, positions="rotary", tied_output=1, forbidden=(-1,))
    for name in ("decoder_inner_width", "positions", "tied_output", "forbidden"):
        assert name in str(refused.value)
    with pytest.raises(ValueError, match=r"forbidden ids must be below 30.*\[30\]"):
        built(forbidden=(30,))
