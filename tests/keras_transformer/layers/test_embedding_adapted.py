"""An embedding with LoRA or in int8 looks up and projects with one table, saved and loaded too."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt
from tests.support.compiling import JIT
from tests.support.layer_cases import IDS, VOCABULARY, WIDTH, X, number, same


def model_of(embedding):
    """Ids to logits, there and back."""
    ids = keras.Input((None,), dtype="int32")
    hidden = keras.layers.Dense(WIDTH, activation="tanh")(embedding(ids))
    return keras.Model(ids, embedding(hidden, reverse=True))


def table_of(embedding):
    """(V, D): every row as the lookup gives it, without the √D."""
    return number(embedding(np.arange(VOCABULARY)[None]))[0] / WIDTH**0.5


def adapted(embedding, rank=2):
    """The embedding with LoRA, its change not zero any more."""
    embedding.enable_lora(rank)
    embedding.lora_embeddings_b.assign(np.random.default_rng(1).normal(size=(rank, WIDTH)))
    return embedding


@pytest.fixture(params=["lora", "int8", "int8 then lora", "lora_rank"])
def embedding(request):
    keras.utils.set_random_seed(1)
    rank = {"lora_rank": 2, "lora_alpha": 4} if request.param == "lora_rank" else {}
    embedding = kt.TokenEmbedding(VOCABULARY, WIDTH, **rank)
    embedding.build((None, None))
    if rank:
        embedding.lora_embeddings_b.assign(np.random.default_rng(1).normal(size=(2, WIDTH)))
    if "int8" in request.param:
        embedding.quantize("int8")
    return adapted(embedding) if request.param.endswith("lora") else embedding


def test_the_reverse_multiplies_with_the_table_that_is_looked_up(embedding):
    table = table_of(embedding)

    same(embedding(X, reverse=True), X @ table.T)
    same(ops.concatenate(embedding.output_blocks(), axis=1), table.T)


def test_a_saved_model_loads_and_answers_the_same(embedding, tmp_path):
    model = model_of(embedding)
    model.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    # Keras saves a quantised table and LoRA's change as one table, quantised again: half a step of its scale
    again = embedding.quantization_mode is not None and embedding.lora_enabled
    same(loaded(IDS), model(IDS), atol=0.1 if again else 1e-5)
    assert loaded.count_params() == model.count_params()


def test_lora_changes_nothing_at_first_and_then_trains_its_own_weights_alone():
    keras.utils.set_random_seed(1)
    embedding = kt.TokenEmbedding(VOCABULARY, WIDTH, dtype="mixed_bfloat16")
    model = keras.Sequential([embedding, keras.layers.GlobalAveragePooling1D()])
    before = number(model(IDS))
    table = number(embedding.embeddings)
    embedding.enable_lora(2)
    same(model(IDS), before, atol=0.05)  # bfloat16 has 8 bits
    model.compile(keras.optimizers.Adam(0.1), "mse", jit_compile=JIT)

    losses = model.fit(IDS, np.ones((len(IDS), WIDTH)), epochs=5, verbose=0).history["loss"]

    assert losses[-1] < losses[0]
    assert {weight.name for weight in model.trainable_weights} == {"lora_embeddings_a", "lora_embeddings_b"}
    np.testing.assert_array_equal(number(embedding._embeddings), table)


def test_int8_is_near_the_table_and_takes_a_quarter():
    keras.utils.set_random_seed(1)
    embedding = kt.TokenEmbedding(VOCABULARY, WIDTH)
    embedding.build((None, None))
    exact = number(embedding.embeddings)

    embedding.quantize("int8")

    # half a step of each row's scale
    error = np.abs(table_of(embedding) - exact)
    assert np.all(error <= np.abs(exact).max(axis=1, keepdims=True) / 127 * 0.51)
    assert {weight.name: weight.dtype for weight in embedding.weights}["embeddings"] == "int8"


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have a `quantize` method")
def test_a_whole_model_is_quantised_saved_and_loaded(mode, tmp_path):
    keras.utils.set_random_seed(1)
    embedding = kt.TokenEmbedding(VOCABULARY, WIDTH)
    model = model_of(embedding)
    before = number(model(IDS))

    model.quantize(mode)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")

    assert embedding.quantization_mode == mode
    same(loaded(IDS), model(IDS), atol=1e-5)
    difference = np.abs(number(model(IDS)) - before).mean() / np.abs(before).mean()
    assert difference < (0.05 if mode == "int8" else 0.5)


def test_a_mode_that_embeddings_do_not_have_is_refused():
    embedding = kt.TokenEmbedding(VOCABULARY, WIDTH)
    embedding.build((None, None))

    with pytest.raises(NotImplementedError, match="float8"):
        embedding.quantize("float8")


def test_an_initialiser_and_a_regulariser_of_ones_own_are_used():
    embedding = kt.TokenEmbedding(
        VOCABULARY, WIDTH, embeddings_initializer="ones", embeddings_regularizer=keras.regularizers.L2(0.5)
    )
    embedding(IDS)

    np.testing.assert_array_equal(number(embedding.embeddings), 1)
    same(embedding.losses, [0.5 * VOCABULARY * WIDTH])
